# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""v1beta3 documents in the shape of v1beta4."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration

# kubeadm takes these for a field that was not set.
_SAYS_NOTHING = (timedelta(0), timedelta(minutes=4))


def from_v1beta3(kind: str, document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The checked document in v1beta4 shape, and the timeouts it asks of init and join; arguments stay a map until merged."""
    if kind == "ClusterConfiguration":
        return _cluster(document)
    if kind == "JoinConfiguration":
        return _join(document), {}
    return document, {}


def _cluster(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """timeoutForControlPlane left the ClusterConfiguration for the timeouts of whoever waits."""
    api_server = dict(document.get("apiServer", {}))
    timeout = api_server.pop("timeoutForControlPlane", None)
    if timeout is None:
        return document, {}
    timeouts = {} if parse_duration(timeout) in _SAYS_NOTHING else {"controlPlaneComponentHealthCheck": timeout}
    return {**document, "apiServer": api_server}, timeouts


def _join(document: dict[str, Any]) -> dict[str, Any]:
    """discovery.timeout moved to timeouts.discovery."""
    discovery = dict(document.get("discovery", {}))
    timeout = discovery.pop("timeout", None)
    if timeout is None:
        return document
    return {**document, "discovery": discovery, "timeouts": {"discovery": timeout}}
