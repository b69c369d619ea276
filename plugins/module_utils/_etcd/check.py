# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phase check-etcd of join: the cluster's members must be well before anything is added to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.cluster import access, find_endpoints, patience, peer_url, unarmed
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.etcd import ETCD
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import manifest_path
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import EtcdView, WaitForEtcd, health_problem, told


@dataclass(frozen=True)
class Observed:
    """The members as one look found them, or why there was none."""

    endpoints: tuple[str, ...] = ()
    view: EtcdView | None = None
    problem: str = ""


class CheckEtcdPhase:
    """kubeadm's check-etcd as read and plan; an external etcd is left to those who run it."""

    name = "check-etcd"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Find the members and ask each once."""
        if docs.external_etcd:
            return Observed()
        missing = unarmed(docs, world)
        if missing:
            return Observed(problem=f"{missing} does not exist yet, so nobody can be asked")
        endpoints = find_endpoints(docs, world, options, world.files.read(manifest_path(ETCD)))
        try:
            return Observed(endpoints, world.etcd.look(endpoints, access(docs)))
        except Unusable as silence:
            return Observed(endpoints, None, silence.found)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Wait where the cluster is not well enough for the release."""
        if docs.external_etcd:
            return Plan(facts={"etcd_checked": False, "etcd_members": []})
        by_quorum, own = docs.known_release.etcd_health_by_quorum, peer_url(docs)
        problem = seen.problem or (health_problem(seen.view, own, by_quorum) if seen.view is not None else "")
        members = told(seen.view) if seen.view is not None else []
        facts = {"etcd_checked": True, "etcd_members": members}
        if not problem:
            unwell = seen.view.unwell(besides=own) if seen.view is not None else ()
            return Plan(facts=facts, warnings=tuple(f"etcd member {each}" for each in unwell))
        action = WaitForEtcd(seen.endpoints, access(docs), own, by_quorum, patience(docs))
        rule = "a majority of the members" if by_quorum else "every member"
        before = "".join(f"{each['name'] or each['id']}: {each['found'] or 'well'}\n" for each in members) or f"{problem}\n"
        after = f"{rule} well, asked for up to {action.seconds:.0f} s\n"
        return Plan((Change("etcd cluster", f"not well yet: {problem}", before, after, action),), facts)
