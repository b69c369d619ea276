# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is running where: everything that one host can tell of itself and, on a control plane, of its cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._info import certificates as held
from ansible_collections.kubephase.cluster.plugins.module_utils._info import cluster, components, etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._info.unread import Unread
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import ADMIN, server_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan

HOST, COMPONENTS, CERTIFICATES, ETCD, CLUSTER = PARTS = ("host", "components", "certificates", "etcd", "cluster")


@dataclass(frozen=True)
class Observed:
    """The facts that were found, and what could not be read."""

    facts: Mapping[str, Any] = field(default_factory=dict)


class ClusterInfo:
    """A look that changes nothing, and that fails for nothing it finds."""

    name = "info"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read part by part; what cannot be read is one of the facts."""
        parts = options.get("parts") or PARTS
        unread, now = Unread(), world.clock.now()
        facts: dict[str, Any] = {"node": docs.node.name, "role": "worker" if docs.becomes == WORKER else "control-plane"}
        if HOST in parts:
            facts["host"] = _host(docs, world, unread)
            facts["kubelet"] = components.kubelet(docs, world, unread)
        if COMPONENTS in parts:
            facts["components"] = components.components(docs, world, unread)
        if CERTIFICATES in parts:
            facts["certificates"] = _certificates(docs, world, now, unread)
        if ETCD in parts:
            facts["etcd_members"] = etcd.members(docs, world, unread)
        if CLUSTER in parts and world.files.exists(ADMIN):
            world.api.talk_to(server_of(docs))
            facts["cluster"] = cluster.stored(docs, world, unread)
            facts["nodes"] = cluster.nodes(world, unread)
            facts["tokens"] = cluster.tokens(world, now, unread)
            facts["addons"] = cluster.addons(world, unread)
        return Observed({**facts, "unread": list(unread.facts)})

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Nothing is ever changed."""
        return Plan(facts=seen.facts)


def _host(docs: Documents, world: Any, unread: Unread) -> dict[str, Any]:
    found = world.machine.look()
    return {
        "hostname": str(world.host.hostname()),
        "address": docs.node.advertise_address or str(world.host.default_route_address()),
        "system": found.system,
        "kernel": found.kernel,
        "architecture": found.architecture,
        "cpus": found.cpus,
        "memory_mb": found.memory_mb,
        "runtime": unread.attempt(HOST, lambda: world.cri.version(docs.node.cri_socket), ""),
    }


def _certificates(docs: Documents, world: Any, now: Any, unread: Unread) -> list[dict[str, Any]]:
    if not world.machine.look().reads_certificates:
        unread.note(CERTIFICATES, "Python", "the library cryptography is not installed on this host, so no certificate can be looked into")
        return []
    return held.certificates(docs, world.files, now, unread)
