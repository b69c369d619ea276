# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""v1beta3 documents in the shape of v1beta4."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration

# kubeadm leaves the timeouts of an InitConfiguration alone when the v1beta3 field says no more than its default.
_SAYS_NOTHING = (timedelta(0), timedelta(minutes=4))


def from_v1beta3(kind: str, document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The checked document, and what it says about another kind, in v1beta4 shape; arguments stay a map until merged."""
    if kind == "ClusterConfiguration":
        return _cluster(document)
    if kind == "JoinConfiguration":
        return {kind: _join(document)}
    return {kind: document}


def _cluster(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """timeoutForControlPlane moved to the timeouts of the InitConfiguration."""
    api_server = dict(document.get("apiServer", {}))
    timeout = api_server.pop("timeoutForControlPlane", None)
    if timeout is None:
        return {"ClusterConfiguration": document}
    converted = {"ClusterConfiguration": {**document, "apiServer": api_server}}
    if parse_duration(timeout) not in _SAYS_NOTHING:
        converted["InitConfiguration"] = {"timeouts": {"controlPlaneComponentHealthCheck": timeout}}
    return converted


def _join(document: dict[str, Any]) -> dict[str, Any]:
    """discovery.timeout moved to timeouts.discovery."""
    discovery = dict(document.get("discovery", {}))
    timeout = discovery.pop("timeout", None)
    if timeout is None:
        return document
    return {**document, "discovery": discovery, "timeouts": {"discovery": timeout}}
