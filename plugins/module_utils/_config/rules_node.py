# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for the node: its registration, its API endpoint, phases to skip and how long to wait."""

from __future__ import annotations

from datetime import timedelta

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    APIEndpoint,
    InitConfiguration,
    JoinConfiguration,
    NodeRegistration,
    Taint,
    Timeouts,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import (
    SUBDOMAIN_RULE,
    is_dns_subdomain,
    is_label_value,
    is_qualified_name,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_certificates import check_path
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_networks import check_api_address
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_pods import check_args

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_TIMEOUTS = {
    "control_plane_component_health_check": "controlPlaneComponentHealthCheck",
    "kubelet_health_check": "kubeletHealthCheck",
    "kubernetes_api_call": "kubernetesAPICall",
    "etcd_api_call": "etcdAPICall",
    "tls_bootstrap": "tlsBootstrap",
    "discovery": "discovery",
    "upgrade_manifests": "upgradeManifests",
}


def check_node(document: InitConfiguration | JoinConfiguration, path: str, findings: Findings) -> None:
    """Judge what init and join say alike about a node."""
    _check_registration(document.node_registration, f"{path}.nodeRegistration", findings)
    _check_timeouts(document.timeouts, f"{path}.timeouts", findings)
    if document.patches.directory:
        check_path(document.patches.directory, f"{path}.patches.directory", findings)


def check_api_endpoint(endpoint: APIEndpoint, path: str, findings: Findings) -> None:
    """The address may still be unknown; the port may not be out of range."""
    if endpoint.advertise_address:
        check_api_address(endpoint.advertise_address, f"{path}.advertiseAddress", findings)
    if not 1 <= endpoint.bind_port <= 65535:
        findings.problem(f"{path}.bindPort", shown(endpoint.bind_port), "a port from 1 to 65535")


def _check_registration(node: NodeRegistration, path: str, findings: Findings) -> None:
    if node.name and not is_dns_subdomain(node.name):
        findings.problem(f"{path}.name", shown(node.name), SUBDOMAIN_RULE)
    if node.cri_socket:
        _check_socket(node.cri_socket, f"{path}.criSocket", findings)
    check_args(node.kubelet_extra_args, f"{path}.kubeletExtraArgs", findings)
    if node.image_pull_policy not in _PULL_POLICIES:
        hint = did_you_mean(node.image_pull_policy, _PULL_POLICIES)
        findings.problem(f"{path}.imagePullPolicy", shown(node.image_pull_policy), "one of " + ", ".join(_PULL_POLICIES), hint)
    checks = {name.lower() for name in node.ignore_preflight_errors}
    if "all" in checks and len(checks) > 1:
        findings.problem(f"{path}.ignorePreflightErrors", "all beside single checks", "either all or single checks")
    for index, taint in enumerate(node.taints or ()):
        _check_taint(taint, f"{path}.taints[{index}]", findings)


def _check_socket(socket: str, path: str, findings: Findings) -> None:
    """kubeadm would make unix://tcp://… of another scheme, and the kubelet would never find its runtime."""
    scheme, separator, rest = socket.partition("://")
    if separator and scheme != "unix":
        findings.problem(path, shown(socket), "a socket such as unix:///run/containerd/containerd.sock")
    elif not (rest if separator else socket).startswith("/"):
        findings.problem(path, shown(socket), "a socket such as unix:///run/containerd/containerd.sock, its path absolute")


def _check_taint(taint: Taint, path: str, findings: Findings) -> None:
    """The API server would refuse the node, or the kubelet its arguments, long after this point."""
    if not is_qualified_name(taint.key):
        expected = "a name of at most 63 letters, digits, '-', '_' and '.', with or without a DNS name and '/' before it"
        findings.problem(f"{path}.key", shown(taint.key), expected)
    if not is_label_value(taint.value):
        findings.problem(f"{path}.value", shown(taint.value), "at most 63 letters, digits, '-', '_' and '.'")
    if taint.effect not in _EFFECTS:
        hint = did_you_mean(taint.effect, _EFFECTS)
        findings.problem(f"{path}.effect", shown(taint.effect), "one of " + ", ".join(_EFFECTS), hint)


def _check_timeouts(timeouts: Timeouts, path: str, findings: Findings) -> None:
    """A wait of no time at all can only fail; 0 does not mean for ever."""
    for attribute, name in _TIMEOUTS.items():
        period: timedelta = getattr(timeouts, attribute)
        if period <= timedelta(0):
            findings.problem(f"{path}.{name}", format_duration(period), "more than 0s")
