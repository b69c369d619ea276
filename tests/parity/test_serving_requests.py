# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests for serving certificates, filed with a real API server as the users that ask, and decided on there."""

from __future__ import annotations

import base64
import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import API_VERSION, KIND, SigningApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import DecideRequest
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import ServingCsrPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, SUPER_ADMIN, ApiServer, our_api
from ansible_collections.kubephase.cluster.tests.parity.serving import (
    SIGNER,
    KubeletServer,
    LoopbackPorts,
    Signer,
    authority,
    conditions,
    file_request,
    forget,
    key_of,
    until_nodes_may_ask,
    user,
)
from ansible_collections.kubephase.cluster.tests.unit.serving.filed import ALLOWED, INVENTORY, USAGES, csr, key
from ansible_collections.kubephase.cluster.tests.unit.serving.hostile import HOSTILE, REFUSE

__all__ = ["our_api"]
pytestmark = ONE_WORKER

NODES = ("system:nodes",)
RBAC = "rbac.authorization.k8s.io"
# Most clusters let only nodes and bootstrap tokens ask; whoever else comes by the right must not get further.
ANYBODY_MAY_ASK = (
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "askers"},
        "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}],
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "askers"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "askers"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "system:authenticated"}],
    },
)


@pytest.fixture(name="server")
def _server(our_api: ApiServer) -> Iterator[ApiServer]:
    until_nodes_may_ask(our_api)
    yield our_api
    forget(our_api)


def approve(server: ApiServer, check: bool = False, ports: Any = None, policy: Mapping[str, Any] = INVENTORY, **options: Any) -> Outcome:
    """Run the phase on the control plane."""
    ports = ports or LoopbackPorts({})
    world = server.world(signing=SigningApi(Files(str(server.root)), ports), ports=ports)
    given = {"policy": policy, "allowed_names": ALLOWED, "timeout": timedelta(seconds=10), **options}
    return execute(ServingCsrPhase(), world, {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}, given, check)


def names(listed: Any) -> list[str]:
    return sorted(each["name"] for each in listed)


def test_right_ones_are_approved_and_nothing_is_left_for_a_second_run(server: ApiServer) -> None:
    worker1, worker2 = (user(server, f"system:node:{name}", NODES) for name in ("worker1", "worker2"))
    file_request(worker1, "one", csr(), USAGES)
    file_request(worker2, "two", csr("system:node:worker2", dns=["worker2"], ips=["192.0.2.22"]), USAGES)
    file_request(
        worker1, "client", csr(dns=(), ips=()), ["digital signature", "client auth"], "kubernetes.io/kube-apiserver-client-kubelet"
    )
    looked = approve(server, check=True)
    assert names(looked.facts["approved"]) == ["one", "two"]
    assert looked.changed
    assert conditions(server, "one") == []
    done = approve(server)
    assert done.facts == looked.facts
    assert [conditions(server, name) for name in ("one", "two", "client")] == [["Approved"], ["Approved"], []]
    again = approve(server)
    assert (again.changed, again.facts["approved"]) == (False, [])


def test_hostile_ones_are_never_approved(server: ApiServer) -> None:
    server.make(*ANYBODY_MAY_ASK)
    filed, refused = [], []
    for index, case in enumerate(HOSTILE):
        try:
            file_request(user(server, case.user, case.groups), f"hostile-{index}", case.pem(), case.usages)
            filed.append((index, case))
        except Unusable as refusal:
            assert "spec.request: Invalid value" in str(refusal), (case.name, str(refusal))
            refused.append(case.name)
    assert refused == [case.name for case in HOSTILE if case.refused_by_server]
    assert len(filed) >= 20
    file_request(user(server, "system:node:worker1", NODES), "honest", csr(), USAGES)
    with pytest.raises(ManyUnusable) as refusal:
        approve(server)
    facts = refusal.value.facts
    assert names(facts["approved"]) == ["honest"]
    assert conditions(server, "honest") == ["Approved"]
    told = {each["name"]: (outcome, each["reason"]) for outcome in ("refused", "pending") for each in facts[outcome]}
    for index, case in filed:
        assert conditions(server, f"hostile-{index}") == [], case.name
        outcome, reason = told[f"hostile-{index}"]
        assert outcome == ("refused" if case.decision == REFUSE else "pending"), case.name
        assert re.search(case.reason, reason), (case.name, reason)
    claims = [index for index, case in filed if case.decision == REFUSE]
    assert len(refusal.value.findings) == len(claims)
    assert all(f"hostile-{index} of" in str(refusal.value) for index in claims)
    # As long as they are there, every run fails, a check too; once denied they do no more harm.
    with pytest.raises(ManyUnusable):
        approve(server, check=True)
    with pytest.raises(ManyUnusable):
        approve(server, deny=True)
    assert {tuple(conditions(server, f"hostile-{index}")) for index, _case in filed} == {("Denied",)}
    assert not approve(server).changed


def test_what_is_not_approved_is_denied_when_asked(server: ApiServer) -> None:
    file_request(user(server, "system:node:worker1", NODES), "extra", csr(dns=["registry.example.test"]), USAGES)
    assert names(approve(server).facts["pending"]) == ["extra"]
    done = approve(server, deny=True)
    assert (done.changed, names(done.facts["denied"]), done.facts["pending"]) == (True, ["extra"], [])
    assert conditions(server, "extra") == ["Denied"]


def test_a_request_that_took_anothers_name_meanwhile_is_not_approved(server: ApiServer) -> None:
    worker1 = user(server, "system:node:worker1", NODES)
    file_request(worker1, "one", csr(), USAGES)
    signing = SigningApi(Files(str(server.root)))
    (judged,) = signing.requests(SIGNER, is_open)
    server.api(SUPER_ADMIN).apply(DeleteObject(key_of("one")))
    signing.apply(DecideRequest(judged, True, "Test", "it is gone"))
    file_request(worker1, "one", csr(dns=["worker2"]), USAGES)
    signing.apply(DecideRequest(judged, True, "Test", "it was another"))
    assert conditions(server, "one") == []


def test_one_that_somebody_wrote_meanwhile_is_approved_all_the_same(server: ApiServer) -> None:
    file_request(user(server, "system:node:worker1", NODES), "one", csr(), USAGES)
    signing = SigningApi(Files(str(server.root)))
    (judged,) = signing.requests(SIGNER, is_open)
    path = f"/apis/{API_VERSION}/certificatesigningrequests/one"
    assert signing._send("PATCH", path, {}, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json").good
    signing.apply(DecideRequest(judged, True, "Test", "it is right"))
    assert conditions(server, "one") == ["Approved"]
    signing.apply(DecideRequest(judged, False, "Test", "too late"))
    assert conditions(server, "one") == ["Approved"]


@pytest.fixture(name="kubelet")
def _kubelet(server: ApiServer) -> Iterator[KubeletServer]:
    """A kubelet that shows a certificate which nobody signed."""
    profile = Profile("worker1", datetime.now(timezone.utc) + timedelta(days=1), ip_addresses=("192.0.2.21",), server=True)
    pem = sign(profile, key("ecdsa-256").public_key(), None, key("ecdsa-256")).public_bytes(Encoding.PEM)
    kubelet = KubeletServer(pem, private_pem(key("ecdsa-256")))
    kubelet.start()
    yield kubelet
    kubelet.stop()


def test_a_request_that_comes_late_is_waited_for_until_its_certificate_is_shown(server: ApiServer, kubelet: KubeletServer) -> None:
    ports = LoopbackPorts({"worker1": kubelet.port})
    signer = Signer(server)
    signer.start()

    def node() -> None:
        time.sleep(1)
        api = user(server, "system:node:worker1", NODES)
        file_request(api, "late", csr(), USAGES)
        while not (found := (api.get(key_of("late")) or {}).get("status", {}).get("certificate")):
            time.sleep(0.05)
        kubelet.use(base64.b64decode(found), private_pem(key("ecdsa-256")))

    looked = approve(server, check=True, ports=ports, wait_for=["worker1"])
    assert looked.changed
    assert "self-signed" in looked.facts["serving"][0]["problem"]
    threading.Thread(target=node, daemon=True).start()
    try:
        done = approve(server, ports=ports, wait_for=["worker1"])
    finally:
        signer.stop()
    assert names(done.facts["approved"]) == ["late"]
    assert [(each["node"], each["served"], each["problem"]) for each in done.facts["serving"]] == [("worker1", True, "")]
    again = approve(server, ports=ports, wait_for=["worker1"])
    assert (again.changed, again.facts["serving"][0]["served"]) == (False, True)


def test_a_node_that_is_not_served_in_time_is_told_of(server: ApiServer, kubelet: KubeletServer) -> None:
    ports = LoopbackPorts({"worker1": kubelet.port})
    file_request(user(server, "system:node:worker1", NODES), "extra", csr(dns=["registry.example.test"]), USAGES)
    with pytest.raises(ManyUnusable) as late:
        approve(server, ports=ports, wait_for=["worker1"], timeout=timedelta(seconds=1))
    assert "its request extra is pending: the inventory does not give registry.example.test to worker1" in str(late.value)
    assert names(late.value.facts["pending"]) == ["extra"]


def test_a_kubelet_with_anothers_certificate_does_not_count(server: ApiServer, kubelet: KubeletServer) -> None:
    profile = Profile("x", datetime.now(timezone.utc) + timedelta(days=1), ip_addresses=("192.0.2.22",), server=True)
    pem = sign(profile, key("ecdsa-256").public_key(), *authority(server)).public_bytes(Encoding.PEM)
    kubelet.use(pem, private_pem(key("ecdsa-256")))
    found = approve(server, check=True, ports=LoopbackPorts({"worker1": kubelet.port}), wait_for=["worker1"])
    assert "not valid for '192.0.2.21'" in found.facts["serving"][0]["problem"]


def test_a_node_without_a_policy_cannot_be_waited_for(server: ApiServer) -> None:
    with pytest.raises(Unusable, match="the policy has no node worker7"):
        approve(server, wait_for=["worker7"])


_PASS = """
import sys
from ansible_collections.kubephase.cluster.plugins.modules import serving_csr
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
root, count = sys.argv[1], int(sys.argv[2])
policy = {f"n{i}": {"ip_addresses": [f"10.1.{i // 250}.{i % 250 + 1}"]} for i in range(count)}
phase, world = serving_csr.make(root)
own = {"localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}}
documents = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}, "InitConfiguration": own}
done = execute(phase, world, documents, {"policy": policy})
print(len(done.facts["approved"]))
"""


def test_five_hundred_at_once(server: ApiServer) -> None:
    count = 500
    # One user files them all, each as a node of its own; how long it takes is the benchmark's business.
    admin = SigningApi(Files(str(server.root)), kubeconfig=SUPER_ADMIN)
    path = admin._path(key_of(""))
    for index in range(count):
        pem = csr(f"system:node:n{index}", dns=[f"n{index}"], ips=[f"10.1.{index // 250}.{index % 250 + 1}"])
        spec = {"request": base64.b64encode(pem).decode(), "signerName": SIGNER, "usages": list(USAGES)}
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": f"csr-{index}"}, "spec": spec}
        _as_node(admin, f"n{index}", str(path), body)
    told = subprocess.run([sys.executable, "-c", _PASS, str(server.root), str(count)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) == count


def _as_node(admin: SigningApi, node: str, path: str, body: Any) -> None:
    """File a request as a node, by impersonation over the connection that is open."""
    connection: http.client.HTTPSConnection = admin._transport._connection  # type: ignore[union-attr]
    headers = {"Content-Type": "application/json", "Impersonate-User": f"system:node:{node}", "Impersonate-Group": "system:nodes"}
    connection.request("POST", path, json.dumps(body), headers)
    reply = connection.getresponse()
    said = reply.read()
    assert reply.status == 201, said
