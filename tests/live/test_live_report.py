# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Report, proof and node settings on a cluster of one control plane and one worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.browser import Browser
from live.cluster import Cluster
from live.fleet import attach_all, virgin_fleet
from live.node import KUBECTL, ROOT, lab, remove
from live.running import changed, lost

NAMESPACES = "get namespaces -o name"
# A real one, whose secret must never be seen again.
TOKEN = "cana01.5ecre7ha1f0fat0k"


@pytest.fixture(scope="module")
def small(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """One control plane and one worker."""
    given = request.config.getoption("--on")
    instance = given or f"live-{place}-r"
    try:
        fleet = attach_all(Path(lab("inventory", "--instance", instance))) if given else virgin_fleet(instance, 1, 1)
        cluster = Cluster(fleet)
        cluster.playbook("site").play().succeeded()
        fleet.until_ready()
        cluster.first.until(f"{KUBECTL} -n kube-system rollout status deployment/coredns --timeout=9s", 180)
        yield cluster
    finally:
        if not given:
            remove(instance)


def report(cluster: Cluster, place: Path, **variables: Any) -> tuple[Path, dict[str, Any], Any]:
    """Play the report, and give the page, the data and what was said."""
    page, data = place / "report.html", place / "report.json"
    done = cluster.playbook("report").using(kubephase_report=str(page), kubephase_report_json=str(data), **variables).play()
    return page, json.loads(data.read_text()), done


def test_a_cluster_that_is_well(small: Cluster, tmp_path: Path) -> None:
    page, data, done = report(small, tmp_path)
    done.succeeded()
    assert changed(done) == {}
    assert data["concerns"] == []
    assert [node["name"] for node in data["nodes"]] == [small["cp1"].name, small["w1"].name]
    assert [(member["name"], member["leader"], member["db_size"] > 0) for member in data["etcd_members"]] == [
        (small["cp1"].name, True, True)
    ]
    first, worker = data["hosts"]
    assert {each["name"] for each in first["components"]} == {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    assert first["host"]["runtime"].startswith("containerd ")
    held = {each["path"] for each in first["certificates"]}
    assert {"/etc/kubernetes/pki/apiserver.crt", "/etc/kubernetes/admin.conf", "/var/lib/kubelet/pki/kubelet-client-current.pem"} <= held
    assert worker["role"] == "worker"
    assert page.stat().st_mode & 0o777 == 0o644
    with Browser() as browser:
        for width in (390, 1280):
            browser.open(page, width)
            assert browser.ask("document.documentElement.scrollWidth") <= width
            assert browser.complaints() == []
            assert browser.requested() == [page.as_uri()]
        assert browser.ask("document.querySelector('.verdict').textContent") == "✓ All is well"
        assert browser.ask("document.querySelectorAll('.card').length") == 2


def test_drift_and_tokens_show_and_secrets_do_not(small: Cluster, tmp_path: Path) -> None:
    first = small.first
    first.run(f"kubeadm token create {TOKEN} --ttl 1h >/dev/null 2>&1")
    try:
        arguments = {"apiServer": {"extraArgs": [{"name": "v", "value": "3"}]}}
        page, data, done = report(small, tmp_path, kubephase_cluster_configuration=arguments)
    finally:
        first.run(f"kubeadm token delete {TOKEN.partition('.')[0]} >/dev/null 2>&1")
    done.succeeded()
    phases = {phase["name"]: phase for phase in data["hosts"][0]["plan"]["phases"]}
    assert [change["target"] for change in phases["control-plane"]["changes"]] == ["/etc/kubernetes/manifests/kube-apiserver.yaml"]
    assert "--v=3" in page.read_text()
    assert [token["id"] for token in data["tokens"]] == ["cana01"]
    for written in (page.read_text(), json.dumps(data), done.output):
        assert TOKEN.partition(".")[2] not in written
        assert "PRIVATE KEY" not in written


def test_a_node_that_is_away_is_told_of(small: Cluster, tmp_path: Path) -> None:
    small.power_off("w1")
    try:
        page, data, done = report(small, tmp_path)
    finally:
        small.power_on()
        small.fleet.until_ready()
    assert done.code == 0
    assert [host["name"] for host in data["hosts"] if host["problem"]] == [small["w1"].name]
    assert "could not be reached" in data["hosts"][1]["problem"]
    assert "Needs attention" in page.read_text()


def test_the_proof_passes_and_leaves_nothing(small: Cluster) -> None:
    before = small.first.kubectl(NAMESPACES)
    done = small.playbook("verify").play().succeeded()
    assert changed(done) == {}
    assert small["w1"].name in done.output
    assert small.first.kubectl(NAMESPACES) == before


def test_a_proof_that_fails_names_the_node_and_the_step_and_leaves_nothing(small: Cluster) -> None:
    """The rules of kube-proxy and CoreDNS are alright; what the worker asks of the name server is dropped."""
    before = small.first.kubectl(NAMESPACES)
    rule = "FORWARD -s 10.244.0.0/16 -p udp --dport 53 -j DROP"
    small["w1"].run(f"iptables -I {rule}")
    try:
        done = small.playbook("verify").using(kubephase_verify_timeout="30s").play()
    finally:
        small["w1"].run(f"iptables -D {rule}")
    assert lost(done)
    assert f"node {small['w1'].name}, step dns:" in done.failure
    assert "step service" not in done.failure
    assert small.first.kubectl(NAMESPACES) == before


def test_labels_and_taints_of_the_inventory(small: Cluster) -> None:
    def marks() -> tuple[dict[str, str], list[dict[str, str]]]:
        found = json.loads(small.first.kubectl(f"get node {small['w1'].name} -o json"))
        return found["metadata"]["labels"], found["spec"].get("taints", [])

    before = marks()
    taint = {"key": "dedicated", "value": "gpu", "effect": "PreferNoSchedule"}
    given = {"w1": {"kubephase_node_labels": {"zone": "north", "gpu": True}, "kubephase_node_taints": [taint]}}
    play = small.playbook("site", given)
    assert changed(play.play("--check").succeeded()) == {small["w1"].name: 1}
    assert marks() == before
    assert changed(play.play().succeeded()) == {small["w1"].name: 1}
    assert marks() == ({**before[0], "zone": "north", "gpu": "true"}, [taint])
    assert changed(play.play().succeeded()) == {}
    small.first.kubectl(f"label node {small['w1'].name} mine=stays")
    given_up: dict[str, dict[str, Any]] = {"w1": {"kubephase_node_labels": {}}}
    assert changed(small.playbook("site", given_up).play().succeeded()) == {small["w1"].name: 1}
    assert marks() == ({**before[0], "mine": "stays"}, [])
    small.first.kubectl(f"label node {small['w1'].name} mine-")


def test_the_picture_in_the_docs_is_there() -> None:
    picture = ROOT / "docs/images/report.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 300_000
