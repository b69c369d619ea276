# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents of a host, completed with what the host and the cluster know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import stored_config
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute, settle
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

STORED = {
    "apiVersion": "kubeadm.k8s.io/v1beta3",
    "kind": "ClusterConfiguration",
    "kubernetesVersion": "v1.28.15",
    "controlPlaneEndpoint": "api.test:6443",
    "networking": {"podSubnet": "10.1.0.0/16"},
}
KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 42}
MAPS = {"kubeadm-config": {"ClusterConfiguration": json.dumps(STORED)}, "kubelet-config": {"kubelet": json.dumps(KUBELET)}}


class Cluster:
    """An API server that knows ConfigMaps, and remembers with which file it was asked."""

    def __init__(self, maps: Mapping[str, Mapping[str, str]]) -> None:
        self._maps = maps
        self.stranger = False
        self.asked_with: list[str] = []

    def __call__(self, files: Any, kubeconfig: str) -> Cluster:
        self.asked_with.append(kubeconfig.rpartition("/")[2])
        return self

    def rejected(self) -> bool:
        return self.stranger

    def get(self, key: ObjectKey) -> dict[str, Any] | None:
        return {"data": self._maps[key.name]} if key.name in self._maps else None


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(MAPS)
    monkeypatch.setattr(stored_config, "Api", made)
    return made


def host(root: Path, *names: str) -> World:
    """A host that has these kubeconfig files."""
    directory = root / "etc/kubernetes"
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_text("{}")
    return World(files=Files(str(root)), host=Host())


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        (("bootstrap-kubelet.conf",), "bootstrap-kubelet.conf"),
        (("bootstrap-kubelet.conf", "kubelet.conf"), "kubelet.conf"),
        (("kubelet.conf", "admin.conf"), "admin.conf"),
    ],
)
def test_who_joins_takes_the_configuration_from_the_cluster(tmp_path: Path, cluster: Cluster, there: tuple[str, ...], asked: str) -> None:
    docs = settle({}, host(tmp_path, *there), {"becomes": "worker"})
    assert (docs.cluster.kubernetes_version, docs.cluster.control_plane_endpoint) == ("v1.28.15", "api.test:6443")
    assert (docs.cluster.networking.pod_subnet, docs.kubelet["maxPods"]) == ("10.1.0.0/16", 42)
    assert cluster.asked_with == [asked]


def test_documents_that_describe_the_cluster_win(tmp_path: Path, cluster: Cluster) -> None:
    given = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", "networking": {"podSubnet": "10.2.0.0/16"}}}
    docs = settle(given, host(tmp_path, "kubelet.conf"), {"becomes": "worker"})
    assert (docs.cluster.kubernetes_version, docs.cluster.networking.pod_subnet) == ("v1.37.1", "10.2.0.0/16")
    assert cluster.asked_with == [] and "maxPods" not in docs.kubelet


def test_a_version_left_open_is_that_of_the_cluster(tmp_path: Path, cluster: Cluster) -> None:
    given = {"ClusterConfiguration": {"networking": {"podSubnet": "10.2.0.0/16"}}}
    docs = settle(given, host(tmp_path, "kubelet.conf"), {"becomes": "worker"})
    assert (docs.cluster.kubernetes_version, docs.cluster.networking.pod_subnet) == ("v1.28.15", "10.2.0.0/16")


def test_a_host_without_a_way_to_the_cluster_goes_by_its_kubelet(tmp_path: Path, cluster: Cluster) -> None:
    docs = settle({}, host(tmp_path), {"becomes": "worker"})
    assert docs.cluster.kubernetes_version == "v" + Host().kubelet_version().lstrip("v")
    assert cluster.asked_with == []


def test_bootstrap_credentials_that_are_no_more_lead_nowhere(tmp_path: Path, cluster: Cluster) -> None:
    cluster.stranger = True
    docs = settle({}, host(tmp_path, "bootstrap-kubelet.conf"), {"becomes": "worker"})
    assert docs.cluster.kubernetes_version == "v" + Host().kubelet_version().lstrip("v")


def test_the_first_control_plane_asks_nobody(tmp_path: Path, cluster: Cluster) -> None:
    settle({}, host(tmp_path, "admin.conf"), {})
    assert cluster.asked_with == []


@pytest.mark.parametrize(
    ("maps", "told"),
    [
        ({}, "the cluster has no such object"),
        ({"kubeadm-config": {}}, "it has no entry ClusterConfiguration"),
        ({"kubeadm-config": {"ClusterConfiguration": "[1"}}, "is not a YAML map"),
        ({"kubeadm-config": MAPS["kubeadm-config"]}, "kubelet-config"),
    ],
)
def test_a_cluster_that_does_not_know_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maps: dict[str, dict[str, str]], told: str
) -> None:
    monkeypatch.setattr(stored_config, "Api", Cluster(maps))
    with pytest.raises(Unusable, match=told):
        settle({}, host(tmp_path, "kubelet.conf"), {"becomes": "worker"})


class Clocked:
    """An adapter that is told how long it may try."""

    seconds = 0.0

    def give_time(self, seconds: float) -> None:
        self.seconds = seconds


class Nothing:
    """A phase that has nothing to do."""

    name = "nothing"

    def read(self, docs: Any, world: Any, options: Mapping[str, Any]) -> None:
        return None

    def plan(self, docs: Any, seen: None, options: Mapping[str, Any]) -> Plan:
        return Plan()


@pytest.mark.parametrize(
    ("becomes", "timeouts", "seconds"),
    [
        ("init", {"init": {"kubernetesAPICall": "90s"}, "join": {"kubernetesAPICall": "5s"}}, 90),
        ("worker", {"init": {"kubernetesAPICall": "90s"}, "join": {"kubernetesAPICall": "5s"}}, 5),
        ("init", {"init": {"etcdAPICall": "90s"}}, 0),
        ("init", {}, 0),
    ],
    ids=["init", "join", "another timeout", "nothing said"],
)
def test_how_long_api_calls_are_tried_is_for_the_documents_to_say(
    tmp_path: Path, becomes: str, timeouts: dict[str, Any], seconds: float
) -> None:
    kinds = {"init": "InitConfiguration", "join": "JoinConfiguration"}
    documents: dict[str, Any] = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}
    documents |= {kinds[who]: {"timeouts": asked} for who, asked in timeouts.items()}
    adapter = Clocked()
    execute(Nothing(), World(files=Files(str(tmp_path)), host=Host(), api=adapter), documents, {"becomes": becomes})
    assert adapter.seconds == seconds
