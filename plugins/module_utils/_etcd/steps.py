# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left to do until this host's etcd votes: a pure function of the member list and of what lies on the host."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import (
    ADD,
    AVAILABLE,
    PROMOTE,
    REMOVE,
    START,
    WRITE,
    EtcdMember,
    EtcdState,
)

_REMOVE_BY_HAND = (
    "If that host or its data is gone for good, remove the member on another control plane"
    " (etcdctl member remove {identity:x}) while the others are well, then run again"
)


@dataclass(frozen=True)
class Situation:
    """Where a join stands: the member at this host's peer URL, another of this host's name, and what is on the host."""

    name: str
    peer_url: str
    client_url: str
    cluster: int = 0
    listed: EtcdMember | None = None
    namesake: EtcdMember | None = None
    manifest: str = ""  # its path, where there is one
    data: str = ""  # the directory, where it holds a member's data
    answer: EtcdState | None = None  # of who answers at this host's client URL


def steps(now: Situation, learner: bool) -> tuple[str, ...]:
    """List the steps that are left, none for a member that votes; Unusable where no step is safe."""
    _refuse_strangers(now)
    member = now.listed
    if member is None:
        _refuse_leftovers(now)
        return (ADD, WRITE, START, PROMOTE, AVAILABLE) if learner else (ADD, WRITE, START, AVAILABLE)
    promote = (PROMOTE,) if member.learner else ()
    if now.manifest and (now.data or not member.started):
        settled = member.started and not member.learner
        return () if settled else (START, *promote, AVAILABLE)
    if now.manifest:
        raise _data_lost(now, member)
    if member.started and now.data:
        return (WRITE, START, *promote, AVAILABLE)
    if now.data:
        raise Unusable(
            now.data,
            f"it holds an etcd member's data, but member {member.label} at {now.peer_url} has never started, so it belongs to another",
            "Move the directory away, then run again",
        )
    if not member.started:
        return (WRITE, START, *promote, AVAILABLE)
    if member.learner:
        # Its data is gone, and a learner that never voted is forgotten without harm.
        return (REMOVE, ADD, WRITE, START, PROMOTE, AVAILABLE)
    raise _data_lost(now, member)


def _refuse_strangers(now: Situation) -> None:
    """Refuse what would make two members of one: another cluster here, or another host of the same name."""
    if now.answer is not None and not now.answer.problem:
        if now.answer.cluster != now.cluster:
            raise Unusable(
                now.client_url,
                f"the etcd that runs here is of another cluster ({now.answer.cluster:x}, not {now.cluster:x})",
                "If that cluster is not needed any more, move its manifest and its data directory away, then run again",
            )
        if now.listed is None or now.answer.identity != now.listed.identity:
            raise Unusable(
                now.client_url,
                f"the etcd that runs here is member {now.answer.identity:x}, which the cluster does not list for {now.peer_url}",
                "It was removed: move its manifest and its data directory away, then run again",
            )
    if now.namesake is not None:
        raise Unusable(
            f"etcd member {now.namesake.name}",
            f"the cluster has a member of this host's name at {', '.join(now.namesake.peer_urls)}, not at {now.peer_url}",
            _REMOVE_BY_HAND.format(identity=now.namesake.identity) + ", or give this node another name",
        )


def _refuse_leftovers(now: Situation) -> None:
    if now.manifest:
        raise Unusable(
            now.manifest,
            f"it is there, but the cluster has no member at {now.peer_url}",
            "The member was removed, or the manifest is of another cluster: move it and the data directory away, then run again",
        )
    if now.data:
        raise Unusable(
            now.data,
            f"it holds an etcd member's data, but the cluster has no member at {now.peer_url}",
            "The data is a removed member's or another cluster's: move the directory away, then run again",
        )


def _data_lost(now: Situation, member: EtcdMember) -> Unusable:
    kind = "learner" if member.learner else "voting member"
    fix = _REMOVE_BY_HAND.format(identity=member.identity)
    return Unusable(
        f"etcd member {member.label} ({now.peer_url})",
        f"the cluster has it as a {kind} that has run before, but its data is not on this host",
        f"Move {now.manifest} away. {fix}" if now.manifest else fix,
    )
