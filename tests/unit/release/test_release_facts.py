# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of release facts against what the releases' own sources say, on both sides of every gate."""

from __future__ import annotations

import re
from typing import Any

import pytest
from unit.release.expected import EXPECTED
from unit.release.observed import OBSERVED

from ansible_collections.kubephase.cluster.plugins.module_utils._release import (
    NEWEST,
    OLDEST,
    PreflightCheck,
    Release,
    Version,
    gate_is_on,
    release_for,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Row

# The last patch release of each minor whose sources were read.
LAST_PATCH = dict(zip(range(22, 38), (17, 17, 17, 16, 15, 16, 15, 15, 14, 14, 13, 13, 10, 8, 5, 1)))
RELEASES = [Version(1, minor, patch) for minor, last in LAST_PATCH.items() for patch in range(last + 1)]

ROWS: dict[str, Row[Any]] = {
    name: row for topic in Release.__mro__ for name, row in vars(topic).items() if isinstance(row, Row) and not name.startswith("_")
}
# Facts made of many parts, each of which has tests of its own below.
COMPOSED = {"deprecated_gates", "gates", "kernel_releases", "kubelet_zero_values", "preflight_checks", "timeouts"}


def _executables(release: Release) -> set[tuple[str, str]]:
    prefix = "FileExisting-"
    return {(check.name[len(prefix) :], check.severity) for check in release.preflight_checks if check.name.startswith(prefix)}


def _fact(release: Release, name: str) -> Any:
    return _executables(release) if name == "preflight_executables" else getattr(release, name)


@pytest.mark.parametrize("name", OBSERVED)
def test_a_fact_is_what_the_sources_say(name: str) -> None:
    seen = 0
    for first, last, value in OBSERVED[name]:
        expected = set(value) if name == "preflight_executables" else value
        for version in RELEASES:
            if Version.parse(first) <= version <= Version.parse(last):
                assert _fact(release_for(version), name) == expected, str(version)
                seen += 1
    assert seen >= 199


@pytest.mark.parametrize(("name", "version", "value"), [(name, *case) for name, cases in EXPECTED.items() for case in cases])
def test_a_fact_changes_where_it_should(name: str, version: str, value: Any) -> None:
    assert getattr(release_for(version), name) == value


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(OBSERVED) - COMPOSED))
def test_both_sides_of_every_boundary_are_expected(name: str) -> None:
    versions = [Version.parse(version) for version, _ in EXPECTED.get(name, ())]
    for boundary in ROWS[name].boundaries():
        assert boundary in versions, f"nothing expects {name} in {boundary}"
        before = [version for version in versions if version < boundary]
        closest = max(before, default=Version(0, 0, 0))
        wanted = boundary._replace(patch=boundary.patch - 1) if boundary.patch else (1, boundary.minor - 1)
        assert closest[: len(wanted)] == wanted, f"nothing expects {name} just before {boundary}"


@pytest.mark.parametrize("minor", range(OLDEST, NEWEST + 1))
def test_every_minor_resolves(minor: int) -> None:
    for patch in (0, 99):
        release = release_for(Version(1, minor, patch))
        for name in ROWS:
            getattr(release, name)


def test_no_fact_is_tabled_twice() -> None:
    names = [name for topic in Release.__mro__ for name, row in vars(topic).items() if isinstance(row, Row)]
    assert len(names) == len(set(names)) > 120


def test_boundaries_lie_in_the_covered_range() -> None:
    outside = {
        (name, str(boundary)) for name, row in ROWS.items() for boundary in row.boundaries() if not OLDEST <= boundary.minor <= NEWEST
    }
    assert outside == set()


@pytest.mark.parametrize(
    ("version", "gate", "documents", "on"),
    [
        ("1.30.14", "ControlPlaneKubeletLocalMode", {}, False),
        ("1.32.13", "ControlPlaneKubeletLocalMode", {}, False),
        ("1.32.13", "ControlPlaneKubeletLocalMode", {"ControlPlaneKubeletLocalMode": True}, True),
        ("1.33.0", "ControlPlaneKubeletLocalMode", {}, True),
        ("1.34.10", "ControlPlaneKubeletLocalMode", {"ControlPlaneKubeletLocalMode": False}, False),
        ("1.35.0", "ControlPlaneKubeletLocalMode", {"ControlPlaneKubeletLocalMode": False}, True),
        ("1.36.0", "ControlPlaneKubeletLocalMode", {}, True),
        ("1.28.15", "EtcdLearnerMode", {}, False),
        ("1.29.0", "EtcdLearnerMode", {}, True),
        ("1.32.0", "EtcdLearnerMode", {"EtcdLearnerMode": False}, False),
        ("1.33.0", "EtcdLearnerMode", {"EtcdLearnerMode": False}, True),
        ("1.22.17", "IPv6DualStack", {"IPv6DualStack": False}, False),
        ("1.23.0", "IPv6DualStack", {"IPv6DualStack": False}, True),
        ("1.33.13", "NodeLocalCRISocket", {}, False),
        ("1.34.0", "NodeLocalCRISocket", {}, True),
        ("1.36.4", "NodeLocalCRISocket", {"NodeLocalCRISocket": False}, False),
        ("1.37.0", "NodeLocalCRISocket", {"NodeLocalCRISocket": False}, True),
        ("1.36.4", "PublicKeysECDSA", {"PublicKeysECDSA": True}, True),
        ("1.37.0", "PublicKeysECDSA", {"PublicKeysECDSA": True}, False),
        ("1.37.1", "RootlessControlPlane", {"RootlessControlPlane": True}, True),
        ("1.23.17", "UnversionedKubeletConfigMap", {}, False),
        ("1.24.0", "UnversionedKubeletConfigMap", {"UnversionedKubeletConfigMap": False}, False),
        ("1.25.0", "UnversionedKubeletConfigMap", {"UnversionedKubeletConfigMap": False}, True),
        ("1.33.0", "WaitForAllControlPlaneComponents", {"WaitForAllControlPlaneComponents": False}, False),
        ("1.34.0", "WaitForAllControlPlaneComponents", {"WaitForAllControlPlaneComponents": False}, True),
    ],
)
def test_a_gate_is_decided_as_kubeadm_does(version: str, gate: str, documents: dict[str, bool], on: bool) -> None:
    assert gate_is_on(release_for(version).gates, gate, documents) is on


@pytest.mark.parametrize(
    ("version", "locked"),
    [
        ("1.22.17", set()),
        ("1.23.0", {"IPv6DualStack"}),
        ("1.24.17", set()),
        ("1.25.0", {"UnversionedKubeletConfigMap"}),
        ("1.31.14", set()),
        ("1.32.0", {"EtcdLearnerMode"}),
        ("1.33.13", set()),
        ("1.34.0", {"WaitForAllControlPlaneComponents"}),
        ("1.35.0", {"ControlPlaneKubeletLocalMode"}),
        ("1.36.0", {"NodeLocalCRISocket"}),
        ("1.37.0", set()),
    ],
)
def test_locked_gates_are_named(version: str, locked: set[str]) -> None:
    gates = release_for(version).gates
    assert {name for name, state in gates.items() if state.known and state.locked} == locked


@pytest.mark.parametrize(
    ("version", "deprecated"),
    [
        ("1.27.16", set()),
        ("1.28.0", {"UpgradeAddonsBeforeControlPlane"}),
        ("1.29.0", {"PublicKeysECDSA", "UpgradeAddonsBeforeControlPlane"}),
        ("1.31.0", {"PublicKeysECDSA", "RootlessControlPlane"}),
        ("1.36.5", {"PublicKeysECDSA", "RootlessControlPlane"}),
        ("1.37.0", {"RootlessControlPlane"}),
    ],
)
def test_deprecated_gates_are_named(version: str, deprecated: set[str]) -> None:
    gates = release_for(version).deprecated_gates
    assert {name for name, is_deprecated in gates.items() if is_deprecated} == deprecated


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.29.15", {"kubeletHealthCheck": 0, "kubernetesAPICall": 40, "etcdAPICall": 0, "controlPlaneComponentHealthCheck": 240}),
        ("1.30.0", {"kubeletHealthCheck": 240, "kubernetesAPICall": 60, "etcdAPICall": 120, "discovery": 300, "tlsBootstrap": 300}),
    ],
)
def test_timeouts_have_their_defaults(version: str, expected: dict[str, int]) -> None:
    assert expected.items() <= release_for(version).timeouts.items()


@pytest.mark.parametrize(
    ("version", "there", "gone"),
    [
        ("1.22.17", {"logging": {}, "memorySwap": {}, "syncFrequency": "0s"}, {"logging.verbosity", "containerRuntimeEndpoint"}),
        ("1.23.0", {"logging.flushFrequency": 0, "logging.verbosity": 0, "logging.options.json.infoBufferSize": "0"}, {"logging"}),
        ("1.26.15", {"authorization.webhook.cacheAuthorizedTTL": "0s"}, {"containerRuntimeEndpoint"}),
        ("1.27.0", {"containerRuntimeEndpoint": ""}, {"imageMaximumGCAge"}),
        ("1.29.0", {"imageMaximumGCAge": "0s"}, {"logging.options.text.infoBufferSize"}),
        ("1.30.0", {"logging.options.text.infoBufferSize": "0"}, {"crashLoopBackOff"}),
        ("1.31.14", {}, {"crashLoopBackOff"}),
        ("1.32.0", {"crashLoopBackOff": {}}, set()),
    ],
)
def test_unset_kubelet_fields_that_are_written_all_the_same(version: str, there: dict[str, Any], gone: set[str]) -> None:
    values = release_for(version).kubelet_zero_values
    assert {path: values[path] for path in there} == there
    assert gone.isdisjoint(values)


def test_unset_kubelet_fields_can_be_filled_without_changing_the_table() -> None:
    release_for("1.37.1").kubelet_zero_values["memorySwap"]["swapBehavior"] = "LimitedSwap"
    assert release_for("1.37.1").kubelet_zero_values["memorySwap"] == {}


@pytest.mark.parametrize(
    ("version", "good", "bad"),
    [
        ("1.31.14", ["3.10.0", "4.4.0", "6.1.0"], ["3.2.1", "2.6.32"]),
        ("1.32.0", ["4.19.0", "4.20.1", "5.4.0", "6.1.0"], ["3.10.0", "4.18.0"]),
        ("1.33.13", ["4.19.0"], ["4.4.0"]),
        ("1.34.0", ["5.4.0", "5.15.9", "6.18.0", "10.0.1"], ["4.19.0", "5.8.0"]),
    ],
)
def test_kernels_that_a_release_takes(version: str, good: list[str], bad: list[str]) -> None:
    patterns = release_for(version).kernel_releases
    taken = [kernel for kernel in good + bad if any(re.match(pattern, kernel) for pattern in patterns)]
    assert taken == good


BRIDGE = "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables"
BRIDGE_6 = "FileContent--proc-sys-net-bridge-bridge-nf-call-ip6tables"
FORWARD = "FileContent--proc-sys-net-ipv4-ip_forward"


@pytest.mark.parametrize(
    ("version", "check", "there"),
    [
        ("1.26.15", PreflightCheck(BRIDGE, "error", ("init", "join")), True),
        ("1.26.15", PreflightCheck(BRIDGE, "error", ("init", "join"), only="ipv4"), False),
        ("1.27.0", PreflightCheck(BRIDGE, "error", ("init", "join")), False),
        ("1.27.0", PreflightCheck(BRIDGE, "error", ("init", "join"), only="ipv4"), True),
        ("1.26.15", PreflightCheck(FORWARD, "error", ("init", "join"), only="ipv4"), False),
        ("1.29.15", PreflightCheck(BRIDGE_6, "error", ("init", "join"), only="ipv6"), True),
        ("1.30.0", PreflightCheck(BRIDGE_6, "error", ("init", "join"), only="ipv6"), False),
        ("1.22.17", PreflightCheck("Swap", "error", ("init", "join")), True),
        ("1.23.0", PreflightCheck("Swap", "warning", ("init", "join")), True),
        ("1.22.17", PreflightCheck("DirAvailable--etc-kubernetes-manifests", "error", ("join",)), True),
        ("1.23.0", PreflightCheck("DirAvailable--etc-kubernetes-manifests", "error", ("join",)), False),
        ("1.23.17", PreflightCheck("Service-Docker", "either", ("init", "join"), only="docker"), True),
        ("1.24.0", PreflightCheck("Service-Docker", "either", ("init", "join"), only="docker"), False),
        ("1.26.15", PreflightCheck(FORWARD, "error", ("init", "join")), True),
        ("1.27.0", PreflightCheck(FORWARD, "error", ("init", "join")), False),
        ("1.27.0", PreflightCheck(FORWARD, "error", ("init", "join"), only="ipv4"), True),
        ("1.29.15", PreflightCheck(BRIDGE, "error", ("init", "join"), "ipv4"), True),
        ("1.30.0", PreflightCheck(BRIDGE, "error", ("init", "join"), "ipv4"), False),
        ("1.34.10", PreflightCheck("Service-Kubelet", "warning", ("init", "join")), True),
        ("1.35.0", PreflightCheck("Service-Kubelet", "warning", ("init", "join")), False),
        ("1.35.0", PreflightCheck("Service-kubelet", "warning", ("init", "join")), True),
        ("1.34.10", PreflightCheck("ContainerRuntimeVersion", "either", ("init", "join")), False),
        ("1.35.0", PreflightCheck("ContainerRuntimeVersion", "either", ("init", "join")), True),
        ("1.37.1", PreflightCheck("Port-2379", "error", ("init", "control-plane-join"), only="local-etcd"), True),
        ("1.37.1", PreflightCheck("HTTPProxy", "warning", ("join",), only="token-discovery"), True),
    ],
)
def test_a_release_makes_its_preflight_checks(version: str, check: PreflightCheck, there: bool) -> None:
    assert (check in release_for(version).preflight_checks) is there


def test_no_release_makes_a_check_twice() -> None:
    for version in RELEASES:
        made = [(check.name, command, check.only) for check in release_for(version).preflight_checks for command in check.commands]
        assert len(made) == len(set(made)), str(version)
