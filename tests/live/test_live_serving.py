# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serving certificates on nodes when something is away, is killed, is renamed, or runs out soon."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from live import looks
from live.cluster import Cluster
from live.node import KUBECTL
from live.running import changed, lost
from live.serving import (
    APPROVER,
    SHORT,
    asking_for_logs,
    cluster_of,
    forget_certificate,
    logs,
    serial,
    site,
    until_another,
    with_workload,
)

MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
CA_KEY = "/etc/kubernetes/pki/ca.key"
POLICY = "/etc/kubernetes/kubephase-serving-policy.json"
SERVING = "kubernetes.io/kubelet-serving"
MANY = 40


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """A control plane and a worker whose kubelets the API server verifies."""
    with cluster_of(request, f"live-{place}-s", 1, 1) as cluster:
        site(cluster).play().succeeded()
        yield cluster


@pytest.mark.long
def test_the_api_server_is_away_for_a_minute(served: Cluster) -> None:
    """A kubelet that asks meanwhile is served when the API server is back, by the approver and without a play."""
    with_workload(served)
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


def test_an_authority_that_cannot_sign_is_refused_before_anything_is_touched(served: Cluster) -> None:
    """The key of the CA is elsewhere, as with an external one: one error, and no file is other than before."""
    first, worker = served.first, served["w1"]
    first.run(f"mv {CA_KEY} /run/ca.key")
    try:
        before = [looks.files(node) for node in (first, worker)]
        report = site(served).play()
        assert report.code != 0
        assert (lost(report), changed(report)) == ({first.name}, {})
        assert report.failure.count(f"{CA_KEY}: it is not here, so nobody would sign") == 1
        assert "kubephase_kubelet_serving_certificates be self-signed" in report.failure
        assert [looks.files(node) for node in (first, worker)] == before
    finally:
        first.run(f"mv /run/ca.key {CA_KEY}")
    assert changed(site(served).play().succeeded()) == {}


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
    """The kubelet replaces it before its end, and nobody notices."""
    with_workload(served)
    worker = served["w1"]
    site(served, kubephase_cluster_configuration=SHORT).play().succeeded()
    try:
        old = serial(worker)
        forget_certificate(worker)
        lasting = until_another(worker, old)
        with asking_for_logs(served, "w1"):
            until_another(worker, lasting, 330)
            time.sleep(10)
    finally:
        site(served).play().succeeded()
