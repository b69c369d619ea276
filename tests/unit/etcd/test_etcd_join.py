# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole sequence against real etcd: joins, kills at every point, and what is refused; a canary key survives each."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.etcd.members import LEARNERS, VOTERS, ControlPlane, Site

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import (
    EXISTS,
    NOT_LEARNER,
    NOT_READY,
    TOO_FEW_STARTED,
    TOO_MANY_LEARNERS,
    EtcdRefusal,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.check import CheckEtcdPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.cluster import access
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.member import EtcdMemberPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import ADD, START, WRITE

Start = Callable[[str], Site]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Begin a site whose first host runs a cluster of one."""
    made: list[Site] = []

    def begin(release: str) -> Site:
        made.append(Site(tmp_path, release))
        made[0].host().begin()
        return made[0]

    yield begin
    for site in made:
        site.stop()


def voting(host: ControlPlane) -> list[tuple[str, bool]]:
    return sorted((member.label, not member.learner) for member in host.look().members)


def settled(first: ControlPlane, *others: ControlPlane) -> None:
    """All vote, nothing is left to do, and nothing was lost."""
    assert voting(first) == [(f"cp{host.number}", True) for host in (first, *others)]
    assert first.canary()
    for host in others:
        before = host.manifest.stat().st_mtime_ns
        plan, facts = host.run(EtcdMemberPhase())
        assert (plan.changes, facts["etcd_member"]["done"]) == ((), "kept")
        assert host.manifest.stat().st_mtime_ns == before


@pytest.mark.parametrize("release", [LEARNERS, VOTERS])
def test_two_hosts_join_one_after_the_other(start: Start, release: str) -> None:
    site = start(release)
    first = site.hosts[0]
    others = [site.host(), site.host()]
    for host in others:
        checked, _facts = host.run(EtcdMemberPhase(), check=True)
        assert not host.manifest.exists()
        plan, facts = host.run(EtcdMemberPhase())
        assert [(change.target, change.reason) for change in plan.changes][-1:] == [
            (f"etcd member cp{host.number} {host.peer}", "it is not a member of the cluster yet")
        ]
        assert [change.after for change in plan.changes] == [change.after for change in checked.changes]
        assert facts["etcd_member"]["done"] == "added"
        assert {member["name"]: member["healthy"] for member in facts["etcd_members"]}[f"cp{host.number}"]
        words = host.manifest.read_text()
        assert "--initial-cluster-state=existing" in words
        assert f"cp1={first.peer}" in words
        assert f"cp{host.number}={host.peer}" in words
        assert host.data.stat().st_mode & 0o777 == 0o700
        assert host.manifest.stat().st_mode & 0o777 == 0o600
        site.pods.urls.append(host.client)
    settled(first, *others)
    plan, facts = first.run(CheckEtcdPhase())
    assert (plan.changes, [member["healthy"] for member in facts["etcd_members"]]) == ((), [True] * 3)


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(EtcdRefusal) as refused:
        call()
    return refused.value.kind


def test_what_etcd_refuses_is_told_apart(start: Start) -> None:
    site = start(LEARNERS)
    first, second, third = site.hosts[0], site.host(), site.host()
    etcd, keys, ask = first.etcd, access(first.docs), (first.client,)
    etcd.add(ask, keys, second.peer, True)
    (learner,) = [member for member in first.look().members if member.learner]
    assert refusal(lambda: etcd.add(ask, keys, second.peer, True)) == EXISTS
    assert refusal(lambda: etcd.add(ask, keys, third.peer, True)) == TOO_MANY_LEARNERS
    assert refusal(lambda: etcd.promote(ask, keys, learner.identity)) == NOT_READY
    voter = first.look().voters[0].identity
    assert refusal(lambda: etcd.promote(ask, keys, voter)) == NOT_LEARNER
    etcd.remove(ask, keys, learner.identity)
    assert voting(first) == [("cp1", True)]
    # etcd derives a member's number from its address and the second, and a removed number never comes back.
    time.sleep(1.1)
    etcd.add(ask, keys, second.peer, False)
    assert refusal(lambda: etcd.add(ask, keys, third.peer, False)) == TOO_FEW_STARTED
    view = first.look()
    assert (view.agreed, len(view.members)) == (False, 2)
    assert view.problem(view.members[0]) and view.problem(view.members[1])


@pytest.mark.parametrize("release", [LEARNERS, VOTERS])
def test_added_and_killed_before_the_manifest(start: Start, release: str) -> None:
    site = start(release)
    first, second = site.hosts[0], site.host()
    first.etcd.add((first.client,), access(first.docs), second.peer, release == LEARNERS)
    before = {member.identity for member in first.look().members}
    assert second.run(CheckEtcdPhase())[0].changes == ()
    plan, facts = second.run(EtcdMemberPhase())
    assert plan.changes[-1].reason == "the cluster lists it, but nothing starts it here"
    assert facts["etcd_member"]["done"] == "started"
    assert {member.identity for member in first.look().members} == before
    settled(first, second)


def test_killed_before_the_promotion_and_another_host_waits_for_it(start: Start) -> None:
    site = start(LEARNERS)
    first, second, third = site.hosts[0], site.host(), site.host()
    second.held = True
    with pytest.raises(Unusable, match=r"it does not answer after 1 s: connection refused\n  there is no container of etcd"):
        second.run(EtcdMemberPhase(), changed={"start_seconds": 1})
    assert [member.started for member in first.look().members if member.learner] == [False]
    with pytest.raises(Unusable, match="it could not be added after 1 s: etcdserver: too many learner members in cluster"):
        third.run(EtcdMemberPhase(), changed={"change_seconds": 1})
    assert not third.manifest.exists()
    waiting = threading.Thread(target=third.run, args=(EtcdMemberPhase(),))
    waiting.start()
    time.sleep(0.5)
    second.revive()
    plan, facts = second.run(EtcdMemberPhase())
    assert (plan.changes[-1].reason, facts["etcd_member"]["done"]) == ("it has yet to start", "promoted")
    waiting.join(60)
    settled(first, second, third)


def test_a_manifest_that_cannot_be_written_takes_the_learner_back(start: Start) -> None:
    site = start(LEARNERS)
    first, second = site.hosts[0], site.host()
    second.manifest.parent.mkdir(parents=True)
    # Nobody, not even root, can make a file there.
    second.manifest.symlink_to("/proc/kubephase/etcd.yaml")
    with pytest.raises(Unusable, match=r"etcd\.yaml: .*; the member that was added for it was removed again"):
        second.run(EtcdMemberPhase())
    assert voting(first) == [("cp1", True)]
    second.manifest.unlink()
    second.run(EtcdMemberPhase())
    settled(first, second)


def test_a_missing_certificate_is_seen_before_anything_is_added(start: Start) -> None:
    site = start(VOTERS)
    first, second = site.hosts[0], site.host()
    (second.root / "etc/kubernetes/pki/etcd/peer.key").unlink()
    with pytest.raises(Unusable, match=r"peer\.key: it does not exist, and etcd could not start without it"):
        second.run(EtcdMemberPhase())
    assert voting(first) == [("cp1", True)]
    assert not list((second.root / "etc/kubernetes").glob(".*"))


def test_a_voter_is_not_added_while_a_member_is_down_and_data_of_others_is_refused(start: Start) -> None:
    site = start(VOTERS)
    first, second, third = site.hosts[0], site.host(), site.host()
    second.run(EtcdMemberPhase())
    site.pods.urls.append(second.client)
    second.kill()
    # Two of two are needed: the majority is lost, and nothing may be added.
    with pytest.raises(Unusable, match=r"it could not be added after 1 s: no majority of the members answers"):
        third.run(EtcdMemberPhase(), changed={"change_seconds": 1})
    with pytest.raises(Unusable, match=r"not well after 1 s: 0 of 2 voting members are well.*cp2: connection refused"):
        third.run(CheckEtcdPhase(), changed={"seconds": 1})
    # Its own member is what is missing: for the host itself that is no obstacle.
    assert second.run(CheckEtcdPhase())[0].changes == ()
    second.revive()
    plan, _facts = second.run(EtcdMemberPhase())
    assert plan.real_changes == ()
    settled(first, second)
    # Data that the cluster knows nothing of.
    (third.data / "member").mkdir(parents=True)
    with pytest.raises(Unusable, match="it holds an etcd member's data, but the cluster has no member at"):
        third.run(EtcdMemberPhase())
    assert voting(first) == [("cp1", True), ("cp2", True)]


def test_a_cluster_of_its_own_on_the_host_is_never_joined(start: Start) -> None:
    site = start(LEARNERS)
    first, second = site.hosts[0], site.host()
    second.begin()
    site.pods.urls.remove(second.client)
    with pytest.raises(Unusable, match="the etcd that runs here is of another cluster"):
        second.run(EtcdMemberPhase())
    second.manifest.unlink()
    second.wait(lambda: second.process is None)
    first.etcd.add((first.client,), access(first.docs), second.peer, True)
    with pytest.raises(Unusable, match="has never started, so it belongs to another"):
        second.run(EtcdMemberPhase())
    # With a manifest it looks like one that is starting: what answers gives it away.
    assert first.canary()


def test_a_learner_without_its_data_is_replaced_and_a_voter_is_not(start: Start) -> None:
    site = start(LEARNERS)
    first, second = site.hosts[0], site.host()
    second.run(EtcdMemberPhase(), changed={"steps": (ADD, WRITE, START)})
    second.wait(lambda: any(member.name == "cp2" for member in first.look().members))
    (before,) = [member.identity for member in first.look().members if member.learner]
    second.manifest.unlink()
    second.wait(lambda: second.process is None)
    shutil.rmtree(second.data)
    _plan, facts = second.run(EtcdMemberPhase())
    assert facts["etcd_member"]["done"] == "replaced"
    assert before not in {member.identity for member in first.look().members}
    settled(first, second)
    second.manifest.unlink()
    second.wait(lambda: second.process is None)
    shutil.rmtree(second.data)
    site.pods.urls[:] = [first.client]
    with pytest.raises(Unusable, match=r"a voting member that has run before, but its data is not on this host.*etcdctl member remove"):
        second.run(EtcdMemberPhase())
