# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host is to the cluster: untouched, a part of it, or somewhere in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import needed
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url, local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Discovery
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import HealthCheck

_PATH = "/livez"
_STATUS = "it answers with status"
# Who does not talk to strangers may be well all the same.
_CLOSED = (f"{_STATUS} 401", f"{_STATUS} 403")
_KUBELET = "/etc/kubernetes/kubelet.conf"
_ADMIN = "/etc/kubernetes/admin.conf"
_ETCD = "/etc/kubernetes/manifests/etcd.yaml"
# It goes once the kubelet has its own credentials, which for a control plane comes after its etcd member.
_UNFINISHED = "/etc/kubernetes/bootstrap-kubelet.conf"


@dataclass(frozen=True)
class Observed:
    """Whether there is anything of a cluster here, whether joining came to its end, and who answers."""

    virgin: bool
    joined: bool
    local: bool = False
    endpoint: bool = False
    # Whether the API server of this host says that it is well, which it is not without a majority of etcd.
    healthy: bool = False
    # Whether files are missing that control planes share.
    incomplete: bool = False


class HostState:
    """A look at a host that changes nothing."""

    name = "state"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look for files; on a control plane ask both addresses once, without credentials."""
        virgin, joined = virgin_host(world), _joined(docs, world)
        if docs.becomes == WORKER:
            return Observed(virgin and not world.files.exists(_KUBELET), joined)
        asked = (HealthCheck("local", local_url(docs) + _PATH, 0), HealthCheck("endpoint", control_plane_url(docs) + _PATH, 0))
        found = {health.name: health for health in world.health.look(asked)}
        answers = {name: health.healthy or _STATUS in health.found for name, health in found.items()}
        healthy = found["local"].healthy or found["local"].found in _CLOSED
        incomplete = docs.joining and not all(world.files.exists(path) for path in needed(docs).values())
        return Observed(virgin, joined, answers["local"], answers["endpoint"], healthy, incomplete)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Name the state."""
        state = "virgin" if seen.virgin else "serving" if seen.local else "stopped"
        if docs.becomes == WORKER:
            state = "virgin" if seen.virgin else "joined" if seen.joined else "joining"
        discovery = docs.join.discovery if docs.join else Discovery()
        facts = {
            "state": state,
            "healthy": seen.healthy,
            "joined": seen.joined,
            "discovery_given": discovery.bootstrap_token is not None or discovery.file is not None,
            "certificates_missing": seen.incomplete,
            "endpoint": control_plane_url(docs),
            "endpoint_answers": seen.endpoint,
        }
        return Plan(facts=facts)


def _joined(docs: Documents, world: Any) -> bool:
    # The kubelet writes its kubeconfig before it has the certificate that this points at.
    if not world.node_api.admitted() or world.files.exists(_UNFINISHED):
        return False
    wanted = [] if docs.becomes != CONTROL_PLANE else [_ADMIN] if docs.external_etcd else [_ADMIN, _ETCD]
    return all(world.files.exists(path) for path in wanted)
