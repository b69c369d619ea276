# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a task gives up, where that can be known before it ends: from its own words or from the documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Timeouts

_COLLECTION = "kubephase.cluster."
# Module: the field of the documents' timeouts that it waits by.
_WAITS: Mapping[str, str] = {
    "wait_control_plane": "controlPlaneComponentHealthCheck",
    "etcd_member": "controlPlaneComponentHealthCheck",
    "kubelet_start": "tlsBootstrap",
    "kubelet_wait_bootstrap": "tlsBootstrap",
    "cluster_discovery": "discovery",
}


@dataclass(frozen=True)
class Asked:
    """What a task says of its own patience, perhaps still as templates."""

    action: str
    timeout: Any = None
    asynchronous: Any = None
    retries: Any = None
    delay: Any = None


def limit(asked: Asked, timeouts: Mapping[str, Any]) -> float | None:
    """Give the seconds after which the task gives up, or None when nobody can say."""
    if asked.retries is not None:
        tries, pause = seconds(asked.retries), seconds(asked.delay)
        return None if tries is None or pause is None else (tries * pause or None)
    patience = seconds(asked.asynchronous) or seconds(asked.timeout)
    if patience:
        return patience
    wanted = _WAITS.get(asked.action[len(_COLLECTION) :]) if asked.action.startswith(_COLLECTION) else None
    if wanted is None:
        return None
    usual: float = getattr(Timeouts(), re.sub("([A-Z])", r"_\1", wanted).lower()).total_seconds()
    return seconds(timeouts.get(wanted)) or usual


def seconds(value: Any) -> float | None:
    """Read a number of seconds or a duration such as 2m; a template is neither."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        try:
            found = parse_duration(str(value)).total_seconds()
        except ValueError:
            return None
    return found if 0 < found < float("inf") else None


def timeouts_of(documents: Any) -> dict[str, dict[str, Any]]:
    """Take the timeouts out of documents that the collection has read: by the kind of who waits."""
    if not isinstance(documents, Mapping):
        return {}
    found = {
        kind: documents[kind].get("timeouts")
        for kind in ("InitConfiguration", "JoinConfiguration")
        if isinstance(documents.get(kind), Mapping)
    }
    return {kind: dict(timeouts) for kind, timeouts in found.items() if isinstance(timeouts, Mapping)}
