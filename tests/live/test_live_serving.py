# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serving certificates on nodes when something is away, is killed, is renamed, or runs out soon."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live.cluster import Cluster
from live.fleet import attach_all, virgin_fleet
from live.node import KUBECTL, Node, lab, remove
from live.playbook import Playbook
from live.running import changed

MODE = {"kubephase_kubelet_serving_certificates": "kubelet"}
CURRENT = "/var/lib/kubelet/pki/kubelet-server-current.pem"
MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
APPROVER = "kubephase-serving-approver"
POLICY = "/etc/kubernetes/kubephase-serving-policy.json"
SERVING = "kubernetes.io/kubelet-serving"
MANY = 40


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """One control plane and two workers whose kubelets the API server verifies."""
    given = request.config.getoption("--on")
    instance = given or f"live-{place}-s"
    try:
        fleet = attach_all(Path(lab("inventory", "--instance", instance))) if given else virgin_fleet(instance, 1, 2)
        cluster = Cluster(fleet)
        site(cluster).play().succeeded()
        cluster.first.run("cat > /run/workload.yaml", (cluster.first.manifests / "workload.yaml").read_bytes())
        cluster.first.until(f"{KUBECTL} apply -f /run/workload.yaml && {KUBECTL} rollout status daemonset/agnhost --timeout=9s", 240)
        yield cluster
    finally:
        if not given:
            remove(instance)


def site(cluster: Cluster, **more: Any) -> Playbook:
    """The playbook with the feature on."""
    return cluster.playbook("site").using(**MODE, **more)


def serial(node: Node) -> str:
    """Which certificate the kubelet shows to somebody who verifies it; nothing as long as there is none."""
    asked = f"openssl s_client -connect {node.address}:10250 -CAfile /etc/kubernetes/pki/ca.crt -verify_ip {node.address}"
    done = node.attempt(f"{asked} -verify_return_error </dev/null 2>/dev/null | openssl x509 -noout -serial")
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def forget_certificate(node: Node) -> None:
    """Take the certificate from a kubelet, which then asks for another."""
    node.run(f"rm {CURRENT} && systemctl restart kubelet")


def until_another(node: Node, before: str, seconds: float = 180) -> str:
    """Wait until a kubelet shows another certificate than before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = serial(node)
        if found and found != before:
            return found
        time.sleep(1)
    raise AssertionError(f"{node.name} shows no new certificate within {seconds} s")


def logs(cluster: Cluster, name: str) -> str:
    """What a pod on a node says, through an API server that verifies the kubelet."""
    pod = f"$({KUBECTL} get pods -l app=agnhost --field-selector spec.nodeName={cluster[name].name} -o name)"
    return cluster.first.until(f"{KUBECTL} logs {pod} --tail=1", 60)


def test_the_api_server_is_away_for_a_minute(served: Cluster) -> None:
    """A kubelet that asks meanwhile is served when the API server is back, by the approver and without a play."""
    first, worker = served.first, served["w1"]
    before = serial(worker)
    assert before
    first.run(f"mv {MANIFEST} /root/kube-apiserver.yaml")
    first.until("! pgrep -x kube-apiserver", 90)
    forget_certificate(worker)
    time.sleep(60)
    assert serial(worker) == ""
    first.run(f"mv /root/kube-apiserver.yaml {MANIFEST}")
    first.until(f"{KUBECTL} get --raw /readyz", 180)
    until_another(worker, before, 300)
    assert logs(served, "w1")
    journal = first.run(f"journalctl -u {APPROVER} --since -10min -o cat")
    assert "it does not answer" in journal
    assert f"of system:node:{worker.name} for" in journal
    assert changed(site(served).play().succeeded()) == {}


def file_many(served: Cluster) -> None:
    """Let a node ask for the same names many times over, with its own credentials."""
    worker = served["w1"]
    subject, names = f"/O=system:nodes/CN=system:node:{worker.name}", f"subjectAltName=DNS:{worker.name},IP:{worker.address}"
    request = worker.run(
        f"openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj {subject} -addext {names} 2>/dev/null"
        " | base64 -w0"
    )
    spec = {"request": request, "signerName": SERVING, "usages": ["digital signature", "server auth"]}
    items = [
        {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": f"many-{index}"}, "spec": spec}
        for index in range(MANY)
    ]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    worker.run("kubectl --kubeconfig /etc/kubernetes/kubelet.conf create -f - >/dev/null", content)


def decisions(served: Cluster) -> list[int]:
    """How often each of the many was approved."""
    items = json.loads(served.first.kubectl("get certificatesigningrequests -o json"))["items"]
    many = [item for item in items if item["metadata"]["name"].startswith("many-")]
    return [sum(each["type"] == "Approved" for each in item["status"].get("conditions") or ()) for item in many]


def test_the_approver_is_killed_between_two_approvals(served: Cluster) -> None:
    """What it has approved stays so, the rest is approved by the next run, and nothing twice."""
    first = served.first
    first.run(f"systemctl stop {APPROVER}.timer {APPROVER}.service")
    try:
        file_many(served)
        kill = f"systemctl kill -s KILL {APPROVER}.service"
        approved = f"{KUBECTL} get csr | grep -c 'many-.*Approved'"
        first.run(f'systemctl start --no-block {APPROVER}.service; until test "$({approved})" -gt 0; do :; done; {kill}')
        first.until(f"! systemctl is-active {APPROVER}.service")
        halfway = decisions(served)
        assert len(halfway) == MANY
        assert 0 < sum(halfway) < MANY
        first.run(f"systemctl reset-failed {APPROVER}.service; systemctl start {APPROVER}.service")
        assert decisions(served) == [1] * MANY
    finally:
        first.run(f"systemctl start {APPROVER}.timer; {KUBECTL} get csr -o name | grep /many- | xargs -r {KUBECTL} delete >/dev/null")


def test_a_node_is_renamed_in_the_inventory(served: Cluster) -> None:
    """The node stays what it is; the approver learns of the other name, and forgets it again with the inventory."""
    first, worker = served.first, served["w1"]
    before = serial(worker)
    inventory = first.inventory.parent / "renamed.yml"
    inventory.write_text(first.inventory.read_text().replace(f"{worker.name}:", "another.example.test:"))
    assert "another.example.test" in inventory.read_text()
    report = replace(site(served), inventory=inventory).play().succeeded()
    assert set(changed(report)) == {first.name}
    known = json.loads(first.read(POLICY))["nodes"]
    assert set(known) == {node.name for node in served.fleet.nodes.values()}
    assert known[worker.name]["dns_names"] == ["another.example.test", worker.name]
    assert serial(worker) == before
    assert set(changed(site(served).play().succeeded())) == {first.name}
    assert json.loads(first.read(POLICY))["nodes"][worker.name]["dns_names"] == [worker.name]


@pytest.mark.long
def test_a_certificate_that_ends_soon_is_replaced_while_logs_go_on(served: Cluster) -> None:
    """Ten minutes of life, of which five are over at the start: replaced before its end, and nobody notices."""
    first, worker = served.first, served["w1"]
    short = {"controllerManager": {"extraArgs": [{"name": "cluster-signing-duration", "value": "5m"}]}}
    site(served, kubephase_cluster_configuration=short).play().succeeded()
    try:
        old = serial(worker)
        forget_certificate(worker)
        lasting = until_another(worker, old)
        logs(served, "w1")
        pod = f"$({KUBECTL} get pods -l app=agnhost --field-selector spec.nodeName={worker.name} -o name)"
        loop = f"pod={pod}; while test ! -e /run/enough; do {KUBECTL} logs $pod --tail=1 >/dev/null && echo ok || echo failed; done"
        first.run(f"rm -f /run/enough; nohup bash -c '{loop}' > /run/asked 2>&1 &")
        until_another(worker, lasting, 330)
        time.sleep(10)
        first.run("touch /run/enough; sleep 2")
        asked = first.run("cat /run/asked").splitlines()
        assert len(asked) > MANY
        assert set(asked) == {"ok"}
    finally:
        site(served).play().succeeded()
