# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the phases check-etcd and etcd-join see, plan and say, without any etcd."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.etcd.members import Pods
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import etcd as gateway
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import Etcd, EtcdRefusal, EtcdSilent
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd_join import EtcdMembership
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.check import CheckEtcdPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.member import EtcdMemberPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import (
    ADD,
    AVAILABLE,
    PROMOTE,
    START,
    WRITE,
    AwaitEtcdMember,
    EtcdAccess,
    EtcdMember,
    EtcdState,
    EtcdView,
    JoinEtcd,
    WaitForEtcd,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import MakeDirectory, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import settle
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

FIRST, OWN = EtcdMember(1, "cp1", ("https://192.0.2.10:2380",), ("https://192.0.2.10:2379",)), "https://192.0.2.11:2380"
ADMIN = "etc/kubernetes/admin.conf"
FILES = (ADMIN, *(f"etc/kubernetes/pki/etcd/{name}" for name in ("ca.crt", "healthcheck-client.crt", "healthcheck-client.key")))


class Members:
    """A cluster that says what it is told."""

    def __init__(self, *members: EtcdMember, answer: EtcdState | None = None, silent: tuple[int, ...] = (), **view: Any) -> None:
        found = {each.identity: EtcdState("no answer in time" if each.identity in silent else "", each.identity, 1, 1) for each in members}
        self.view = EtcdView(1, members, found, **view)
        self.answer = answer or EtcdState("connection refused")
        self.asked: tuple[str, ...] = ()

    def look(self, endpoints: tuple[str, ...], access: EtcdAccess, besides: str = "", patience: float = math.inf) -> EtcdView:
        self.asked = endpoints
        return self.view

    def state(self, endpoint: str, access: EtcdAccess) -> EtcdState:
        return self.answer


class NoApi(Pods):
    """An API server whose etcd has lost its majority."""

    def list(self, *words: Any, **selectors: Any) -> Any:
        raise Unusable("API server", "it does not answer", "Wait")


def armed(root: Path) -> Path:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    return root


def planned(
    phase: Any,
    root: Path,
    etcd: Any = None,
    api: Any = None,
    release: str = "1.37.1",
    cluster: dict[str, Any] | None = None,
    join: dict[str, Any] | None = None,
    **options: Any,
) -> Plan:
    pods = Pods()
    pods.urls = ["https://192.0.2.11:2379", "https://192.0.2.10:2379"]
    world = World(files=Files(str(root)), api=api or pods, etcd=etcd or Members(FIRST), host=Host("cp2", "192.0.2.11"))
    documents = {
        "ClusterConfiguration": {"kubernetesVersion": f"v{release}", "controlPlaneEndpoint": "192.0.2.1:6443", **(cluster or {})},
        "JoinConfiguration": {"controlPlane": {}, **(join or {})},
    }
    docs = settle(documents, world, {"becomes": "control_plane"})
    plan: Plan = phase.plan(docs, phase.read(docs, world, options), options)
    return plan


def action_of(plan: Plan) -> Any:
    return plan.changes[-1].action


def test_a_virgin_host_tells_what_it_would_add(tmp_path: Path) -> None:
    plan = planned(EtcdMemberPhase(), tmp_path)
    change = plan.changes[-1]
    assert (change.target, change.reason) == (f"etcd member cp2 {OWN}", "it is not a member of the cluster yet")
    assert change.before == ""
    assert change.after.startswith(f"cp2 {OWN} voting\n/etc/kubernetes/manifests/etcd.yaml:\n")
    assert f"--initial-cluster=<the members of the cluster>,cp2={OWN}" in change.after
    assert [change.action for change in plan.changes[:-1]] == [
        MakeDirectory("/etc/kubernetes/manifests", 0o700),
        MakeDirectory("/var/lib/etcd", 0o700),
    ]
    with pytest.raises(Unusable, match="no member is known that could be asked"):
        EtcdMembership(Files(str(tmp_path)), Etcd(Files(str(tmp_path)))).apply(replace(action_of(plan), needs=()))


@pytest.mark.parametrize(
    ("release", "gates", "learner", "patience"),
    [
        ("1.26.13", {}, False, 197),
        ("1.28.15", {}, False, 197),
        ("1.28.15", {"EtcdLearnerMode": True}, True, 197),
        ("1.29.15", {}, True, 197),
        ("1.32.5", {"EtcdLearnerMode": False}, False, 120),
        ("1.37.1", {}, True, 120),
    ],
)
def test_how_it_joins_and_how_patiently(tmp_path: Path, release: str, gates: dict[str, bool], learner: bool, patience: int) -> None:
    action = action_of(planned(EtcdMemberPhase(), armed(tmp_path), release=release, cluster={"featureGates": gates}))
    assert (action.learner, action.change_seconds, action.available_seconds) == (learner, patience, 40)
    assert ("promote" in action.steps) is learner


def test_timeouts_of_the_documents_count(tmp_path: Path) -> None:
    join = {"timeouts": {"etcdAPICall": "5m", "controlPlaneComponentHealthCheck": "6m"}}
    action = action_of(planned(EtcdMemberPhase(), armed(tmp_path), join=join))
    assert (action.change_seconds, action.start_seconds) == (300, 360)


def test_the_members_are_asked_with_the_own_one_last_and_the_list_is_shown(tmp_path: Path) -> None:
    etcd = Members(FIRST)
    plan = planned(EtcdMemberPhase(), armed(tmp_path), etcd)
    assert etcd.asked == ("https://192.0.2.10:2379", "https://192.0.2.11:2379")
    change = plan.changes[-1]
    assert action_of(plan).endpoints == ("https://192.0.2.10:2379",)
    assert change.before == "cp1 https://192.0.2.10:2380 voting\n"
    assert change.after.startswith(f"cp1 https://192.0.2.10:2380 voting\ncp2 {OWN} voting\n")
    assert f"--initial-cluster=cp1=https://192.0.2.10:2380,cp2={OWN}" in change.after
    assert plan.facts["etcd_members"][0]["healthy"] is True


def test_the_manifest_is_the_one_of_the_etcd_phase(tmp_path: Path) -> None:
    """Written in the sequence, it is to the byte what static_pod would have written with the same members."""
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "etcd.yaml").write_text("metadata: {annotations: {mine: yes-please}}")
    local = {"extraArgs": [{"name": "quota-backend-bytes", "value": "1"}], "extraEnvs": [{"name": "X", "value": "canary-value"}]}
    given: Any = {"cluster": {"etcd": {"local": local}}, "join": {"patches": {"directory": "/patches"}}}
    members = [f"cp1={FIRST.peer_urls[0]}", f"cp2={OWN}"]
    expected = action_of(planned(StaticPodPhase(), armed(tmp_path), components=["etcd"], initial_cluster=members, **given))
    plan = planned(EtcdMemberPhase(), tmp_path, **given)
    own = EtcdMember(7, "", (OWN,), learner=True)
    etcd = Members(FIRST, own, answer=EtcdState("", 7, 1, 1))
    EtcdMembership(Files(str(tmp_path)), etcd).apply(replace(action_of(plan), steps=(WRITE,), needs=()))
    written = (tmp_path / "etc/kubernetes/manifests/etcd.yaml").read_bytes()
    assert written == expected.content
    assert yaml.safe_load(written)["metadata"]["annotations"]["mine"] == "yes-please"
    assert "canary-value" not in repr(plan)


def test_a_settled_member_is_left_alone_and_a_silent_one_waited_for(tmp_path: Path) -> None:
    armed(tmp_path)
    (tmp_path / "var/lib/etcd/member").mkdir(parents=True)
    manifest = tmp_path / "etc/kubernetes/manifests/etcd.yaml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("kind: Pod")
    own = EtcdMember(7, "cp2", (OWN,), ("https://192.0.2.11:2379",))
    plan = planned(EtcdMemberPhase(), tmp_path, Members(FIRST, own, answer=EtcdState("", 7, 1, 1)))
    assert (plan.changes, plan.facts["etcd_member"]["done"]) == ((), "kept")
    plan = planned(EtcdMemberPhase(), tmp_path, Members(FIRST, own))
    assert (plan.real_changes, plan.changes[0].reason) == ((), "it does not answer: connection refused")
    assert isinstance(action_of(plan), AwaitEtcdMember)
    learner = replace(own, learner=True)
    plan = planned(EtcdMemberPhase(), tmp_path, Members(FIRST, learner, answer=EtcdState("", 7, 1, 1)))
    assert (len(plan.real_changes), plan.facts["etcd_member"]["done"]) == (1, "promoted")
    (tmp_path / FILES[3]).unlink()
    with pytest.raises(Unusable, match=r"healthcheck-client\.key: it does not exist, so the cluster cannot be asked"):
        planned(EtcdMemberPhase(), tmp_path)


def test_a_cluster_that_cannot_take_a_member_is_warned_of(tmp_path: Path) -> None:
    three = tuple(replace(FIRST, identity=number, name=f"m{number}") for number in (1, 2, 3))
    plan = planned(EtcdMemberPhase(), armed(tmp_path), Members(*three, silent=(2,)), release="1.28.15")
    assert plan.warnings == (
        "etcd member cp2 cannot be added while it is so: a voter may only be added while all members are well (m2: no answer in time)",
    )


@pytest.mark.parametrize("phase", [EtcdMemberPhase(), CheckEtcdPhase()], ids=lambda phase: phase.name)
def test_external_etcd_is_left_to_others(tmp_path: Path, phase: Any) -> None:
    external = {"external": {"endpoints": ["https://192.0.2.50:2379"], "caFile": "/a", "certFile": "/b", "keyFile": "/c"}}
    plan = planned(phase, armed(tmp_path), api=NoApi(), cluster={"etcd": external})
    assert (plan.changes, plan.facts["etcd_members"]) == ((), [])
    assert plan.facts.get("etcd_checked") in (None, False)


def test_where_the_members_are_when_the_api_server_is_silent(tmp_path: Path) -> None:
    etcd, unmarked = Members(FIRST), Pods()
    unmarked.urls = [""]
    with pytest.raises(Unusable, match="none of 1 tells by its annotation"):
        planned(CheckEtcdPhase(), armed(tmp_path), etcd, unmarked)
    with pytest.raises(Unusable, match="API server: it does not answer"):
        planned(CheckEtcdPhase(), armed(tmp_path), etcd, NoApi())
    planned(CheckEtcdPhase(), tmp_path, etcd, NoApi(), endpoints=["https://192.0.2.77:2379/"])
    assert etcd.asked == ("https://192.0.2.77:2379",)
    manifest = tmp_path / "etc/kubernetes/manifests/etcd.yaml"
    manifest.parent.mkdir(parents=True)
    words = ["etcd", f"--initial-cluster=cp2={OWN},cp1=https://[2001:db8::1]:2380"]
    manifest.write_text(yaml.safe_dump({"spec": {"containers": [{"command": words}]}}))
    planned(CheckEtcdPhase(), tmp_path, etcd, NoApi())
    assert etcd.asked == ("https://[2001:db8::1]:2379", "https://192.0.2.11:2379")


def test_a_check_names_each_member_and_waits_without_being_a_change(tmp_path: Path) -> None:
    second = EtcdMember(2, "cp3", ("https://192.0.2.12:2380",), ("https://192.0.2.12:2379",))
    third = replace(second, identity=3, name="cp4", peer_urls=("https://192.0.2.13:2380",))
    etcd = Members(FIRST, second, third, silent=(2,))
    plan = planned(CheckEtcdPhase(), armed(tmp_path), etcd, release="1.33.11")
    assert (plan.real_changes, plan.changes[0].reason) == ((), "not well yet: not every member is well (cp3: no answer in time)")
    assert plan.changes[0].before == "cp1: well\ncp3: no answer in time\ncp4: well\n"
    assert plan.changes[0].after == "every member well, asked for up to 120 s\n"
    assert isinstance(action_of(plan), WaitForEtcd)
    plan = planned(CheckEtcdPhase(), tmp_path, etcd, release="1.33.12")
    assert (plan.changes, plan.warnings) == ((), ("etcd member cp3: no answer in time",))


def test_a_check_before_anybody_can_be_asked_says_so(tmp_path: Path) -> None:
    plan = planned(CheckEtcdPhase(), tmp_path)
    assert plan.changes[0].reason == "not well yet: /etc/kubernetes/admin.conf does not exist yet, so nobody can be asked"
    assert plan.real_changes == ()


def join(root: Path, etcd: Any, *steps: str, content: bytes = b"kind: Pod", through: tuple[EtcdMember, ...] = (FIRST,)) -> None:
    endpoints = tuple(url for member in through for url in member.client_urls)
    access = EtcdAccess("/ca", "/crt", "/key", 1.0)
    manifest = WriteFile("/etc/kubernetes/manifests/etcd.yaml", content, 0o600, 0o700, "/etc/kubernetes")
    EtcdMembership(Files(str(root)), etcd).apply(
        JoinEtcd(steps, "cp2", OWN, "https://192.0.2.11:2379", endpoints, access, True, True, manifest, start_seconds=0.3)
    )


@pytest.mark.parametrize("answer", [EtcdState("", 7, 2, 7), EtcdState("", 8, 1, 1)], ids=["another cluster", "another member"])
def test_foreign_data_that_starts_is_stopped_again(tmp_path: Path, answer: EtcdState) -> None:
    own = EtcdMember(7, "cp2", (OWN,), ("https://192.0.2.11:2379",))
    with pytest.raises(
        Unusable, match=r"an etcd of other data answers there, not member 7 of this cluster; its manifest was removed again"
    ):
        join(tmp_path, Members(FIRST, own, answer=answer), WRITE, START)
    assert not (tmp_path / "etc/kubernetes/manifests/etcd.yaml").exists()


class Silent(Members):
    """A cluster whose new learner has caught up and does not serve clients yet."""

    def __init__(self) -> None:
        super().__init__(
            FIRST, EtcdMember(7, "cp2", (OWN,), ("https://192.0.2.11:2379",), learner=True), answer=EtcdState("no answer in time")
        )
        self.asked_besides: list[str] = []

    def look(self, endpoints: tuple[str, ...], access: EtcdAccess, besides: str = "", patience: float = math.inf) -> EtcdView:
        self.asked_besides.append(besides)
        return super().look(endpoints, access, besides, patience)

    def promote(self, endpoints: tuple[str, ...], access: EtcdAccess, identity: int) -> None:
        voting = tuple(replace(member, learner=False) for member in self.view.members)
        self.view = replace(self.view, members=voting)


def test_a_learner_votes_before_it_serves_clients(tmp_path: Path) -> None:
    cluster = Silent()
    join(tmp_path, cluster, WRITE, START, PROMOTE)
    assert not any(member.learner for member in cluster.view.members)
    # Asking one that does not answer takes as long as a call may.
    assert set(cluster.asked_besides[1:]) == {OWN}


class Slow(Members):
    """A cluster of which some voters take a second to say how they are."""

    def __init__(self, *members: EtcdMember, slow: tuple[int, ...]) -> None:
        super().__init__(*members)
        self.slow = slow
        self.patience: list[float] = []
        self.added_through: tuple[str, ...] = ()

    def look(self, endpoints: tuple[str, ...], access: EtcdAccess, besides: str = "", patience: float = math.inf) -> EtcdView:
        self.patience.append(patience)
        hasty = dict.fromkeys(self.slow, EtcdState("no answer in time")) if patience < 1 else {}
        return replace(self.view, states={**self.view.states, **hasty})

    def add(self, endpoints: tuple[str, ...], access: EtcdAccess, peer_url: str, learner: bool) -> EtcdView:
        self.added_through = endpoints
        return self.view


SECOND, THIRD = (
    EtcdMember(number, f"cp{number}", (f"https://192.0.2.{number}:2380",), (f"https://192.0.2.{number}:2379",)) for number in (8, 9)
)


@pytest.mark.parametrize(
    ("slow", "looks", "through"),
    [((), 1, (FIRST, SECOND, THIRD)), ((8,), 1, (FIRST, THIRD)), ((8, 9), 2, (FIRST, SECOND, THIRD))],
    ids=["nobody is slow", "who is slow is not needed", "who is slow is needed"],
)
def test_a_slow_voter_is_waited_for_where_its_word_is_needed(
    tmp_path: Path, slow: tuple[int, ...], looks: int, through: tuple[EtcdMember, ...]
) -> None:
    cluster = Slow(FIRST, SECOND, THIRD, slow=slow)
    join(tmp_path, cluster, ADD, through=(FIRST, SECOND, THIRD))
    assert cluster.added_through == tuple(url for member in through for url in member.client_urls)
    *before, _last = cluster.patience
    assert (len(before), [patience < 1 for patience in before]) == (looks, [True, False][:looks])


@pytest.mark.parametrize(
    ("release", "until", "left"),
    [
        ("1.37.1", "voting", (ADD, WRITE, START, PROMOTE)),
        ("1.37.1", "serving", (ADD, WRITE, START, PROMOTE, AVAILABLE)),
        ("1.28.15", "voting", (ADD, WRITE, START, AVAILABLE)),
    ],
)
def test_when_a_call_is_over(tmp_path: Path, release: str, until: str, left: tuple[str, ...]) -> None:
    plan = planned(EtcdMemberPhase(), armed(tmp_path), release=release, until=until)
    assert action_of(plan).steps == left
    assert planned(EtcdMemberPhase(), tmp_path, release=release).changes[-1].after == plan.changes[-1].after


def test_a_member_that_somebody_removed_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="it is not in the member list any more"):
        join(tmp_path, Members(FIRST), WRITE)
    with pytest.raises(Unusable, match="no majority of the members answers"):
        join(tmp_path, Members(FIRST, answer=EtcdState("", 7, 1, 1), agreed=False), START)


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (400, b'{"code":9, "message":"etcdserver: too many learner members in cluster"}', gateway.TOO_MANY_LEARNERS),
        (400, b'{"message":"etcdserver: can only promote a learner member which is in sync with leader"}', gateway.NOT_READY),
        (400, b'{"message":"etcdserver: can only promote a learner member"}', gateway.NOT_LEARNER),
        (400, b'{"error":"x","message":"etcdserver: Peer URLs already exists"}', gateway.EXISTS),
        (400, b'{"message":"etcdserver: member ID already exist"}', gateway.EXISTS),
        (503, b'{"message":"etcdserver: unhealthy cluster"}', gateway.UNHEALTHY),
        (500, b'{"message":"etcdserver: re-configuration failed due to not enough started members"}', gateway.TOO_FEW_STARTED),
        (404, b'{"message":"etcdserver: member not found"}', gateway.NOT_FOUND),
        (503, b'{"message":"etcdserver: no leader"}', gateway.TRANSIENT),
        (503, b'{"message":"etcdserver: request timed out"}', gateway.TRANSIENT),
        (503, b'{"message":"etcdserver: rpc not supported for learner"}', gateway.NOT_HERE),
        (404, b"Not Found\n", gateway.NOT_HERE),
        (200, b"<html>", gateway.NOT_HERE),
        (200, b"[]", gateway.NOT_HERE),
        (400, b'{"message":"etcdserver: given member URLs are invalid"}', gateway.REFUSED),
        (403, b'{"message":"etcdserver: permission denied"}', gateway.REFUSED),
    ],
)
def test_what_etcd_says_is_told_apart(status: int, content: bytes, kind: str) -> None:
    with pytest.raises(EtcdRefusal) as refused:
        gateway._judged(status, content)
    assert refused.value.kind == kind


def test_nobody_there_and_files_that_are_no_certificates(tmp_path: Path) -> None:
    armed(tmp_path)
    pki = "/etc/kubernetes/pki/etcd"
    access = EtcdAccess(f"{pki}/ca.crt", f"{pki}/healthcheck-client.crt", f"{pki}/healthcheck-client.key", 0.5)
    etcd = Etcd(Files(str(tmp_path)))
    with pytest.raises(EtcdSilent, match=r"no member can list the cluster: http://127\.0\.0\.1:9: connection refused"):
        etcd.look(("http://127.0.0.1:9",), access)
    with pytest.raises(Unusable, match=r"healthcheck-client\.crt: it, its key or .* cannot be read"):
        etcd.look(("https://127.0.0.1:9",), access)


def test_when_one_member_holds_the_cluster_for_unhealthy_another_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def call(self: Etcd, endpoint: str, access: EtcdAccess, path: str, body: Any) -> Any:
        asked.append(endpoint)
        if endpoint == "https://first":
            raise EtcdRefusal(gateway.UNHEALTHY, "etcdserver: unhealthy cluster")
        return {"header": {"cluster_id": "1"}, "members": []}

    monkeypatch.setattr(Etcd, "_call", call)
    etcd, access = Etcd(Files(str(tmp_path))), EtcdAccess("/ca", "/crt", "/key", 1.0)
    etcd.add(("https://first", "https://second"), access, OWN, learner=True)
    assert asked == ["https://first", "https://second"]
    with pytest.raises(EtcdRefusal, match="unhealthy cluster"):
        etcd.add(("https://first",), access, OWN, learner=True)
