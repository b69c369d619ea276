# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stored ClusterConfiguration: what each release writes, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.objects import HASH, kubelet_objects, signature
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.stored import render

FACTS = NodeFacts(hostname="cp1", advertise_address="192.0.2.10", cri_sockets=("unix:///var/run/containerd/containerd.sock",))


def docs(version: str = "v1.37.1", init: dict[str, Any] | None = None, kubelet: dict[str, Any] | None = None, **cluster: Any) -> Documents:
    given = {"ClusterConfiguration": {"kubernetesVersion": version, **cluster}, "InitConfiguration": init or {}}
    return resolve({**given, **({"KubeletConfiguration": kubelet} if kubelet else {})}, FACTS)


def stored(version: str = "v1.37.1", init: dict[str, Any] | None = None, **cluster: Any) -> Any:
    return yaml.safe_load(render(docs(version, init, **cluster)))


def test_defaults_of_a_new_release_to_the_letter() -> None:
    assert render(docs()) == (
        "apiServer: {}\n"
        "apiVersion: kubeadm.k8s.io/v1beta4\n"
        "caCertificateValidityPeriod: 87600h0m0s\n"
        "certificateValidityPeriod: 8760h0m0s\n"
        "certificatesDir: /etc/kubernetes/pki\n"
        "clusterName: kubernetes\n"
        "controllerManager: {}\n"
        "dns: {}\n"
        "encryptionAlgorithm: RSA-2048\n"
        "etcd:\n"
        "  local:\n"
        "    dataDir: /var/lib/etcd\n"
        "imageRepository: registry.k8s.io\n"
        "kind: ClusterConfiguration\n"
        "kubernetesVersion: v1.37.1\n"
        "networking:\n"
        "  dnsDomain: cluster.local\n"
        "  serviceSubnet: 10.96.0.0/12\n"
        "proxy: {}\n"
        "scheduler: {}\n"
    )


def test_defaults_of_an_old_release_to_the_letter() -> None:
    assert render(docs("v1.28.15")) == (
        "apiServer:\n"
        "  extraArgs:\n"
        "    authorization-mode: Node,RBAC\n"
        "  timeoutForControlPlane: 4m0s\n"
        "apiVersion: kubeadm.k8s.io/v1beta3\n"
        "certificatesDir: /etc/kubernetes/pki\n"
        "clusterName: kubernetes\n"
        "controllerManager: {}\n"
        "dns: {}\n"
        "etcd:\n"
        "  local:\n"
        "    dataDir: /var/lib/etcd\n"
        "imageRepository: registry.k8s.io\n"
        "kind: ClusterConfiguration\n"
        "kubernetesVersion: v1.28.15\n"
        "networking:\n"
        "  dnsDomain: cluster.local\n"
        "  serviceSubnet: 10.96.0.0/12\n"
        "scheduler: {}\n"
    )


@pytest.mark.parametrize(
    ("version", "api", "mode_stored", "timeout"),
    [
        ("v1.22.17", "v1beta3", True, True),
        ("v1.29.15", "v1beta3", True, True),
        ("v1.30.5", "v1beta3", False, True),
        ("v1.31.0", "v1beta4", False, False),
        ("v1.36.4", "v1beta4", False, False),
    ],
)
def test_releases_differ(version: str, api: str, mode_stored: bool, timeout: bool) -> None:
    document = stored(version)
    server = document["apiServer"]
    seen = (document["apiVersion"], "authorization-mode" in server.get("extraArgs", {}), "timeoutForControlPlane" in server)
    assert seen == (f"kubeadm.k8s.io/{api}", mode_stored, timeout)
    assert ("proxy" in document, "encryptionAlgorithm" in document) == (api == "v1beta4", api == "v1beta4")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [("RBAC", "RBAC"), ("RBAC,Unheard,Webhook", "RBAC,Webhook"), ("Unheard", "Node,RBAC")],
)
def test_the_mode_that_old_releases_store_is_that_of_the_flag(asked: str, kept: str) -> None:
    arguments = {"authorization-mode": asked, "v": "4"}
    assert stored("v1.28.15", apiServer={"extraArgs": arguments})["apiServer"]["extraArgs"] == {"authorization-mode": kept, "v": "4"}


def test_arguments_keep_their_order_and_repetitions_where_the_api_has_a_list() -> None:
    arguments = [{"name": "b", "value": "1"}, {"name": "a", "value": "2"}, {"name": "b", "value": "3"}]
    assert stored(scheduler={"extraArgs": arguments})["scheduler"]["extraArgs"] == arguments


@pytest.mark.parametrize(
    ("init", "cluster", "dns", "proxy"),
    [
        ({}, {}, {}, {}),
        ({"skipPhases": ["addon"]}, {}, {"disabled": True}, {"disabled": True}),
        ({"skipPhases": ["addon/coredns"]}, {}, {"disabled": True}, {}),
        ({"skipPhases": ["addon/kube-proxy"]}, {"dns": {"imageTag": "v1"}}, {"imageTag": "v1"}, {"disabled": True}),
        ({}, {"proxy": {"disabled": True}}, {}, {"disabled": True}),
    ],
)
def test_a_skipped_addon_is_stored_as_disabled(init: dict[str, Any], cluster: dict[str, Any], dns: Any, proxy: Any) -> None:
    document = stored("v1.37.1", init, **cluster)
    assert (document["dns"], document["proxy"]) == (dns, proxy)


def test_an_old_release_has_no_field_for_a_skipped_addon() -> None:
    document = stored("v1.28.15", {"skipPhases": ["addon"]})
    assert (document["dns"], "proxy" in document) == ({}, False)


@pytest.mark.parametrize(
    ("version", "gates", "name"),
    [
        ("v1.22.17", {}, "kubelet-config-1.22"),
        ("v1.23.17", {}, "kubelet-config-1.23"),
        ("v1.23.17", {"UnversionedKubeletConfigMap": True}, "kubelet-config"),
        ("v1.24.17", {}, "kubelet-config"),
        ("v1.24.17", {"UnversionedKubeletConfigMap": False}, "kubelet-config-1.24"),
        ("v1.37.1", {}, "kubelet-config"),
    ],
)
def test_the_name_of_the_kubelets_configuration(version: str, gates: dict[str, bool], name: str) -> None:
    config, role, binding = kubelet_objects(docs(version, featureGates=gates), resolved=False)
    assert config["metadata"]["name"] == name
    assert (role["metadata"]["name"], role["rules"][0]["resourceNames"]) == (f"kubeadm:{name}", [name])
    assert (binding["metadata"]["name"], binding["roleRef"]["name"]) == (f"kubeadm:{name}", f"kubeadm:{name}")


def test_only_what_kubeadm_made_up_is_signed() -> None:
    made_up = kubelet_objects(docs(), resolved=False)[0]
    assert made_up["metadata"]["annotations"] == {HASH: signature(made_up["data"])}
    assert "annotations" not in kubelet_objects(docs(kubelet={"maxPods": 5}), resolved=False)[0]["metadata"]


def test_the_signature_goes_by_the_order_of_keys() -> None:
    # printf %s 12 | sha256sum
    expected = "sha256:6b51d431df5d7f141cbececcf79edf3dd861c3b4069f0b11661a3eefacbba918"
    assert signature({"b": "2", "a": "1"}) == expected
