# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must not change under a running cluster, and what a host is to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host, run

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._guard.immutable import GuardPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._guard.state import HostState
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import running_version
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute, settle
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

CLUSTER: dict[str, Any] = {"encryptionAlgorithm": "ECDSA-P256", "networking": {"podSubnet": "10.244.0.0/16"}}


@pytest.fixture
def running(tmp_path: Path) -> Path:
    """A host with the files of a control plane."""
    for phase in (CertsPhase(), KubeconfigPhase(), StaticPodPhase()):
        run(phase, tmp_path, CLUSTER, {})
    (tmp_path / "var/lib/kubelet").mkdir(parents=True)
    (tmp_path / "var/lib/kubelet/config.yaml").write_text("clusterDomain: cluster.local\n")
    return tmp_path


def test_the_same_documents_pass_and_a_virgin_host_does(running: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert run(GuardPhase(), running, CLUSTER, {}).plan.changes == ()
    assert run(GuardPhase(), tmp_path_factory.mktemp("virgin"), {"clusterName": "x"}, {}).plan.changes == ()


def test_a_member_that_is_yet_to_come_is_a_local_one(running: Path) -> None:
    (running / "etc/kubernetes/manifests/etcd.yaml").unlink()
    assert run(GuardPhase(), running, CLUSTER, {}).plan.changes == ()
    with pytest.raises(ManyUnusable, match="runs with local, the documents ask for external"):
        run(GuardPhase(), running, {**CLUSTER, "etcd": EXTERNAL}, {})


EXTERNAL = {"external": {"endpoints": ["https://192.0.2.9:2379"], "caFile": "/e/ca", "certFile": "/e/crt", "keyFile": "/e/key"}}


@pytest.mark.parametrize(
    ("changed", "where", "was"),
    [
        ({"kubernetesVersion": "v1.36.4"}, "ClusterConfiguration.kubernetesVersion", "v1.37.1"),
        ({"networking": {"podSubnet": "10.60.0.0/16"}}, "ClusterConfiguration.networking.podSubnet", "10.244.0.0/16"),
        ({"networking": {"serviceSubnet": "10.112.0.0/16"}}, "ClusterConfiguration.networking.serviceSubnet", "10.96.0.0/12"),
        ({"networking": {"dnsDomain": "other.test"}}, "ClusterConfiguration.networking.dnsDomain", "cluster.local"),
        ({"clusterName": "other"}, "ClusterConfiguration.clusterName", "kubernetes"),
        ({"certificatesDir": "/other/pki"}, "ClusterConfiguration.certificatesDir", "/etc/kubernetes/pki"),
        ({"etcd": {"local": {"dataDir": "/other/etcd"}}}, "ClusterConfiguration.etcd.local.dataDir", "/var/lib/etcd"),
        ({"etcd": EXTERNAL}, "ClusterConfiguration.etcd", "local"),
    ],
)
def test_what_must_not_change_is_refused_by_name(running: Path, changed: dict[str, Any], where: str, was: str) -> None:
    with pytest.raises(ManyUnusable) as refused:
        run(GuardPhase(), running, {"kubernetesVersion": "v1.37.1", **CLUSTER, **changed}, {})
    assert [finding.where for finding in refused.value.findings] == [where]
    assert f"runs with {was}," in str(refused.value)


@pytest.mark.parametrize(
    ("host", "where"),
    [
        (Host(name="other"), "InitConfiguration.nodeRegistration.name"),
        (Host(address="192.0.2.99"), "InitConfiguration.localAPIEndpoint.advertiseAddress"),
    ],
)
def test_the_host_must_stay_who_it_is(running: Path, host: Host, where: str) -> None:
    with pytest.raises(ManyUnusable) as refused:
        run(GuardPhase(), running, CLUSTER, {}, host=host)
    assert [finding.where for finding in refused.value.findings] == [where]


@pytest.mark.parametrize(
    "changed",
    [
        {"apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}], "certSANs": ["api.example.test"]}},
        {"apiServer": {"extraArgs": [{"name": "advertise-address", "value": "192.0.2.77"}]}},
        {"controlPlaneEndpoint": "api.example.test:6443"},
        {"dns": {"imageTag": "v1.14.5"}},
    ],
)
def test_everything_else_may_change(running: Path, changed: dict[str, Any]) -> None:
    run(GuardPhase(), running, {**CLUSTER, **changed}, {})


def test_a_broken_manifest_is_left_to_its_own_phase(running: Path) -> None:
    (running / "etc/kubernetes/manifests/kube-apiserver.yaml").write_text("{broken")
    run(GuardPhase(), running, CLUSTER, {})


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("    image: registry.k8s.io/kube-apiserver:v1.36.4\n", "v1.36.4"),
        ("    image: mirror.test:5000/k8s/kube-apiserver:v1.28.15_custom.1\n", "v1.28.15+custom.1"),
        ("    image: registry.k8s.io/kube-apiserver@sha256:00\n", ""),
        ("", ""),
    ],
)
def test_the_running_version_is_read_from_the_manifest(text: str, version: str) -> None:
    assert running_version(text.encode()) == version


def test_without_a_version_the_running_one_counts_before_the_kubelets(running: Path) -> None:
    world = World(files=Files(str(running)), host=Host(kubelet="v1.99.0"))
    assert settle({}, world, {}).cluster.kubernetes_version == "v1.37.1"


class Answers:
    """Health endpoints that answer as told."""

    def __init__(self, **found: str) -> None:
        self._found = found

    def look(self, checks: Any) -> tuple[Health, ...]:
        return tuple(Health(check.name, check.url, not self._found[check.name], 0.0, self._found[check.name]) for check in checks)


REFUSED = "connection refused"


@pytest.mark.parametrize(
    ("virgin", "answers", "state", "endpoint", "healthy"),
    [
        (True, {"local": REFUSED, "endpoint": REFUSED}, "virgin", False, False),
        (True, {"local": REFUSED, "endpoint": ""}, "virgin", True, False),
        (True, {"local": REFUSED, "endpoint": "it answers with status 401"}, "virgin", True, False),
        (False, {"local": "", "endpoint": ""}, "serving", True, True),
        (False, {"local": "it answers with status 401", "endpoint": ""}, "serving", True, True),
        (False, {"local": "it answers with status 500", "endpoint": REFUSED}, "serving", False, False),
        (False, {"local": "no answer in time", "endpoint": REFUSED}, "stopped", False, False),
    ],
)
def test_what_a_host_is_to_the_cluster(
    tmp_path: Path, virgin: bool, answers: dict[str, str], state: str, endpoint: bool, healthy: bool
) -> None:
    if not virgin:
        (tmp_path / "etc/kubernetes").mkdir(parents=True)
        (tmp_path / "etc/kubernetes/admin.conf").touch()
    files = Files(str(tmp_path))
    world = World(files=files, health=Answers(**answers), host=Host(), node_api=NodeApi(files))
    facts = execute(HostState(), world, {}, {}).facts
    assert (facts["state"], facts["endpoint_answers"], facts["healthy"]) == (state, endpoint, healthy)


KUBELET = "kubelet.conf"
CONTROL_PLANE_FILES = ["admin.conf", "manifests/etcd.yaml"]


@pytest.mark.parametrize(
    ("becomes", "there", "certificate", "state", "joined"),
    [
        ("worker", [], False, "virgin", False),
        ("worker", ["bootstrap-kubelet.conf"], False, "virgin", False),
        ("worker", [KUBELET, "bootstrap-kubelet.conf"], True, "joining", False),
        ("worker", [KUBELET], False, "joining", False),
        ("worker", [KUBELET], True, "joined", True),
        ("control_plane", [], False, "virgin", False),
        ("control_plane", [KUBELET], True, "virgin", False),
        ("control_plane", [KUBELET, "admin.conf"], True, "stopped", False),
        ("control_plane", [KUBELET, *CONTROL_PLANE_FILES, "bootstrap-kubelet.conf"], True, "stopped", False),
        ("control_plane", [KUBELET, *CONTROL_PLANE_FILES], False, "stopped", False),
        ("control_plane", [KUBELET, *CONTROL_PLANE_FILES], True, "stopped", True),
    ],
)
def test_who_has_joined(tmp_path: Path, becomes: str, there: list[str], certificate: bool, state: str, joined: bool) -> None:
    directory, pem = tmp_path / "etc/kubernetes", tmp_path / "var/lib/kubelet/pki/kubelet-client-current.pem"
    for path in there:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(kubeconfig() if path == KUBELET else "")
    if certificate:
        pem.parent.mkdir(parents=True)
        pem.write_text("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
    files = Files(str(tmp_path))
    world = World(files=files, health=Answers(local=REFUSED, endpoint=REFUSED), host=Host(), node_api=NodeApi(files))
    facts = execute(HostState(), world, {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}, {"becomes": becomes}).facts
    assert (facts["state"], facts["joined"]) == (state, joined)
    assert facts["certificates_missing"] is (becomes == "control_plane")


def kubeconfig() -> str:
    """A kubelet.conf that points at the certificate which the kubelet rotates."""
    pem = "/var/lib/kubelet/pki/kubelet-client-current.pem"
    return json.dumps(
        {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443", "certificate-authority-data": "Q0E="}}],
            "users": [{"name": "u", "user": {"client-certificate": pem, "client-key": pem}}],
        }
    )
