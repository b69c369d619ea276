# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How it stands with serving certificates on one host: what is told, what is a trace, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import KubeletPlace, Serving
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.state import ServingState

CA = "etc/kubernetes/pki/ca.crt"
API_SERVER = "etc/kubernetes/manifests/kube-apiserver.yaml"
STORED = "var/lib/kubelet/pki/kubelet-server-current.pem"
SETTINGS = "etc/kubernetes/kubephase-serving-policy.json"
ROTATION = "etc/systemd/system/kubephase-serving-rotation.timer"


@dataclass(frozen=True)
class Addressed(Host):
    """A host with more than one address."""

    def addresses(self) -> tuple[str, ...]:
        return ("192.0.2.10", "198.51.100.10", "10.244.0.1", "2001:db8::10")


@dataclass
class Ports:
    """A kubelet that shows what it is told to."""

    problem: str = ""
    asked: list[KubeletPlace] = field(default_factory=list)

    def look(self, places: Sequence[KubeletPlace], authority: bytes) -> tuple[Serving, ...]:
        self.asked += places
        return tuple(Serving(each.node, each.address, self.problem) for each in places)


@dataclass(frozen=True)
class Api:
    """An API server with open requests and one Node, or one that is away."""

    requests_open: int = 0
    address: str = ""
    away: bool = False

    def requests(self, signer: str, wanted: Any) -> tuple[dict[str, Any], ...]:
        if self.away:
            raise Unusable("API server", "it does not answer", "start it")
        found = [{"spec": {"signerName": signer}} for _each in range(self.requests_open)]
        return tuple(each for each in [*found, {"spec": {"signerName": "other"}}] if wanted(each))

    def admitted(self) -> bool:
        return bool(self.address)

    def get(self, key: Any) -> dict[str, Any]:
        return {"status": {"addresses": [{"type": "Hostname", "address": "cp1"}, {"type": "InternalIP", "address": self.address}]}}


def look(
    root: Path,
    mode: str = "kubelet",
    becomes: str = "init",
    ports: Ports | None = None,
    api: Api | None = None,
    cluster: Mapping[str, Any] | None = None,
    kubelet: Mapping[str, Any] | None = None,
) -> Any:
    documents = {
        "ClusterConfiguration": {"kubernetesVersion": "v1.37.1", "networking": {"podSubnet": "10.244.0.0/16"}, **(cluster or {})},
        "KubeletConfiguration": dict(kubelet or {}),
    }
    found = api or Api()
    world = World(files=Files(str(root)), host=Addressed(), ports=ports or Ports(), signing=found, node_api=found)
    return execute(ServingState(), world, documents, {"serving_certificates": mode, "becomes": becomes}).facts["serving"]


def put(root: Path, *paths: str, content: str = "") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def test_without_the_feature_nothing_is_asked(tmp_path: Path) -> None:
    ports = Ports()
    assert look(tmp_path, "self-signed", ports=ports) == {"node": "cp1", "traces": []}
    assert ports.asked == []


@pytest.mark.parametrize(
    ("mode", "kubelet", "traces"),
    [
        ("self-signed", {}, [SETTINGS, ROTATION, STORED]),
        # Then they are those of a kubelet that asks by itself, because the user wants it so.
        ("self-signed", {"serverTLSBootstrap": True}, [SETTINGS, ROTATION]),
        ("kubelet", {"serverTLSBootstrap": True}, [ROTATION]),
        ("collection", {}, []),
    ],
)
def test_what_is_left_of_another_choice_is_a_trace(tmp_path: Path, mode: str, kubelet: dict[str, Any], traces: list[str]) -> None:
    put(tmp_path, SETTINGS, ROTATION, STORED, "var/lib/kubelet/pki/kubelet-client-current.pem")
    assert look(tmp_path, mode, kubelet=kubelet)["traces"] == [f"/{path}" for path in traces]


def test_a_virgin_host_is_told_of_as_one_to_be_served(tmp_path: Path) -> None:
    facts = look(tmp_path)
    assert (facts["served"], facts["verifying"], facts["open_requests"], facts["policy"]) == (False, False, None, {})
    assert facts["addresses"] == ["192.0.2.10", "198.51.100.10", "2001:db8::10"]


@pytest.mark.parametrize(("problem", "served"), [("", True), ("its certificate is not to be trusted", False)])
def test_what_the_kubelet_shows_is_told(tmp_path: Path, problem: str, served: bool) -> None:
    put(tmp_path, CA, "etc/kubernetes/pki/ca.key")
    facts = look(tmp_path, ports=Ports(problem))
    assert (facts["served"], facts["problem"]) == (served, problem)


def test_the_kubelet_is_asked_where_the_api_server_would_ask_it(tmp_path: Path) -> None:
    put(tmp_path, CA, "etc/kubernetes/pki/ca.key")
    ports = Ports()
    facts = look(tmp_path, ports=ports, api=Api(address="198.51.100.10"))
    assert ports.asked == [KubeletPlace("cp1", "198.51.100.10", 10250)]
    assert facts["addresses"] == ["198.51.100.10", "192.0.2.10", "2001:db8::10"]


def test_an_address_that_only_the_node_tells_of_is_not_believed(tmp_path: Path) -> None:
    assert "203.0.113.9" not in look(tmp_path, api=Api(address="203.0.113.9"))["addresses"]


@pytest.mark.parametrize(
    ("becomes", "api", "count"),
    [("init", Api(2), 2), ("control_plane", Api(), 0), ("init", Api(away=True), None), ("worker", Api(2), None)],
)
def test_open_requests_are_counted_on_control_planes(tmp_path: Path, becomes: str, api: Api, count: int | None) -> None:
    put(tmp_path, "etc/kubernetes/admin.conf")
    assert look(tmp_path, becomes=becomes, api=api)["open_requests"] == count


@pytest.mark.parametrize(("flag", "verifying"), [("", False), ("--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt", True)])
def test_whether_the_api_server_verifies_is_seen(tmp_path: Path, flag: str, verifying: bool) -> None:
    put(tmp_path, API_SERVER, content=f"- kube-apiserver\n- {flag}\n")
    assert look(tmp_path)["verifying"] is verifying


@pytest.mark.parametrize(("content", "policy"), [('{"nodes": {"w1": {}}}', {"w1": {}}), ("no JSON", {}), ("[]", {}), (json.dumps({}), {})])
def test_the_policy_in_force_is_told(tmp_path: Path, content: str, policy: dict[str, Any]) -> None:
    put(tmp_path, SETTINGS, content=content)
    assert look(tmp_path)["policy"] == policy


SIGNS = {"controllerManager": {"extraArgs": [{"name": "cluster-signing-kubelet-serving-key-file", "value": "/other.key"}]}}


@pytest.mark.parametrize(
    ("mode", "becomes", "cluster", "refused"),
    [
        ("kubelet", "init", {}, True),
        ("collection", "control_plane", {}, True),
        ("self-signed", "init", {}, False),
        # A worker never has the key.
        ("kubelet", "worker", {}, False),
        ("kubelet", "init", SIGNS, False),
    ],
)
def test_an_external_authority_that_cannot_sign_is_refused(
    tmp_path: Path, mode: str, becomes: str, cluster: dict[str, Any], refused: bool
) -> None:
    put(tmp_path, CA)
    if not refused:
        look(tmp_path, mode, becomes, cluster=cluster)
        return
    with pytest.raises(Unusable, match=r"ca\.key.*nobody would sign"):
        look(tmp_path, mode, becomes, cluster=cluster)
