# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told of a host and its cluster; what cannot be read is told as such, and a secret is never."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host, StandingClock, run, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.machine import Machine
from ansible_collections.kubephase.cluster.plugins.module_utils._info.phase import PARTS, ClusterInfo
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import ContainerState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import EtcdMember, EtcdState, EtcdView
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.machine import MachineState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

NOW = datetime.now(timezone.utc).replace(microsecond=0)
CLUSTER: dict[str, Any] = {"encryptionAlgorithm": "ECDSA-P256", "kubernetesVersion": "v1.37.1", "clusterName": "staging"}
CANARY = "5ecre7ha1f0fat0k"
STARTED = NOW.timestamp() - 3600


def silent(*words: Any, **more: Any) -> Any:
    """Stands for whatever does not answer."""
    raise Unusable("somewhere", "it does not answer: connection refused", "Start it")


class FakeApi:
    """An API server with what a small cluster holds."""

    def __init__(self, objects: dict[str, list[Any]]) -> None:
        self._objects = objects
        self.asked = ""

    def talk_to(self, server: str) -> None:
        self.asked = server

    def list(self, api_version: str, kind: str, namespace: str = "", label_selector: str = "", field_selector: str = "") -> Any:
        return tuple(self._objects.get(kind, ()))

    def get(self, key: ObjectKey) -> Any:
        return next((each for each in self._objects.get(key.kind, ()) if each["metadata"]["name"] == key.name), None)


class Fake:
    """An adapter made of functions."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


def encoded(**texts: str) -> dict[str, str]:
    return {name.replace("_", "-"): base64.b64encode(text.encode()).decode() for name, text in texts.items()}


OBJECTS: dict[str, list[Any]] = {
    "Node": [
        {
            "metadata": {
                "name": "cp1",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/": "", "zone": "a"},
            },
            "spec": {
                "taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "x"}],
                "unschedulable": True,
                "podCIDRs": ["10.244.0.0/24"],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "message": "fine"}],
                "addresses": [{"type": "InternalIP", "address": "192.0.2.10"}],
                "nodeInfo": {"kubeletVersion": "v1.37.1", "osImage": "Debian"},
            },
        },
        {"metadata": {"name": "a-worker"}},
    ],
    "Pod": [{"metadata": {"name": "etcd", "annotations": {"kubeadm.kubernetes.io/etcd.advertise-client-urls": "https://192.0.2.10:2379"}}}],
    "Secret": [
        {
            "metadata": {"name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "data": encoded(token_id="abcdef", token_secret=CANARY, usage_bootstrap_signing="true", expiration="2020-01-01T00:00:00Z"),
        },
        {"metadata": {"name": "bootstrap-token-bad"}, "type": "other", "data": encoded(token_secret=CANARY)},
    ],
    "ConfigMap": [
        {
            "metadata": {"name": "kubeadm-config"},
            "data": {"ClusterConfiguration": "clusterName: staging\nkubernetesVersion: v1.37.0\nnetworking: {podSubnet: 10.9.0.0/16}\n"},
        }
    ],
    "Deployment": [
        {
            "metadata": {"name": "coredns"},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "registry.test:5000/coredns:v1.14.6@sha256:0"}]}}},
            "status": {"readyReplicas": 1},
        }
    ],
}

MEMBERS = EtcdView(
    7,
    (EtcdMember(1, "cp1", ("https://192.0.2.10:2380",), ("https://192.0.2.10:2379",)), EtcdMember(2, "cp2", learner=True)),
    {1: EtcdState("", 1, 7, 1, "3.7.0", 4096), 2: EtcdState("connection refused")},
)


def world_of(root: Path, **adapters: Any) -> World:
    container = ContainerState("id", "kube-apiserver", "running", 2, int(STARTED * 10**9), "pod")
    return World(
        **{
            "files": Files(str(root)),
            "api": FakeApi(OBJECTS),
            "etcd": Fake(look=lambda endpoints, access: MEMBERS),
            "cri": Fake(containers=lambda socket, name: (container,), version=lambda socket: "containerd 1.7.27"),
            "health": Fake(look=lambda checks: tuple(Health(each.name, each.url, True, 0) for each in checks)),
            "systemd": Fake(state=lambda name: ServiceState(name, True, True, True, STARTED, 1)),
            "machine": Fake(look=lambda: MachineState("Debian", "6.1", "x86_64", 4, 8000)),
            "clock": StandingClock(NOW),
            "host": Host(),
            **adapters,
        }
    )


def told(root: Path, becomes: str = "init", parts: tuple[str, ...] = (), **adapters: Any) -> Any:
    outcome: Outcome = execute(
        ClusterInfo(), world_of(root, **adapters), {"ClusterConfiguration": CLUSTER}, {"becomes": becomes, "parts": list(parts)}
    )
    assert not outcome.changed
    json.dumps(dict(outcome.facts))
    return outcome.facts


@pytest.fixture
def running(tmp_path: Path) -> Path:
    """A host with the files of a control plane."""
    for phase in (CertsPhase(), KubeconfigPhase(), StaticPodPhase()):
        run(phase, tmp_path, CLUSTER, {}, now=NOW)
    kubelet = tmp_path / "var/lib/kubelet/pki"
    kubelet.mkdir(parents=True)
    pem = (tmp_path / "etc/kubernetes/pki/apiserver-kubelet-client.crt").read_bytes()
    (kubelet / "kubelet-client-current.pem").write_bytes(pem + (tmp_path / "etc/kubernetes/pki/ca.key").read_bytes())
    (tmp_path / "var/lib/kubelet/config.yaml").write_text("healthzPort: 10248\n")
    return tmp_path


def test_a_control_plane_that_is_well(running: Path) -> None:
    before = snapshot(running)
    facts = told(running)
    assert snapshot(running) == before
    assert facts["unread"] == []
    assert (facts["node"], facts["role"]) == ("cp1", "control-plane")
    assert facts["host"]["runtime"] == "containerd 1.7.27"
    assert facts["kubelet"] == {"version": "v1.37.1", "active": True, "started": STARTED, "restarts": 1, "healthy": True, "found": ""}
    assert {each["name"]: (each["version"], each["healthy"], each["restarts"]) for each in facts["components"]} == {
        "etcd": ("3.7.0-0", True, 2),
        **dict.fromkeys(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), ("v1.37.1", True, 2)),
    }


def test_every_certificate_is_told(running: Path) -> None:
    found = told(running)["certificates"]
    by_path = {each["path"].removeprefix("/etc/kubernetes/"): each for each in found}
    pki = ("ca", "apiserver", "apiserver-kubelet-client", "front-proxy-ca", "front-proxy-client", "apiserver-etcd-client")
    etcd = ("ca", "server", "peer", "healthcheck-client")
    kubeconfigs = ("admin", "super-admin", "kubelet", "controller-manager", "scheduler")
    assert set(by_path) == {
        *(f"pki/{name}.crt" for name in pki),
        *(f"pki/etcd/{name}.crt" for name in etcd),
        *(f"{name}.conf" for name in kubeconfigs),
        "/var/lib/kubelet/pki/kubelet-client-current.pem",
    }
    server = by_path["pki/apiserver.crt"]
    assert (server["subject"], server["issuer"], server["authority"], server["days_left"]) == (
        "CN=kube-apiserver",
        "CN=kubernetes",
        False,
        365,
    )
    assert {"cp1", "kubernetes", "192.0.2.10"} <= set(server["names"])
    assert by_path["pki/ca.crt"]["authority"]
    assert {each["kind"] for each in found} == {"pki", "kubeconfig", "kubelet"}


def test_days_are_counted_down_to_the_end_and_beyond(running: Path) -> None:
    for passed, left in ((0, 365), (1, 363), (365, -1), (370, -6)):
        later = StandingClock(NOW + timedelta(days=passed, seconds=1))
        found = told(running, parts=("certificates",), clock=later)["certificates"]
        assert next(each for each in found if each["path"].endswith("/apiserver.crt"))["days_left"] == left - (passed == 0)


def test_the_cluster(running: Path) -> None:
    facts = told(running)
    assert facts["cluster"]["name"] == "staging"
    assert (facts["cluster"]["version"], facts["cluster"]["wanted_version"]) == ("v1.37.0", "v1.37.1")
    assert facts["cluster"]["pod_subnet"] == "10.9.0.0/16"
    first, second = facts["nodes"]
    assert (first["name"], first["roles"], first["ready"], first["schedulable"]) == ("cp1", ["control-plane"], True, False)
    assert first["taints"] == [{"key": "a", "value": "", "effect": "NoSchedule"}]
    assert (second["name"], second["ready"], second["conditions"]) == ("a-worker", False, [])
    assert facts["addons"] == [
        {
            "name": "coredns",
            "kind": "Deployment",
            "image": "registry.test:5000/coredns:v1.14.6@sha256:0",
            "version": "v1.14.6",
            "wanted": 2,
            "ready": 1,
        }
    ]


def test_the_members_of_etcd(running: Path) -> None:
    first, second = told(running)["etcd_members"]
    assert (first["name"], first["leader"], first["voting"], first["healthy"], first["db_size"]) == ("cp1", True, True, True, 4096)
    assert (second["leader"], second["voting"], second["healthy"], second["found"]) == (False, False, False, "connection refused")


def test_tokens_are_told_without_their_secrets(running: Path) -> None:
    facts = told(running)
    (token,) = facts["tokens"]
    assert (token["id"], token["usages"], token["expired"]) == ("abcdef", ["signing"], True)
    assert CANARY not in json.dumps(dict(facts))
    assert "PRIVATE" not in json.dumps(dict(facts))


def corrupt(root: Path) -> None:
    (root / "etc/kubernetes/pki/apiserver.crt").write_text("-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n")


def empty(root: Path) -> None:
    (root / "etc/kubernetes/pki/apiserver.crt").write_text("")


def dangling(root: Path) -> None:
    target = root / "etc/kubernetes/pki/apiserver.crt"
    target.unlink()
    target.symlink_to("gone")


def no_kubeconfig(root: Path) -> None:
    (root / "etc/kubernetes/scheduler.conf").write_text("a: [")


def no_manifest(root: Path) -> None:
    (root / "etc/kubernetes/manifests/kube-scheduler.yaml").write_text("- a\n")


@pytest.mark.parametrize(
    ("harm", "part", "reason"),
    [
        (corrupt, "certificates", "its PEM certificate is corrupt"),
        (empty, "certificates", "it holds no PEM certificate"),
        (dangling, "certificates", "it is a link that leads nowhere"),
        (no_kubeconfig, "certificates", "it is not valid YAML"),
        (no_manifest, "components", "it is not a manifest"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_the_rest_as_well(running: Path, harm: Any, part: str, reason: str) -> None:
    harm(running)
    facts = told(running)
    assert [(each["part"], each["reason"]) for each in facts["unread"]] == [(part, reason)]
    assert len(facts["certificates"]) >= 15
    assert len(facts["components"]) == 4


def test_who_does_not_answer_is_told_and_the_rest_as_well(running: Path) -> None:
    api = Fake(talk_to=lambda server: None, list=silent, get=silent)
    ill = Fake(look=lambda checks: tuple(Health(each.name, each.url, False, 0, "connection refused") for each in checks))
    cri = Fake(containers=silent, version=silent)
    facts = told(running, api=api, etcd=Fake(look=silent), cri=cri, health=ill, systemd=Fake(state=silent))
    assert {each["part"] for each in facts["unread"]} == {
        "host",
        "kubelet",
        "components",
        "etcd",
        "kubeadm-config",
        "nodes",
        "tokens",
        "addons",
    }
    assert (facts["nodes"], facts["tokens"], facts["etcd_members"]) == ([], [], [])
    assert facts["cluster"]["name"] == "staging"
    assert {each["name"]: each["found"] for each in facts["components"]} == {
        "etcd": "no container of it is known",
        **dict.fromkeys(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), "connection refused"),
    }
    assert facts["kubelet"]["found"] == "it does not run"


def test_a_worker_tells_of_itself_only(running: Path) -> None:
    (running / "etc/kubernetes/admin.conf").unlink()
    facts = told(running, becomes="worker", api=Fake(list=silent, get=silent), etcd=Fake(look=silent))
    assert facts["role"] == "worker"
    assert (facts["components"], facts["etcd_members"], facts["unread"]) == ([], [], [])
    assert "nodes" not in facts


def test_without_the_library_certificates_are_left_out(running: Path) -> None:
    facts = told(running, machine=Fake(look=lambda: MachineState(reads_certificates=False)))
    assert facts["certificates"] == []
    assert "cryptography is not installed" in facts["unread"][0]["reason"]


def test_a_virgin_host_has_nothing_to_tell_and_nothing_to_complain_of(tmp_path: Path) -> None:
    gone = Fake(state=lambda name: ServiceState(name, False, False, False))
    facts = told(tmp_path, systemd=gone, api=Fake(list=silent), etcd=Fake(look=silent))
    assert (facts["certificates"], facts["components"], facts["etcd_members"], facts["unread"]) == ([], [], [], [])
    assert facts["kubelet"]["found"] == "it is not installed"


@pytest.mark.parametrize("part", PARTS)
def test_one_part_alone(running: Path, part: str) -> None:
    expected = {"host": {"host", "kubelet"}, "etcd": {"etcd_members"}, "cluster": {"cluster", "nodes", "tokens", "addons"}}
    assert set(told(running, parts=(part,))) == {"node", "role", "unread", *expected.get(part, {part})}


def test_the_machine(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "proc").mkdir()
    (tmp_path / "etc/os-release").write_text('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    (tmp_path / "proc/meminfo").write_text("MemTotal:        2048000 kB\nMemFree: 1 kB\n")
    found = Machine(str(tmp_path)).look()
    assert (found.system, found.memory_mb, found.reads_certificates) == ("Debian GNU/Linux 12 (bookworm)", 2000, True)
    assert Machine(str(tmp_path / "none")).look().system == ""
