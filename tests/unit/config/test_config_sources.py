# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files and variables become one set of v1beta4 documents."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments, resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Canonical, Source, canonical
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read

V3 = "apiVersion: kubeadm.k8s.io/v1beta3\n"
V4 = "apiVersion: kubeadm.k8s.io/v1beta4\n"
CLUSTER = "kind: ClusterConfiguration\n"
JOIN = "kind: JoinConfiguration\n"


def variable(kind: str, data: Any) -> Source:
    return Source(f"kubephase_{kind}", kind, data)


def from_file(text: str, *variables: Source) -> Canonical:
    return canonical([*read(text, "kubeadm.yaml"), *variables])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            V3 + CLUSTER + "apiServer: {extraArgs: {b: '2', a: '1'}}",
            {"apiServer": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}},
        ),
        (
            V4 + CLUSTER + "apiServer: {extraArgs: [{name: b, value: '2'}, {name: a}]}",
            {"apiServer": {"extraArgs": [{"name": "b", "value": "2"}, {"name": "a"}]}},
        ),
        (CLUSTER + "scheduler: {extraArgs: {v: '4'}}", {"scheduler": {"extraArgs": [{"name": "v", "value": "4"}]}}),
        (CLUSTER + "scheduler: {extraArgs: [{name: v, value: '4'}]}", {"scheduler": {"extraArgs": [{"name": "v", "value": "4"}]}}),
        (V3 + CLUSTER + "etcd: {local: {extraArgs: {v: '4'}}}", {"etcd": {"local": {"extraArgs": [{"name": "v", "value": "4"}]}}}),
        (V3 + CLUSTER + "apiServer: {timeoutForControlPlane: 4m0s}", {"apiServer": {}}),
        (V4 + CLUSTER + "networking: {podSubnet: null}\nproxy:", {"networking": {}}),
    ],
)
def test_cluster_configuration(text: str, expected: dict[str, Any]) -> None:
    found = from_file(text)
    assert found.documents == {"ClusterConfiguration": expected}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ("", {"InitConfiguration": {"timeouts": {"controlPlaneComponentHealthCheck": "10m"}}}),
        (
            "---\nkind: InitConfiguration\ntimeouts: {discovery: 1m, controlPlaneComponentHealthCheck: 2m}",
            {"InitConfiguration": {"timeouts": {"discovery": "1m", "controlPlaneComponentHealthCheck": "2m"}}},
        ),
        ("---\nkind: JoinConfiguration", {"JoinConfiguration": {"timeouts": {"controlPlaneComponentHealthCheck": "10m"}}}),
    ],
)
def test_timeout_of_a_v1beta3_cluster(others: str, expected: dict[str, Any]) -> None:
    found = from_file(V3 + CLUSTER + "apiServer: {timeoutForControlPlane: 10m}\n" + others)
    assert found.documents == {"ClusterConfiguration": {"apiServer": {}}, **expected}


@pytest.mark.parametrize(
    ("version", "heeded"),
    [("1.29.15", True), ("1.30.5", False), ("1.32.8", False), ("1.32.9", True), ("1.34.0", False), ("1.34.1", True), ("1.37.1", True)],
)
def test_a_timeout_that_the_release_forgets(version: str, heeded: bool) -> None:
    """Some patches of kubeadm read it without effect; from 1.37 on kubeadm does not read the file at all, and ours heeds it."""
    found = from_file(V3 + CLUSTER + f"kubernetesVersion: v{version}\napiServer: {{timeoutForControlPlane: 10m}}\n")
    assert ("InitConfiguration" in found.documents) is heeded
    assert any("timeoutForControlPlane" in warning and "no effect" in warning for warning in found.warnings) is not heeded


def test_timeouts_of_v1beta3_move() -> None:
    text = (
        V3
        + CLUSTER
        + "apiServer: {timeoutForControlPlane: 10m}\n---\n"
        + V3
        + JOIN
        + "discovery: {timeout: 3m}\nnodeRegistration: {kubeletExtraArgs: {v: '2'}}"
    )
    found = from_file(text)
    assert found.documents == {
        "ClusterConfiguration": {"apiServer": {}},
        "JoinConfiguration": {
            "discovery": {},
            "timeouts": {"discovery": "3m", "controlPlaneComponentHealthCheck": "10m"},
            "nodeRegistration": {"kubeletExtraArgs": [{"name": "v", "value": "2"}]},
        },
    }


@pytest.mark.parametrize(
    ("earlier", "later", "merged"),
    [
        (
            {"networking": {"podSubnet": "a", "dnsDomain": "b"}},
            {"networking": {"podSubnet": "c"}},
            {"networking": {"podSubnet": "c", "dnsDomain": "b"}},
        ),
        ({"apiServer": {"certSANs": ["a", "b"]}}, {"apiServer": {"certSANs": ["c"]}}, {"apiServer": {"certSANs": ["c"]}}),
        ({"apiServer": {"certSANs": ["a"]}}, {"apiServer": {"certSANs": None}}, {"apiServer": {"certSANs": ["a"]}}),
        ({"apiServer": {"certSANs": ["a"]}}, {"apiServer": {"certSANs": []}}, {"apiServer": {"certSANs": []}}),
        ({"featureGates": {"A": True, "B": True}}, {"featureGates": {"B": False}}, {"featureGates": {"A": True, "B": False}}),
        (
            {"scheduler": {"extraArgs": {"a": "1", "b": "2"}}},
            {"scheduler": {"extraArgs": {"b": "3"}}},
            {"scheduler": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "3"}]}},
        ),
        (
            {"scheduler": {"extraArgs": [{"name": "b", "value": "1"}, {"name": "a", "value": "2"}, {"name": "b", "value": "3"}]}},
            {"scheduler": {"extraArgs": {"b": "4"}}},
            {"scheduler": {"extraArgs": [{"name": "a", "value": "2"}, {"name": "b", "value": "4"}]}},
        ),
        (
            {"scheduler": {"extraArgs": {"a": "1"}}},
            {"scheduler": {"extraArgs": [{"name": "b", "value": "2"}]}},
            {"scheduler": {"extraArgs": [{"name": "b", "value": "2"}]}},
        ),
    ],
)
def test_later_sources_win(earlier: dict[str, Any], later: dict[str, Any], merged: dict[str, Any]) -> None:
    found = canonical([variable("ClusterConfiguration", earlier), variable("ClusterConfiguration", later)])
    assert found.documents["ClusterConfiguration"] == merged


def test_a_variable_may_write_arguments_either_way_whatever_its_version() -> None:
    data = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "scheduler": {"extraArgs": {"v": "4"}}}
    assert canonical([variable("ClusterConfiguration", data)]).documents["ClusterConfiguration"]["scheduler"]["extraArgs"] == [
        {"name": "v", "value": "4"}
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("apiVersion: kubeadm.k8s.io/v1beta2\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: kubeadm.k8s.io/v1alpha3\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: kubeadm.k8s.io/v1\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: kubeadm.k8s.io/v9\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: v1\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: [x]\n" + CLUSTER, ["ClusterConfiguration.apiVersion"]),
        ("apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration", ["KubeletConfiguration.apiVersion"]),
        ("kind: ClusterConfig", ["kind"]),
        ("kind: Pod", ["kind"]),
        ("kind: [Pod]", ["kind"]),
        ("networking: {}", ["kind"]),
        (CLUSTER + "---\n" + CLUSTER, ["ClusterConfiguration"]),
        (V3 + CLUSTER + "scheduler: {extraArgs: [{name: a, value: b}]}", ["ClusterConfiguration.scheduler.extraArgs"]),
        (V4 + CLUSTER + "scheduler: {extraArgs: {a: b}}", ["ClusterConfiguration.scheduler.extraArgs"]),
        (V3 + CLUSTER + "encryptionAlgorithm: RSA-2048", ["ClusterConfiguration.encryptionAlgorithm"]),
        (V3 + "kind: InitConfiguration\ndryRun: true", ["InitConfiguration.dryRun"]),
        (
            CLUSTER + "a: 1\nb: 2\nnetworking: {podSubnet: x}",
            ["ClusterConfiguration.a", "ClusterConfiguration.b", "ClusterConfiguration.networking.podSubnet"],
        ),
        (
            CLUSTER + "apiServer: {certSANs: [1, a_b]}\n---\n" + JOIN + "caCertPath: x",
            ["ClusterConfiguration.apiServer.certSANs[0]", "JoinConfiguration.caCertPath"],
        ),
    ],
)
def test_every_problem_at_once_with_its_source(text: str, places: list[str]) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        from_file(text)
    assert [problem.where for problem in caught.value.problems] == [f"kubeadm.yaml: {place}" for place in places]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (CLUSTER + "networking: {podSubent: x}", "Did you mean podSubnet?"),
        (CLUSTER + "Networking: {}", "Did you mean networking?"),
        (CLUSTER + "zzz: 1", "Known fields: etcd, networking,"),
        ("kind: ClusterConfig", "Did you mean ClusterConfiguration?"),
        ("apiVersion: kubeadm.k8s.io/v1beta2\n" + CLUSTER, "kubeadm config migrate"),
        ("apiVersion: kubeadm.k8s.io/v1\n" + CLUSTER, "experimental"),
        (CLUSTER + "apiServer: {timeoutForControlPlane: 4m}", "timeouts.controlPlaneComponentHealthCheck"),
        (JOIN + "discovery: {timeout: 4m}", "timeouts.discovery"),
        (CLUSTER + "certificateValidityPeriod: 9999999h", "This is more than 292 years."),
        (CLUSTER + "kubernetesVersion: 1.30", "Put the value in quotes."),
        (CLUSTER + "dns: {disabled: 'true'}", "Leave the quotes away."),
    ],
)
def test_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        from_file(text)
    assert hint in caught.value.problems[0].hint


def test_documents_of_other_commands_are_ignored_with_a_warning() -> None:
    found = from_file(V4 + "kind: ResetConfiguration\nforce: true\n---\n" + V4 + "kind: UpgradeConfiguration\n---\n" + V4 + CLUSTER)
    assert found.documents == {"ClusterConfiguration": {}}
    assert [warning.partition(": this")[0] for warning in found.warnings] == [
        "kubeadm.yaml: ResetConfiguration",
        "kubeadm.yaml: UpgradeConfiguration",
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (V3 + CLUSTER + "kubernetesVersion: v1.37.1", "does not read kubeadm.k8s.io/v1beta3"),
        (V3 + CLUSTER + "kubernetesVersion: v1.31.0", "deprecated"),
        (V3 + CLUSTER + "kubernetesVersion: v1.30.5", ""),
        (V4 + CLUSTER + "kubernetesVersion: v1.30.5", "does not read kubeadm.k8s.io/v1beta4"),
        (V4 + CLUSTER + "kubernetesVersion: v1.31.0", ""),
        (V4 + CLUSTER, ""),
    ],
)
def test_api_version_against_release(text: str, part: str) -> None:
    warnings = from_file(text).warnings
    assert len(warnings) == bool(part) and part in "".join(warnings)


def test_a_problem_after_merging_names_the_source_of_the_field() -> None:
    file = CLUSTER + "networking: {podSubnet: 10.96.0.0/16, dnsDomain: x_y}\n"
    found = from_file(file, variable("ClusterConfiguration", {"networking": {"podSubnet": "bad"}}))
    with pytest.raises(InvalidDocuments) as caught:
        resolve(found.documents, origins=found.origins)
    assert sorted(problem.where for problem in caught.value.problems) == [
        "kubeadm.yaml: ClusterConfiguration.networking.dnsDomain",
        "kubephase_ClusterConfiguration: ClusterConfiguration.networking.podSubnet",
    ]


@pytest.mark.parametrize("data", [None, "text", 7, ["x"], True])
def test_a_variable_that_is_no_mapping(data: Any) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        canonical([variable("InitConfiguration", data)])
    assert caught.value.problems[0].where == "kubephase_InitConfiguration: InitConfiguration"


def test_a_variable_of_another_kind() -> None:
    with pytest.raises(InvalidDocuments) as caught:
        canonical([variable("InitConfiguration", {"kind": "JoinConfiguration"})])
    assert caught.value.problems[0].where == "kubephase_InitConfiguration: InitConfiguration.kind"
