# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is rendered for CoreDNS and kube-proxy, and where releases differ."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._addons import coredns, kube_proxy
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.proxy_config import render_config, warnings
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve

ADDRESS = "192.0.2.10"


def docs(version: str = "v1.37.1", proxy: dict[str, Any] | None = None, address: str = ADDRESS, **cluster: Any) -> Documents:
    given: dict[str, Any] = {"ClusterConfiguration": {"kubernetesVersion": version, **cluster}}
    if proxy is not None:
        given["KubeProxyConfiguration"] = proxy
    return resolve(given, NodeFacts("cp1", address, "", ("unix:///run/containerd/containerd.sock",)))


def pod(version: str) -> Any:
    return coredns.deployment(docs(version), 2)["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("version", "affinity", "tolerations", "drop", "probe"),
    [
        ("v1.22.17", False, ["CriticalAddonsOnly", "master", "control-plane"], "all", 8080),
        ("v1.24.17", False, ["CriticalAddonsOnly", "master", "control-plane"], "all", 8080),
        ("v1.25.0", True, ["CriticalAddonsOnly", "master", "control-plane"], "all", 8080),
        ("v1.26.0", True, ["CriticalAddonsOnly", "control-plane"], "all", 8080),
        ("v1.29.0", True, ["CriticalAddonsOnly", "control-plane"], "ALL", 8080),
        ("v1.34.0", True, ["CriticalAddonsOnly", "control-plane"], "ALL", "liveness-probe"),
        ("v1.37.1", True, ["CriticalAddonsOnly", "control-plane"], "ALL", "liveness-probe"),
    ],
)
def test_the_coredns_pod_by_release(version: str, affinity: bool, tolerations: list[str], drop: str, probe: object) -> None:
    spec = pod(version)
    container = spec["containers"][0]
    assert ("affinity" in spec) is affinity
    assert [toleration["key"].rpartition("/")[2] for toleration in spec["tolerations"]] == tolerations
    assert container["securityContext"]["capabilities"]["drop"] == [drop]
    assert container["livenessProbe"]["httpGet"]["port"] == probe
    named = [port["name"] for port in container["ports"]]
    assert ("liveness-probe" in named) is (probe == "liveness-probe")


@pytest.mark.parametrize(
    ("version", "resources"), [("v1.27.8", ["endpoints", "nodes", "endpointslices"]), ("v1.28.0", ["endpoints", "endpointslices"])]
)
def test_coredns_reads_nodes_until_1_27(version: str, resources: list[str]) -> None:
    role = coredns.access(docs(version))[0]
    assert [rule["resources"][0] for rule in role["rules"]] == resources


@pytest.mark.parametrize(
    ("node", "subnet", "address"),
    [
        (ADDRESS, "10.96.0.0/12", "10.96.0.10"),
        (ADDRESS, "10.96.0.0/12,fd00::/112", "10.96.0.10"),
        ("2001:db8::10", "fd00:10::/112,10.96.0.0/12", "fd00:10::a"),
    ],
)
def test_the_dns_service_has_the_tenth_address(node: str, subnet: str, address: str) -> None:
    assert coredns.service(docs(address=node, networking={"serviceSubnet": subnet}))["spec"]["clusterIP"] == address


@pytest.mark.parametrize(
    ("cluster", "image"),
    [
        ({}, "registry.k8s.io/coredns/coredns:v1.14.6"),
        ({"imageRepository": "example.test/k8s"}, "example.test/k8s/coredns:v1.14.6"),
        ({"dns": {"imageRepository": "dns.test", "imageTag": "v1.9.9"}}, "dns.test/coredns:v1.9.9"),
        ({"imageRepository": "example.test", "dns": {"imageRepository": "registry.k8s.io"}}, "registry.k8s.io/coredns/coredns:v1.14.6"),
    ],
)
def test_the_image_of_coredns(cluster: dict[str, Any], image: str) -> None:
    assert coredns.image(docs(**cluster)) == image


@pytest.mark.parametrize(
    ("version", "there", "missing"),
    [
        ("v1.22.17", ["udpIdleTimeout"], ["logging", "nftables", "detectLocal"]),
        ("v1.24.17", ["udpIdleTimeout", "detectLocal"], ["logging", "nftables"]),
        ("v1.26.13", ["detectLocal"], ["udpIdleTimeout", "logging", "nftables"]),
        ("v1.28.15", ["logging"], ["nftables", "udpIdleTimeout"]),
        ("v1.37.1", ["logging", "nftables"], ["udpIdleTimeout", "featureGates", "windowsRunAsService"]),
    ],
)
def test_fields_that_nobody_set_by_release(version: str, there: list[str], missing: list[str]) -> None:
    config = yaml.safe_load(render_config(docs(version)))
    assert set(there) <= set(config)
    assert not set(missing) & set(config)
    assert config["oomScoreAdj"] is None
    assert config["ipvs"]["excludeCIDRs"] is None
    assert config["configSyncPeriod"] == "0s"


@pytest.mark.parametrize(
    ("version", "proxy", "address", "expected"),
    [
        ("v1.37.1", {}, ADDRESS, {"mode": "iptables", "bindAddress": "0.0.0.0", "clusterCIDR": "10.244.0.0/16"}),
        ("v1.36.4", {}, ADDRESS, {"mode": ""}),
        ("v1.37.1", {}, "2001:db8::10", {"bindAddress": "::"}),
        ("v1.37.1", {"mode": "nftables", "bindAddress": "192.0.2.10", "clusterCIDR": "10.0.0.0/8"}, ADDRESS, {"clusterCIDR": "10.0.0.0/8"}),
        ("v1.37.1", {"configSyncPeriod": "90s", "clientConnection": {"qps": 5.0}}, ADDRESS, {"configSyncPeriod": "1m30s"}),
        ("v1.37.1", {"featureGates": {"X": True}, "windowsRunAsService": False}, ADDRESS, {"featureGates": {"X": True}}),
        ("v1.37.1", {"somethingNew": {"a": 1}}, ADDRESS, {"somethingNew": {"a": 1}}),
    ],
)
def test_the_configuration_of_kube_proxy(version: str, proxy: dict[str, Any], address: str, expected: dict[str, Any]) -> None:
    subnet = "10.244.0.0/16" if address == ADDRESS else "fd00:1::/56"
    service = "10.96.0.0/12" if address == ADDRESS else "fd00:2::/112"
    settled = docs(version, proxy, address, networking={"podSubnet": subnet, "serviceSubnet": service})
    config = yaml.safe_load(render_config(settled))
    assert {name: config.get(name) for name in expected} == expected
    assert config["clientConnection"]["kubeconfig"] == "/var/lib/kube-proxy/kubeconfig.conf"
    assert config["kind"] == "KubeProxyConfiguration"


def test_the_dual_stack_gate_reaches_kube_proxy_while_1_22_asks_it() -> None:
    gated: dict[str, Any] = {"featureGates": {"IPv6DualStack": False}}
    assert yaml.safe_load(render_config(docs("v1.22.17", **gated)))["featureGates"] == {"IPv6DualStack": False}
    assert "featureGates" not in yaml.safe_load(render_config(docs("v1.23.17", **gated)))


def test_the_hash_tells_a_configuration_that_nobody_supplied() -> None:
    made = kube_proxy.config_map(docs())
    content = made["data"]["config.conf"] + made["data"]["kubeconfig.conf"]
    expected = "sha256:" + hashlib.sha256(content.encode()).hexdigest()
    assert made["metadata"]["annotations"] == {"kubeadm.kubernetes.io/component-config.hash": expected}
    assert "annotations" not in kube_proxy.config_map(docs(proxy={"mode": "nftables"}))["metadata"]


def test_kube_proxy_reaches_the_cluster_by_its_endpoint() -> None:
    config = kube_proxy.config_map(docs(controlPlaneEndpoint="api.example.test"))["data"]["kubeconfig.conf"]
    assert yaml.safe_load(config)["clusters"][0]["cluster"]["server"] == "https://api.example.test:6443"


def test_proxy_variables_come_after_those_of_the_add_on() -> None:
    manifest = kube_proxy.daemon_set(docs())
    made = kube_proxy.with_proxy_env(manifest, {"no_proxy": "10.0.0.0/8", "HTTPS_PROXY": "http://proxy.test:3128", "HTTP_PROXY": ""})
    env = made["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [variable["name"] for variable in env] == ["NODE_NAME", "HTTPS_PROXY", "no_proxy"]
    assert len(manifest["spec"]["template"]["spec"]["containers"][0]["env"]) == 1
    assert kube_proxy.with_proxy_env(manifest, {}) == manifest


@pytest.mark.parametrize(
    ("version", "proxy", "found"),
    [
        ("v1.37.1", {"bindAddress": "0.0.0.0"}, []),
        ("v1.37.1", {"bindAddress": "::"}, []),
        ("v1.36.4", {"bindAddress": "::"}, ["bindAddress is ::; 0.0.0.0 is recommended"]),
        ("v1.37.1", {"bindAddress": "192.0.2.1"}, ["bindAddress is 192.0.2.1; 0.0.0.0 or :: is recommended"]),
        ("v1.37.1", {"clusterCIDR": "10.1.0.0/16"}, ["clusterCIDR is 10.1.0.0/16, but networking.podSubnet is 10.244.0.0/16"]),
        ("v1.37.1", {"mode": "ipvs"}, ["mode ipvs is deprecated"]),
        ("v1.28.15", {"mode": "ipvs"}, []),
        ("v1.37.1", {"clientConnection": {"kubeconfig": "/x"}}, ["clientConnection.kubeconfig is /x"]),
    ],
)
def test_what_kubeadm_does_not_recommend_is_warned_of(version: str, proxy: dict[str, Any], found: list[str]) -> None:
    told = warnings(docs(version, proxy, networking={"podSubnet": "10.244.0.0/16"}))
    assert len(told) == len(found)
    assert all(text in line for text, line in zip(found, told))
