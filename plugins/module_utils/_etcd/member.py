# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The etcd member of a joining control plane: added, started and voting, one step after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.cluster import (
    access,
    client_url,
    find_endpoints,
    patience,
    peer_url,
    synced,
    unarmed,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.steps import Situation, steps
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests import phase as static_pods
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.control_plane import certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.etcd import ETCD
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import (
    ADD,
    AVAILABLE,
    INITIAL_CLUSTER,
    PROMOTE,
    REMOVE,
    START,
    WRITE,
    AwaitEtcdMember,
    EtcdMember,
    EtcdState,
    EtcdView,
    JoinEtcd,
    initial_cluster,
    risk_of_adding,
    told,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._release import gate_is_on

# When a call is over: once the member votes, or once it serves clients and the cluster is well with it.
VOTING, SERVING = "voting", "serving"

_NEEDED = ("ca.crt", "server.crt", "server.key", "peer.crt", "peer.key")
_REASONS = {
    REMOVE: "its data is gone, and a learner can be added anew",
    ADD: "it is not a member of the cluster yet",
    WRITE: "the cluster lists it, but nothing starts it here",
    START: "it has yet to start",
    PROMOTE: "it is a learner, and has yet to vote",
}


@dataclass(frozen=True)
class Observed:
    """The cluster, the host, and what the manifest is made from."""

    pods: static_pods.Observed
    endpoints: tuple[str, ...] = ()
    view: EtcdView | None = None
    answer: EtcdState | None = None
    # The first file that is missing to ask anybody.
    unarmed: str = ""


class EtcdMemberPhase:
    """kubeadm's etcd-join as read and plan."""

    name = "etcd-join"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at the member list, at who answers here, at the manifest and at the data directory."""
        pods = static_pods.StaticPodPhase().read(docs, world, {"components": [ETCD]})
        if docs.external_etcd:
            return Observed(pods)
        missing = unarmed(docs, world)
        if missing:
            return Observed(pods, unarmed=missing)
        found = find_endpoints(docs, world, options, pods.manifests.get(ETCD))
        view = world.etcd.look(found, access(docs))
        return Observed(pods, synced(docs, view, found), view, world.etcd.state(client_url(docs), access(docs)))

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Take the steps that are left; a member that votes is left alone."""
        if docs.external_etcd:
            return Plan(facts={"etcd_member": None, "etcd_members": []})
        situation = _situation(docs, seen)
        if seen.unarmed and (situation.manifest or situation.data):
            raise Unusable(
                seen.unarmed, "it does not exist, so the cluster cannot be asked about its members", "Run the phase that makes it"
            )
        left = _until(options, steps(situation, _as_learner(docs)))
        silent = seen.answer.problem if seen.answer is not None else ""
        reason = _REASONS[left[0]] if left else f"it does not answer: {silent}" if silent else ""
        facts = {"etcd_member": _fact(docs, seen, left), "etcd_members": told(seen.view) if seen.view is not None else []}
        if not reason:
            return Plan(facts=facts)
        rendered = _rendered(docs, seen) if WRITE in left else ()
        directories = tuple(change for change in rendered if not isinstance(change.action, WriteFile))
        manifest = next((change for change in rendered if isinstance(change.action, WriteFile)), None)
        change = _change(docs, seen, left or (START, AVAILABLE), reason, manifest)
        return Plan((*directories, change), facts, _warnings(docs, seen, left))


def _as_learner(docs: Documents) -> bool:
    way = docs.known_release.etcd_member_joins_as
    return gate_is_on(docs.known_release.gates, "EtcdLearnerMode", docs.cluster.feature_gates) if way == "gate" else way == "learner"


def _until(options: Mapping[str, Any], left: tuple[str, ...]) -> tuple[str, ...]:
    """Leave it to another call to see that the member serves, if told so; a voter that has to be promoted no more is waited for here."""
    if options.get("until") != VOTING or PROMOTE not in left:
        return left
    return tuple(step for step in left if step != AVAILABLE)


def _situation(docs: Documents, seen: Observed) -> Situation:
    name, own = docs.node.name, peer_url(docs)
    return Situation(
        name=name,
        peer_url=own,
        client_url=client_url(docs),
        cluster=seen.view.cluster if seen.view is not None else 0,
        listed=seen.view.at(own) if seen.view is not None else None,
        namesake=next((member for member in _members(seen) if member.name == name and own not in member.peer_urls), None),
        manifest=static_pods.manifest_path(ETCD) if ETCD in seen.pods.manifests else "",
        data=static_pods.data_directory(docs) if seen.pods.has_member else "",
        answer=seen.answer,
    )


def _rendered(docs: Documents, seen: Observed) -> tuple[Change, ...]:
    """The manifest with the marker for its members, and the directories, as the etcd phase would write them."""
    return static_pods.StaticPodPhase().plan(docs, seen.pods, {"components": [ETCD], "initial_cluster": [INITIAL_CLUSTER]}).changes


def _change(docs: Documents, seen: Observed, left: tuple[str, ...], reason: str, manifest: Change | None) -> Change:
    kind = JoinEtcd if set(left) - {START, AVAILABLE} else AwaitEtcdMember
    release = docs.known_release
    action = kind(
        steps=left,
        name=docs.node.name,
        peer_url=peer_url(docs),
        client_url=client_url(docs),
        endpoints=seen.endpoints,
        access=access(docs),
        learner=_as_learner(docs),
        by_quorum=release.etcd_health_by_quorum,
        manifest=manifest.action if manifest is not None and isinstance(manifest.action, WriteFile) else None,
        needs=tuple(certificate(docs, f"etcd/{name}") for name in _NEEDED),
        cri_socket=docs.node.cri_socket,
        start_seconds=docs.timeouts.control_plane_component_health_check.total_seconds(),
        change_seconds=patience(docs),
        available_seconds=float(release.etcd_availability_tries * release.etcd_availability_poll_seconds),
    )
    before = "".join(_line(member) for member in _members(seen))
    after = "".join(_line(member) for member in _afterwards(docs, seen))
    if manifest is not None:
        foreseen = ",".join(initial_cluster(EtcdView(members=_afterwards(docs, seen)), docs.node.name, peer_url(docs)))
        known = foreseen if seen.view is not None else f"<the members of the cluster>,{foreseen}"
        after += f"{manifest.target}:\n{manifest.after.replace(INITIAL_CLUSTER, known)}"
    return Change(f"etcd member {docs.node.name} {peer_url(docs)}", reason, before, after, action)


def _members(seen: Observed) -> tuple[EtcdMember, ...]:
    return seen.view.members if seen.view is not None else ()


def _afterwards(docs: Documents, seen: Observed) -> tuple[EtcdMember, ...]:
    """The members as they will be, with this host's among them."""
    own = peer_url(docs)
    listed = seen.view.at(own) if seen.view is not None else None
    mine = EtcdMember(listed.identity if listed is not None else 0, docs.node.name, (own,), (client_url(docs),))
    return (*(member for member in _members(seen) if member is not listed), mine)


def _line(member: EtcdMember) -> str:
    state = "learner" if member.learner else "voting"
    return f"{member.label} {','.join(member.peer_urls)} {state}{'' if member.started else ', never started'}\n"


def _fact(docs: Documents, seen: Observed, left: tuple[str, ...]) -> dict[str, Any]:
    done = {REMOVE: "replaced", ADD: "added", WRITE: "started", PROMOTE: "promoted"}
    first = next((done[step] for step in left if step in done), "kept")
    return {"name": docs.node.name, "peer_url": peer_url(docs), "client_url": client_url(docs), "done": first}


def _warnings(docs: Documents, seen: Observed, left: tuple[str, ...]) -> tuple[str, ...]:
    """Say what the addition will have to wait for, if the cluster stays as it is."""
    risk = risk_of_adding(seen.view, _as_learner(docs)) if ADD in left and seen.view is not None else ""
    return (f"etcd member {docs.node.name} cannot be added while it is so: {risk}",) if risk else ()
