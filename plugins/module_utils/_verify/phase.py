# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof of a cluster: which nodes take part, and what an earlier run that was killed has left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, Manifest, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload import STEPS, ProveCluster, node_problem
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload_manifests import MANAGED_BY, OURS

# A proof that is still under way, started by somebody else, is not disturbed.
_LEAST_AGE = timedelta(hours=1)


@dataclass(frozen=True)
class Observed:
    """The Nodes of the cluster, and the namespaces of proofs."""

    nodes: Mapping[str, Manifest]
    namespaces: tuple[Manifest, ...]
    now: datetime


class ClusterVerifyPhase:
    """A workload on every node, as read and plan; the proof itself is one action."""

    name = "verify"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at the Nodes."""
        if virgin_host(world):
            raise Unusable("/etc/kubernetes/admin.conf", "there is no cluster on this host", "Run this on a control plane")
        nodes = {str(node["metadata"]["name"]): node for node in world.api.list("v1", "Node")}
        return Observed(nodes, tuple(world.api.list("v1", "Namespace", label_selector=f"{MANAGED_BY}={OURS}")), world.clock.now())

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Prove the cluster with the nodes that are named, else with all that it has."""
        nodes = tuple(dict.fromkeys(options.get("nodes") or sorted(seen.nodes)))
        if not nodes:
            raise Unusable("Node objects", "the cluster has none", "Join some nodes first")
        timeout: timedelta = options["timeout"]
        problems = {node: node_problem(seen.nodes.get(node)) for node in nodes}
        action = ProveCluster(nodes, str(options["image"]), docs.cluster.networking.dns_domain, OURS, timeout.total_seconds())
        proof = Change(
            target="cluster",
            reason="whether it works is only known when it has worked",
            before="".join(f"{node}: {problem or 'Ready'}\n" for node, problem in problems.items()),
            after="".join(f"{node}: {', '.join(STEPS.values())}\n" for node in nodes),
            action=action,
        )
        told = [{"node": node, "ready": not problem, "found": problem} for node, problem in problems.items()]
        return Plan((*_leftovers(seen, timeout), proof), {"nodes": told, "verified": [], "seconds": 0.0})


def _leftovers(seen: Observed, timeout: timedelta) -> tuple[Change, ...]:
    """Ask for the removal of what a killed run has left; its objects go with the namespace."""
    found = []
    for each in seen.namespaces:
        key = key_of(each)
        old = seen.now - _made(each) > max(_LEAST_AGE, 2 * timeout)
        if old and not each["metadata"].get("deletionTimestamp"):
            reason = "an earlier proof was killed before it could remove it"
            found.append(Change(str(key), reason, f"{key}\n", "", DeleteObject(key)))
    return tuple(found)


def _made(found: Manifest) -> datetime:
    return datetime.strptime(str(found["metadata"]["creationTimestamp"]), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
