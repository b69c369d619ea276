# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Joins that go wrong: whoever fails says so and why, etcd keeps its majority and its data, and a re-run comes to the end."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from live.cluster import Cluster
from live.given import CERTIFICATE_KEY, certificates, expired_token, given, no_tokens
from live.impostor import impostor
from live.node import KUBECTL
from live.playbook import Report
from live.running import Running, changed, lost, said, summed_up

PROMOTIONS = r"""crictl logs $(crictl ps -q --state Running --name '^etcd$') 2>&1 | grep '"msg":"promote member"'"""
# The kubelet writes this before it asks for its certificate.
ASKING = "test -e /etc/kubernetes/kubelet.conf"
ETCD_MANIFEST = "/etc/kubernetes/manifests/etcd.yaml"


def fails(cluster: Cluster, hosts: dict[str, dict[str, Any]]) -> Report:
    """Join with variables of each host; all fail, none becomes a member, and nothing that was minted for them is left."""
    before = cluster.leftovers()
    report = Running(cluster.playbook(hosts=hosts), "--limit", cluster.names(*hosts)).end()
    assert lost(report) == {cluster[name].name for name in hosts}
    assert (summed_up(report, "Joined now"), summed_up(report, "Failed")) == (set(), lost(report))
    assert not set(hosts) & (set(cluster.nodes()) | set(cluster.members()))
    assert cluster.leftovers() == before
    cluster.keeps_its_data()
    return report


def join_with(**given: Any) -> dict[str, Any]:
    """Spell the variable by which a host gets a JoinConfiguration."""
    return {"kubephase_join_configuration": given}


def test_all_at_once(cluster: Cluster) -> None:
    """Two control planes and two workers in one run: no worker waits for the second member of etcd."""
    cluster.arrange(virgin=("cp2", "cp3", "w1", "w2"))
    report = Running(cluster.playbook("site")).end().succeeded()
    assert summed_up(report, "Joined now") == {node.name for short, node in cluster.fleet.nodes.items() if short != "cp1"}
    promoted = [json.loads(line) for line in cluster.first.run(PROMOTIONS).splitlines()]
    when = {int(each["promoted-member-id"], 16): str(each["ts"]) for each in promoted}
    second = max(when[member.identity] for short, member in cluster.members().items() if short != "cp1")
    for worker in ("w1", "w2"):
        born = cluster.first.kubectl(f"get node {cluster[worker].name} -o jsonpath='{{.metadata.creationTimestamp}}'")
        assert born.rstrip("Z") < second
    before = cluster.secrets()
    again = Running(cluster.playbook("site")).end().succeeded()
    assert (changed(again), cluster.secrets(), cluster.leftovers()) == ({}, before, set())


def test_bad_secrets(cluster: Cluster) -> None:
    """A wrong pin, an expired token and a wrong certificate key, each on a host of its own in one run."""
    cluster.arrange(virgin=("cp2", "w1", "w2"))
    with given(cluster) as good, certificates(cluster):
        hosts = {
            "cp2": join_with(**good.join(certificate_key="0" * 64)),
            "w1": join_with(**good.join(pin="sha256:" + "0" * 64)),
            "w2": join_with(**good.join(token=expired_token(cluster))),
        }
        report = fails(cluster, hosts)
        assert "kubeadm-certs" in said(report, cluster["cp2"].name)
        assert "certificate authority is another one than that of the pins" in said(report, cluster["w1"].name)
        assert "no signature of the token" in said(report, cluster["w2"].name)
        assert good.token.partition(".")[2] not in report.output
        for worker in ("w1", "w2"):
            assert cluster[worker].run("ls /etc/kubernetes/*.conf 2>/dev/null || true") == ""
        before = cluster.secrets()
        cluster.join("cp2", "w1", "w2").succeeded()
        # What somebody else has made for joins of their own is theirs.
        assert cluster.secrets() == before
    cluster.settled("cp2", "w1", "w2")


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("added", marks=pytest.mark.long),
        pytest.param("started"),
        pytest.param("promoted", marks=pytest.mark.long),
    ],
)
def test_killed_while_etcd_joins(cluster: Cluster, stage: str) -> None:
    cluster.arrange(joined=("cp2",), virgin=("cp3",))
    with cluster.start("cp3") as play:
        cluster.freeze("cp3", stage)
    cluster.kill_modules("cp3")
    member = cluster.members()["cp3"]
    assert (bool(member.name), member.votes) == {"added": (False, False), "started": (True, False), "promoted": (True, True)}[stage]
    if stage == "added":
        assert cluster["cp3"].run(f"ls {ETCD_MANIFEST} 2>/dev/null || true") == ""
    assert "etcd-join" in play.tags_begun
    left = cluster.leftovers()
    assert len(left) == 2
    cluster.ends_by_itself(left)
    cluster.keeps_its_data()
    cluster.converges("cp3")
    assert cluster.members()["cp3"].identity == member.identity


def test_powered_off_while_etcd_joins(cluster: Cluster) -> None:
    """A learner that is gone costs the others nothing; it is taken up again when its node is back."""
    cluster.arrange(joined=("cp2",), virgin=("cp3",))
    with cluster.start("cp3") as play:
        cluster.freeze("cp3", "started")
        cluster.power_off("cp3")
        report = play.end()
    assert lost(report) == {cluster["cp3"].name}
    assert cluster["cp3"].name in report.output
    assert "UNREACHABLE" in report.output
    cluster.ends_by_itself(cluster.leftovers())
    member = cluster.members()["cp3"]
    assert not member.votes
    cluster.keeps_its_data()
    cluster.power_on()
    cluster.converges("cp3")
    assert cluster.members()["cp3"].identity == member.identity


def test_one_of_two_members_stopped(cluster: Cluster) -> None:
    """With half of etcd gone nobody may join; when it is back, the join goes on."""
    cluster.arrange(joined=("cp2",), virgin=("cp3",))
    cluster.power_off("cp2")
    # The other member takes a moment to notice.
    cluster.first.until(f"! {KUBECTL} get --raw /readyz >/dev/null", 60)
    report = cluster.join("cp3")
    assert lost(report) == {cluster["cp3"].name}
    assert "No control plane of the group control_plane serves a healthy cluster" in said(report, cluster["cp3"].name)
    assert cluster["cp3"].name in said(report, cluster["cp3"].name)
    assert cluster["cp3"].run("ls /etc/kubernetes/*.conf 2>/dev/null || true") == ""
    cluster.power_on()
    assert set(cluster.members()) == {"cp1", "cp2"}
    cluster.keeps_its_data()
    cluster.converges("cp3")


def test_nothing_can_be_minted(cluster: Cluster) -> None:
    """A control plane that looks well and refuses the token is named, with its reason."""
    cluster.arrange(virgin=("w1",))
    with no_tokens(cluster):
        report = fails(cluster, {"w1": {}})
    assert f"{cluster.first.name} was to mint" in said(report, cluster["w1"].name)
    # What the API server says of a Secret may quote from it, so that its own words stay out.
    assert "Secret kube-system/bootstrap-token-" in said(report, cluster["w1"].name)
    assert "it could not be" in said(report, cluster["w1"].name)
    assert cluster["w1"].run("ls /etc/kubernetes/*.conf 2>/dev/null || true") == ""
    cluster.join("w1").succeeded()


def test_two_controllers_at_once(cluster: Cluster) -> None:
    cluster.arrange(virgin=("cp3", "w1"))
    together(cluster, ("cp3",), ("w1",))


@pytest.mark.long
def test_two_controllers_with_a_control_plane_each(cluster: Cluster) -> None:
    cluster.arrange(virgin=("cp2", "cp3", "w1", "w2"))
    together(cluster, ("cp2", "w1"), ("cp3", "w2"))


def together(cluster: Cluster, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Start two joins at the same time; both come to their end, and each has removed its own secrets only."""
    with cluster.start(*one) as first, cluster.start(*other) as second:
        reports = [first.end().succeeded(), second.end().succeeded()]
    joined = [summed_up(report, "Joined now") for report in reports]
    assert joined == [{cluster[name].name for name in names} for names in (one, other)]
    cluster.settled(*one, *other)


def test_a_name_that_another_node_has(cluster: Cluster) -> None:
    cluster.arrange(joined=("w1",), virgin=("w2",))
    cluster.first.kubectl(f"wait --for=condition=Ready --timeout=120s node {cluster['w1'].name}")
    name = cluster["w1"].name
    report = fails(cluster, {"w2": join_with(nodeRegistration={"name": name})})
    assert name in said(report, cluster["w2"].name)
    assert "Ready" in said(report, cluster["w2"].name)
    assert cluster.nodes()["w1"] == "True"
    cluster.converges("w2")
    cluster.settled("w1")


@pytest.mark.long
def test_killed_during_the_bootstrap(cluster: Cluster) -> None:
    """The kubelet has been started with its token, and nobody waits for what comes of it."""
    cluster.arrange(virgin=("w1",))
    with cluster.start("w1"):
        cluster.freeze_when("w1", ASKING)
    cluster.kill_modules("w1")
    assert cluster["w1"].run("ls /etc/kubernetes/bootstrap-kubelet.conf")
    cluster.keeps_its_data()
    cluster.converges("w1")


@pytest.mark.long
def test_powered_off_during_the_bootstrap(cluster: Cluster) -> None:
    """One worker loses its power; the other one joins all the same."""
    cluster.arrange(virgin=("w1", "w2"))
    with cluster.start("w1", "w2") as play:
        cluster.freeze_when("w1", ASKING)
        cluster.power_off("w1")
        report = play.end()
    assert lost(report) == {cluster["w1"].name}
    assert (summed_up(report, "Joined now"), summed_up(report, "Failed")) == ({cluster["w2"].name}, {cluster["w1"].name})
    assert cluster.leftovers() == set()
    cluster.power_on()
    cluster.converges("w1", "w2")


@pytest.mark.long
def test_one_of_three_members_stopped(cluster: Cluster) -> None:
    """A worker joins a cluster that still has its majority, also when the control plane that minted its token stops."""
    cluster.arrange(joined=("cp2", "cp3"), virgin=("w1", "w2"))
    with cluster.start("w1", join_helper=cluster["cp3"].name) as play:
        play.until_task("preflight_check")
        assert cluster.leftovers()
        cluster.power_off("cp3")
        play.end().succeeded()
    assert "w1" in cluster.joined()
    assert cluster.leftovers() == set()
    report = Running(cluster.playbook()).end()
    assert lost(report) == {cluster["cp3"].name}
    assert summed_up(report, "Joined now") == {cluster["w2"].name}
    cluster.keeps_its_data()
    cluster.power_on()
    cluster.settled("cp2", "cp3", "w1", "w2")


@pytest.mark.long
def test_certificates_that_are_gone(cluster: Cluster) -> None:
    cluster.arrange(virgin=("cp2",))
    with given(cluster) as good:
        report = fails(cluster, {"cp2": join_with(**good.join(certificate_key=CERTIFICATE_KEY))})
    assert "kubeadm-certs" in said(report, cluster["cp2"].name)
    assert CERTIFICATE_KEY not in report.output
    cluster.converges("cp2")


@pytest.mark.long
def test_another_cluster_answers(cluster: Cluster, tmp_path: Path) -> None:
    """One that knows the token and signs with it is unmasked by the pin; one that passes on the true answer, by its certificate."""
    cluster.arrange(virgin=("w1", "w2"))
    with given(cluster) as good:
        true = cluster.first.kubectl("-n kube-public get configmap cluster-info -o json")
        with impostor(cluster.first, tmp_path, good.token) as signer, impostor(cluster.first, tmp_path, good.token, true.encode()) as relay:
            report = fails(cluster, {"w1": join_with(**good.join(endpoint=signer)), "w2": join_with(**good.join(endpoint=relay))})
    assert "certificate authority is another one than that of the pins" in said(report, cluster["w1"].name)
    assert "certificate" in said(report, cluster["w2"].name)
    assert relay in said(report, cluster["w2"].name)
    for worker in ("w1", "w2"):
        assert cluster[worker].run("ls /etc/kubernetes/*.conf 2>/dev/null || true") == ""
    cluster.converges("w1", "w2")


@pytest.mark.long
def test_a_clock_that_is_a_day_off(cluster: Cluster) -> None:
    """All nodes share the machine's clock, so it is the controller that claims to live on another day."""
    cluster.arrange(virgin=("w1",))
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    report = cluster.module("w1", "preflight_check", becomes="worker", reference_time=tomorrow.isoformat())
    assert report.code != 0
    assert cluster["w1"].name in report.output
    assert "the clock is 24 hours behind the controller's" in " ".join(report.output.split())
    assert cluster["w1"].run("ls /etc/kubernetes/*.conf 2>/dev/null || true") == ""
    cluster.converges("w1")


@pytest.mark.long
def test_a_join_in_which_all_fail_leaves_no_secret(cluster: Cluster) -> None:
    """Minted for a control plane and a worker, neither of which passes preflight."""
    cluster.arrange(virgin=("cp3", "w1"))
    report = fails(cluster, {name: join_with(nodeRegistration={"ignorePreflightErrors": ["Mem", "NumCPU"]}) for name in ("cp3", "w1")})
    for name in ("cp3", "w1"):
        assert "SystemVerification" in said(report, cluster[name].name)
    cluster.converges("cp3", "w1")
