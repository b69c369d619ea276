# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a container of the control plane left behind: its state and the last lines of its log."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

_LINES = 12
_WIDTH = 240


def last_words(cri: Any, socket: str, component: str) -> list[str]:
    """Tell what the container runtime, where there is one to ask, knows of a component that does not get well."""
    if cri is None:
        return []
    try:
        containers = cri.containers(socket, component)
    except Unusable as problem:
        return [problem.found]
    if not containers:
        return [f"there is no container of {component}: the kubelet has not started its pod (journalctl -u kubelet says why)"]
    newest = containers[0]
    told = [line[:_WIDTH] for line in cri.logs(socket, newest.identity, _LINES).splitlines() if line.strip()]
    return [f"its container is {newest.state}, attempt {newest.attempt}", *(f"{component}: {line}" for line in told)]
