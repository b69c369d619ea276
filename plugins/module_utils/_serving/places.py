# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the programs of this room lie: the standing approver on control planes, the rotation on nodes."""

from __future__ import annotations


def unit_paths(name: str) -> tuple[str, str]:
    """Where the service and the timer of a program lie."""
    return f"/etc/systemd/system/{name}.service", f"/etc/systemd/system/{name}.timer"


NAME = "kubephase-serving-approver"
PROGRAM = "/usr/local/lib/kubephase/serving-approver.pyz"
SETTINGS = "/etc/kubernetes/kubephase-serving-policy.json"
KUBECONFIG = "/var/lib/kubephase/serving-approver.conf"
MEMORY = "/var/lib/kubephase/serving-approver.json"
FIGURES = "/var/lib/kubephase/serving-approver.prom"
SERVICE, TIMER = unit_paths(NAME)
APPROVER = (PROGRAM, SETTINGS, KUBECONFIG, MEMORY, SERVICE, TIMER)

ROTATION = "kubephase-serving-rotation"
ROTATION_PROGRAM = "/usr/local/lib/kubephase/serving-rotation.pyz"
ROTATION_SETTINGS = "/etc/kubernetes/kubephase-serving-rotation.json"
ROTATION_FIGURES = "/var/lib/kubephase/serving-rotation.prom"
ROTATOR = (ROTATION_PROGRAM, ROTATION_SETTINGS, ROTATION_FIGURES, *unit_paths(ROTATION))
