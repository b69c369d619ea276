# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left to do in every situation, and the rules that keep the quorum."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.steps import Situation, steps
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
    EtcdView,
    health_problem,
    initial_cluster,
    quorum,
    risk_of_adding,
    risk_of_promoting,
)

PEER, CLIENT = "https://192.0.2.12:2380", "https://192.0.2.12:2379"
NEW = EtcdMember(7, "", (PEER,))
NEW_LEARNER = EtcdMember(7, "", (PEER,), learner=True)
VOTER = EtcdMember(7, "cp2", (PEER,), (CLIENT,))
LEARNER = EtcdMember(7, "cp2", (PEER,), (CLIENT,), learner=True)
MANIFEST, DATA = {"manifest": "/m/etcd.yaml"}, {"data": "/var/lib/etcd"}
BOTH = {**MANIFEST, **DATA}


def situation(**found: Any) -> Situation:
    return Situation("cp2", PEER, CLIENT, **{"cluster": 1, **found})


@pytest.mark.parametrize(
    ("found", "learner", "expected"),
    [
        ({}, True, (ADD, WRITE, START, PROMOTE, AVAILABLE)),
        ({}, False, (ADD, WRITE, START, AVAILABLE)),
        ({"listed": NEW}, True, (WRITE, START, AVAILABLE)),
        ({"listed": NEW_LEARNER}, False, (WRITE, START, PROMOTE, AVAILABLE)),
        ({"listed": NEW, **MANIFEST}, True, (START, AVAILABLE)),
        ({"listed": NEW, **BOTH}, True, (START, AVAILABLE)),
        ({"listed": NEW_LEARNER, **BOTH}, True, (START, PROMOTE, AVAILABLE)),
        ({"listed": LEARNER, **BOTH}, True, (START, PROMOTE, AVAILABLE)),
        ({"listed": LEARNER, **DATA}, True, (WRITE, START, PROMOTE, AVAILABLE)),
        ({"listed": LEARNER}, True, (REMOVE, ADD, WRITE, START, PROMOTE, AVAILABLE)),
        ({"listed": VOTER, **BOTH}, True, ()),
        ({"listed": VOTER, **DATA}, True, (WRITE, START, AVAILABLE)),
        ({"listed": VOTER, **BOTH, "answer": EtcdState("", 7, 1)}, True, ()),
        ({"listed": VOTER, **BOTH, "answer": EtcdState("connection refused")}, True, ()),
    ],
)
def test_what_is_left(found: dict[str, Any], learner: bool, expected: tuple[str, ...]) -> None:
    assert steps(situation(**found), learner) == expected


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (DATA, "/var/lib/etcd: it holds an etcd member's data, but the cluster has no member at .*move the directory away"),
        (MANIFEST, "/m/etcd.yaml: it is there, but the cluster has no member at"),
        (BOTH, "/m/etcd.yaml: it is there, but the cluster has no member at"),
        ({"listed": NEW, **DATA}, "member 7 at .* has never started, so it belongs to another. Move the directory away"),
        ({"listed": NEW_LEARNER, **DATA}, "has never started, so it belongs to another"),
        ({"listed": VOTER}, "a voting member that has run before, but its data is not on this host.*etcdctl member remove 7"),
        ({"listed": VOTER, **MANIFEST}, "Move /m/etcd.yaml away.*etcdctl member remove 7"),
        ({"listed": LEARNER, **MANIFEST}, "a learner that has run before, but its data is not on this host. Move /m/etcd.yaml away"),
        ({"namesake": EtcdMember(9, "cp2", ("https://192.0.2.99:2380",))}, "a member of this host's name at https://192.0.2.99:2380"),
        ({"listed": VOTER, **BOTH, "answer": EtcdState("", 7, 2)}, "is of another cluster"),
        ({"listed": VOTER, **BOTH, "answer": EtcdState("", 8, 1)}, "is member 8, which the cluster does not list"),
        ({**BOTH, "answer": EtcdState("", 7, 1)}, "is member 7, which the cluster does not list"),
    ],
)
def test_where_no_step_is_safe(found: dict[str, Any], message: str) -> None:
    with pytest.raises(Unusable, match=message):
        steps(situation(**found), True)


def test_no_situation_adds_a_second_member_or_gives_up_a_voter() -> None:
    """Whatever is found: who is listed is added only after it was removed, and only a learner without data here is removed."""
    for listed, manifest, data, learner in itertools.product(
        [None, NEW, NEW_LEARNER, VOTER, LEARNER], [{}, MANIFEST], [{}, DATA], [True, False]
    ):
        try:
            left = steps(situation(listed=listed, **manifest, **data), learner)
        except Unusable:
            continue
        if ADD in left:
            assert listed is None or left[0] == REMOVE
            assert not manifest and not data
        if REMOVE in left:
            assert listed is LEARNER
        if ADD in left or (listed is not None and listed.learner):
            assert (PROMOTE in left) == (learner if listed is None else True)
        assert WRITE not in left or not manifest


def member(number: int, learner: bool = False, started: bool = True) -> EtcdMember:
    return EtcdMember(number, f"cp{number}" if started else "", (f"https://192.0.2.{number}:2380",), ("x",) if started else (), learner)


def view(*members: EtcdMember, silent: tuple[int, ...] = (), leader: int = 1, agreed: bool = True) -> EtcdView:
    states = {
        each.identity: EtcdState("connection refused") if each.identity in silent else EtcdState("", each.identity, 1, leader)
        for each in members
        if each.started
    }
    return EtcdView(1, members, states, agreed)


THREE = (member(1), member(2), member(3))
OWN = "https://192.0.2.9:2380"
MINE = EtcdMember(9, "cp9", (OWN,), ("x",))
MINE_NEW = EtcdMember(9, "", (OWN,))


@pytest.mark.parametrize(
    ("seen", "by_quorum", "expected"),
    [
        (view(member(1)), False, ""),
        (view(*THREE), False, ""),
        (view(*THREE, silent=(3,)), True, ""),
        (view(*THREE, silent=(3,)), False, "not every member is well (cp3: connection refused)"),
        (
            view(*THREE, silent=(2, 3)),
            True,
            "1 of 3 voting members are well, and 2 must be (cp2: connection refused; cp3: connection refused)",
        ),
        (
            view(*THREE, leader=0),
            True,
            "0 of 3 voting members are well, and 2 must be (cp1: it sees no leader; cp2: it sees no leader; cp3: it sees no leader)",
        ),
        # Another host's learner that has never started is in nobody's way; its silent learner is, where all must answer.
        (view(member(1), member(2, learner=True, started=False)), False, ""),
        (view(member(1), member(2, learner=True), silent=(2,)), True, ""),
        (view(member(1), member(2, learner=True), silent=(2,)), False, "not every member is well (cp2: connection refused)"),
        # A voter of another host that never started costs the majority.
        (
            view(member(1), member(2, started=False), leader=0),
            True,
            "0 of 2 voting members are well, and 2 must be (cp1: it sees no leader; 2: it was added and has never started)",
        ),
        # The own one is about to be started.
        (view(member(1), MINE_NEW, leader=0), False, ""),
        (view(member(1), MINE, silent=(9,), leader=0), False, ""),
        (view(*THREE, MINE, silent=(9,)), False, ""),
        (view(*THREE, MINE, silent=(3, 9), leader=0), True, ""),
        (view(*THREE, MINE, silent=(3, 9), leader=0), False, "not every member is well (cp3: connection refused)"),
        (
            view(*THREE, MINE, silent=(2, 3, 9), leader=0),
            True,
            "1 of 4 voting members are well, and 3 must be (cp1: it sees no leader; cp2: connection refused; cp3: connection refused)",
        ),
    ],
)
def test_whether_a_cluster_is_well_enough(seen: EtcdView, by_quorum: bool, expected: str) -> None:
    assert health_problem(seen, OWN, by_quorum) == expected


@pytest.mark.parametrize(
    ("seen", "learner", "allowed"),
    [
        (view(member(1)), True, True),
        (view(member(1)), False, True),
        (view(*THREE), False, True),
        (view(*THREE, silent=(3,)), True, True),
        (view(*THREE, silent=(3,)), False, False),
        (view(member(1), member(2), silent=(2,)), True, True),
        (view(member(1), member(2), silent=(2,), agreed=False), True, False),
        (view(*THREE, silent=(2, 3)), True, False),
        (view(member(1), member(2, started=False)), False, False),
        (view(*THREE, agreed=False), True, False),
    ],
)
def test_whether_a_member_may_be_added(seen: EtcdView, learner: bool, allowed: bool) -> None:
    assert (risk_of_adding(seen, learner) == "") is allowed


@pytest.mark.parametrize("voters", range(1, 8))
def test_a_promotion_never_costs_the_majority(voters: int) -> None:
    """With the promoted one, those that are well must be a majority of all voters there will be."""
    for silent in range(voters + 1):
        seen = view(
            *(member(number) for number in range(1, voters + 1)),
            EtcdMember(9, "cp9", (OWN,), ("x",), True),
            silent=tuple(range(1, silent + 1)),
        )
        allowed = risk_of_promoting(seen, OWN) == ""
        assert allowed == (voters - silent + 1 >= quorum(voters + 1))
    assert risk_of_promoting(view(member(1), agreed=False), OWN)


def test_the_members_as_a_new_one_is_told_of_them() -> None:
    two = EtcdMember(4, "other", ("https://a:2380", "https://b:2380"))
    seen = view(member(1), member(0xAB, started=False), MINE_NEW, two)
    assert initial_cluster(seen, "cp9", OWN) == (
        "cp1=https://192.0.2.1:2380",
        "ab=https://192.0.2.171:2380",
        f"cp9={OWN}",
        "other=https://a:2380",
        "other=https://b:2380",
    )
