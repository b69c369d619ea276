# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeletConfiguration and KubeProxyConfiguration: types are judged, unknown fields pass with a warning."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments, resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical

K, P = "KubeletConfiguration", "KubeProxyConfiguration"


def _documents(kind: str, body: Any, version: str = "v1.37.1") -> dict[str, Any]:
    return {"ClusterConfiguration": {"kubernetesVersion": version}, kind: body}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (K, {}),
        (K, {"cgroupDriver": "cgroupfs", "failSwapOn": False, "maxPods": 200, "clusterDNS": ["10.96.0.10"]}),
        (K, {"evictionHard": {"memory.available": "100Mi"}, "authentication": {"webhook": {"cacheTTL": "2m0s"}}}),
        (K, {"featureGates": {"Any": True}, "registerWithTaints": [{"key": "a", "effect": "NoSchedule"}]}),
        (K, {"logging": {"flushFrequency": 5}}),
        (K, {"logging": {"flushFrequency": "5s"}}),
        (K, {"maxPods": None, "authentication": None}),
        (P, {"mode": "ipvs", "conntrack": {"maxPerCore": 0, "min": 0}}),
        (P, {"mode": ""}),
        (P, {"mode": "nftables", "nftables": {"masqueradeAll": True}}),
    ],
)
def test_taken_as_given(kind: str, body: dict[str, Any]) -> None:
    docs = resolve(_documents(kind, body))
    assert (docs.kubelet if kind == K else docs.kube_proxy) == body
    assert docs.warnings == ()


@pytest.mark.parametrize(
    ("kind", "body", "where"),
    [
        (K, {"failSwapOn": "false"}, f"{K}.failSwapOn"),
        (K, {"maxPods": "200"}, f"{K}.maxPods"),
        (K, {"maxPods": True}, f"{K}.maxPods"),
        (K, {"clusterDNS": "10.96.0.10"}, f"{K}.clusterDNS"),
        (K, {"clusterDNS": [10]}, f"{K}.clusterDNS[0]"),
        (K, {"evictionHard": {"memory.available": 100}}, f"{K}.evictionHard.memory.available"),
        (K, {"evictionHard": []}, f"{K}.evictionHard"),
        (K, {"authentication": True}, f"{K}.authentication"),
        (K, {"authentication": {"webhook": {"cacheTTL": "2 minutes"}}}, f"{K}.authentication.webhook.cacheTTL"),
        (K, {"registerWithTaints": [{"key": 1}]}, f"{K}.registerWithTaints[0].key"),
        (K, [], K),
        (K, "x", K),
        (P, {"mode": "ebpf"}, f"{P}.mode"),
        (P, {"conntrack": {"maxPerCore": "0"}}, f"{P}.conntrack.maxPerCore"),
    ],
)
def test_refused(kind: str, body: Any, where: str) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        resolve(_documents(kind, body))
    assert [problem.where for problem in caught.value.problems] == [where]


@pytest.mark.parametrize(
    ("kind", "body", "version", "where", "hint"),
    [
        (K, {"failSwapOnn": 1}, "v1.37.1", f"{K}.failSwapOnn", "did you mean failSwapOn?"),
        (K, {"authentication": {"x508": {}}}, "v1.37.1", f"{K}.authentication.x508", "did you mean x509?"),
        (K, {"crashLoopBackOff": {"maxContainerRestartPeriod": "5s"}}, "v1.31.4", f"{K}.crashLoopBackOff", "v1.31.4"),
        (P, {"brandNew": True}, "v1.37.1", f"{P}.brandNew", "passed on as it is"),
    ],
)
def test_unknown_fields_pass_with_a_warning(kind: str, body: dict[str, Any], version: str, where: str, hint: str) -> None:
    docs = resolve(_documents(kind, body, version))
    (warning,) = docs.warnings
    assert warning.startswith(f"{where}: ") and hint in warning
    assert (docs.kubelet if kind == K else docs.kube_proxy) == body


@pytest.mark.parametrize(
    ("mode", "version", "valid"),
    [
        ("nftables", "v1.28.15", False),
        ("nftables", "v1.29.0", True),
        ("userspace", "v1.25.0", True),
        ("userspace", "v1.26.0", False),
        ("iptables", "v1.22.0", True),
    ],
)
def test_proxy_modes_by_release(mode: str, version: str, valid: bool) -> None:
    places = []
    try:
        resolve(_documents(P, {"mode": mode}, version))
    except InvalidDocuments as invalid:
        places = [problem.where for problem in invalid.problems]
    assert places == ([] if valid else [f"{P}.mode"])


def test_variables_merge_deeply_and_lose_their_type() -> None:
    file = Source(
        "kubeadm.yaml",
        None,
        {"kind": K, "apiVersion": "kubelet.config.k8s.io/v1beta1", "authentication": {"anonymous": {"enabled": False}}},
    )
    variable = Source("kubephase_kubelet_configuration", K, {"authentication": {"webhook": {"enabled": True}}, "maxPods": 50})
    found = canonical([file, variable]).documents
    assert found == {K: {"authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}}, "maxPods": 50}}


def test_data_without_end_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["evictionHard"] = endless
    with pytest.raises(InvalidDocuments, match="at most 40 levels"):
        resolve(_documents(K, endless))
