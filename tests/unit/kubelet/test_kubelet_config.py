# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeletConfiguration: kubeadm's defaults, the user's values, the zeros of each release."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from unit.kubelet.kubelet_cases import docs

from ansible_collections.kubephase.cluster.plugins.module_utils._config.component_fields import kubelet_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet import user_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.config import configuration, questions, render_config
from ansible_collections.kubephase.cluster.plugins.module_utils._release import NEWEST, OLDEST

DEFAULTS_1_37 = """\
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
"""


def at(document: dict[str, Any], path: str) -> Any:
    for name in path.split("."):
        document = document.get(name, {}) if isinstance(document, dict) else {}
    return document


def test_defaults_to_the_letter() -> None:
    assert render_config(docs()) == DEFAULTS_1_37


@pytest.mark.parametrize(
    ("version", "there", "not_there"),
    [
        ("v1.22.17", {"logging": {}}, ["containerRuntimeEndpoint", "imageMaximumGCAge", "crashLoopBackOff"]),
        ("v1.23.17", {"logging": {"flushFrequency": 0, "options": {"json": {"infoBufferSize": "0"}}, "verbosity": 0}},
         ["containerRuntimeEndpoint"]),
        ("v1.27.8", {"containerRuntimeEndpoint": ""}, ["imageMaximumGCAge"]),
        ("v1.29.15", {"imageMaximumGCAge": "0s"}, ["crashLoopBackOff"]),
        ("v1.32.5", {"crashLoopBackOff": {}}, []),
    ],
)  # fmt: skip
def test_zeros_of_releases(version: str, there: dict[str, Any], not_there: list[str]) -> None:
    found = configuration(docs(version), resolved=False)
    assert {name: found[name] for name in there} == there
    assert [name for name in not_there if name in found] == []


@pytest.mark.parametrize(
    ("given", "path", "value"),
    [
        ({"maxPods": 200}, "maxPods", 200),
        ({"maxPods": 0}, "maxPods", {}),
        ({"podPidsLimit": 0}, "podPidsLimit", 0),
        ({"syncFrequency": "90s"}, "syncFrequency", "1m30s"),
        ({"cpuCFSQuotaPeriod": "0.010s"}, "cpuCFSQuotaPeriod", "10ms"),
        ({"clusterDNS": ["169.254.20.10"]}, "clusterDNS", ["169.254.20.10"]),
        ({"clusterDNS": []}, "clusterDNS", {}),
        ({"clusterDNS": None}, "clusterDNS", ["10.96.0.10"]),
        ({"authentication": {"anonymous": {"enabled": True}}}, "authentication.webhook.enabled", True),
        ({"authentication": {"anonymous": {"enabled": True}}}, "authentication.anonymous.enabled", True),
        ({"authentication": None}, "authentication.anonymous.enabled", False),
        ({"healthzPort": 0}, "healthzPort", 0),
        ({"rotateCertificates": False}, "rotateCertificates", True),
        ({"cgroupDriver": ""}, "cgroupDriver", "systemd"),
        ({"cgroupDriver": "cgroupfs"}, "cgroupDriver", "cgroupfs"),
        ({"logging": {"verbosity": 4}}, "logging", {"verbosity": 4, "flushFrequency": 0,
         "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}}}),
        ({"logging": {"flushFrequency": "5000ms"}}, "logging.flushFrequency", "5s"),
        ({"registerWithTaints": [{"key": "a", "value": ""}]}, "registerWithTaints", [{"key": "a", "effect": ""}]),
        ({"tracing": {}}, "tracing", {}),
        ({"reservedMemory": [{"numaNode": 0, "limits": {"memory": 1024}}]}, "reservedMemory",
         [{"numaNode": 0, "limits": {"memory": "1024"}}]),
        ({"someday": 0}, "someday", 0),
        ({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}, "kind", "KubeletConfiguration"),
    ],
)  # fmt: skip
def test_the_users_fields(given: dict[str, Any], path: str, value: Any) -> None:
    assert at(configuration(docs(kubelet=given), resolved=False), path) == value


@pytest.mark.parametrize(
    ("cluster", "path", "value"),
    [
        ({"networking": {"serviceSubnet": "172.30.64.0/20"}}, "clusterDNS", ["172.30.64.10"]),
        ({"networking": {"serviceSubnet": "10.96.0.0/16,fd00:10:96::/112"}}, "clusterDNS", ["10.96.0.10"]),
        ({"networking": {"dnsDomain": "k8s.test"}}, "clusterDomain", "k8s.test"),
        ({"certificatesDir": "/srv//pki/"}, "authentication.x509.clientCAFile", "/srv/pki/ca.crt"),
    ],
)
def test_what_the_cluster_decides(cluster: dict[str, Any], path: str, value: Any) -> None:
    assert at(configuration(docs(cluster=cluster), resolved=False), path) == value


def test_the_dns_address_of_an_ipv6_cluster() -> None:
    cluster = {"networking": {"serviceSubnet": "fd00:10:96::/112"}}
    init = {"localAPIEndpoint": {"advertiseAddress": "2001:db8::10"}}
    assert configuration(docs(cluster=cluster, init=init), resolved=False)["clusterDNS"] == ["fd00:10:96::a"]


@pytest.mark.parametrize(
    ("version", "given", "resolved", "value"),
    [
        ("v1.37.1", None, True, "/run/systemd/resolve/resolv.conf"),
        ("v1.37.1", None, False, None),
        ("v1.37.1", "/etc/other", True, "/etc/other"),
        ("v1.37.1", "", True, ""),
        ("v1.23.17", "", True, ""),
        ("v1.22.17", "", True, "/run/systemd/resolve/resolv.conf"),
        ("v1.22.17", "", False, None),
    ],
)
def test_resolv_conf(version: str, given: str | None, resolved: bool, value: str | None) -> None:
    kubelet = {} if given is None else {"resolvConf": given}
    assert configuration(docs(version, kubelet=kubelet), resolved).get("resolvConf") == value


@pytest.mark.parametrize(("version", "shared"), [("v1.30.5", True), ("v1.36.4", True), ("v1.37.0", True), ("v1.37.1", False)])
def test_whether_the_cluster_sees_the_nodes_resolver(version: str, shared: bool) -> None:
    assert ("resolvConf" in yaml.safe_load(render_config(docs(version), resolved=True))) is shared


@pytest.mark.parametrize(
    ("version", "gates"), [("v1.22.17", {"CPUManager": True, "IPv6DualStack": False}), ("v1.23.17", {"CPUManager": True})]
)
def test_the_gate_that_1_22_hands_on(version: str, gates: dict[str, bool]) -> None:
    cluster = {"featureGates": {"IPv6DualStack": False}} if version < "v1.23" else {}
    found = configuration(docs(version, cluster=cluster, kubelet={"featureGates": {"CPUManager": True}}), resolved=False)
    assert found["featureGates"] == gates


def test_documents_are_not_written_into() -> None:
    given = docs(kubelet={"authentication": {"anonymous": {"enabled": True}}, "featureGates": {"A": True}})
    before = repr(given)
    configuration(given, resolved=True)
    assert repr(given) == before


def test_values_against_the_advice_are_spoken_of() -> None:
    kubelet = {"healthzPort": 10249, "readOnlyPort": 10255, "clusterDNS": [], "rotateCertificates": False, "cgroupDriver": "cgroupfs"}
    assert questions(docs(kubelet=kubelet), resolved=False) == (
        "KubeletConfiguration.clusterDNS is [], where kubeadm recommends ['10.96.0.10']: kept",
        "KubeletConfiguration.healthzPort is 10249, where kubeadm recommends 10248: kept",
        "KubeletConfiguration.readOnlyPort is 10255, where kubeadm recommends 0: kept",
        "KubeletConfiguration.rotateCertificates is False, and without effect: kubeadm always turns it on",
    )
    assert questions(docs(kubelet={"healthzPort": 10248, "maxPods": 5}), resolved=True) == ()


def test_every_field_whose_zero_counts_is_a_field() -> None:
    known = {path for minor in range(OLDEST, NEWEST + 1) for path in kubelet_fields(minor)}
    assert sorted(set(user_fields._ZERO_COUNTS.split()) - known) == []
