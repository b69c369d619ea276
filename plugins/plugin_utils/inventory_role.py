# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host becomes when nobody says: the inventory's groups tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, INIT, WORKER

_CONTROL_PLANES, _WORKERS = "control_plane", "workers"
_CONTROLLER = "localhost"


def role_of(variables: Mapping[str, Any]) -> str | None:
    """The first control plane initialises, others and all workers join; None where the inventory has no such groups.

    The group counts as a whole, whatever part of it a run is limited to: who is first must not change with the run.
    """
    host, groups = variables.get("inventory_hostname"), variables.get("groups") or {}
    control_planes: Sequence[str] = groups.get(_CONTROL_PLANES) or ()
    if host in control_planes:
        return INIT if host == control_planes[0] else CONTROL_PLANE
    # A host that a playbook was pointed at joins what there is; the controller is no host of the cluster.
    joins = host in (groups.get(_WORKERS) or ()) or (control_planes and host != _CONTROLLER)
    return WORKER if joins else None
