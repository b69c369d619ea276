# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeProxyConfiguration as kubeadm stores it: every field of the release is there, set or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address
from ansible_collections.kubephase.cluster.plugins.module_utils._config.component_fields import kube_proxy_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration, parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import dump

KUBECONFIG = "/var/lib/kube-proxy/kubeconfig.conf"

_WILDCARDS = {4: "0.0.0.0", 6: "::"}  # noqa: S104 - what kubeadm sets; the host's firewall is the user's business
_DUAL_STACK = "IPv6DualStack"

# Go's zero values by type; what is a pointer or a list there is null, and some fields are left out when empty.
_ZERO = {"string": "", "bool": False, "int": 0, "float": 0, "duration": "0s", "int or duration": 0, "quantity": "0"}
_POINTERS = {
    "conntrack.maxPerCore",
    "conntrack.min",
    "conntrack.tcpCloseWaitTimeout",
    "conntrack.tcpEstablishedTimeout",
    "iptables.localhostNodePorts",
    "iptables.masqueradeBit",
    "nftables.masqueradeBit",
    "oomScoreAdj",
}
_LEFT_OUT = {
    "featureGates",
    "logging.format",
    "logging.options.json.splitStream",
    "logging.options.text.splitStream",
    "logging.vmodule",
    "windowsRunAsService",
}


def render_config(docs: Documents) -> str:
    """Write the configuration as kubeadm of the release would."""
    return dump(_filled(configuration(docs), kube_proxy_fields(docs.known_release.version.minor), ""))


def configuration(docs: Documents) -> dict[str, Any]:
    """Take the user's configuration with kubeadm's defaults in place."""
    release, given = docs.known_release, docs.kube_proxy
    config: dict[str, Any] = {**given, "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration"}
    config["bindAddress"] = given.get("bindAddress") or wildcard(docs.node.advertise_address)
    config["clusterCIDR"] = given.get("clusterCIDR") or docs.cluster.networking.pod_subnet
    connection = given.get("clientConnection") or {}
    config["clientConnection"] = {**connection, "kubeconfig": connection.get("kubeconfig") or KUBECONFIG}
    config["mode"] = given.get("mode") or release.kube_proxy_empty_mode
    if release.gates[_DUAL_STACK].asked and _DUAL_STACK in docs.cluster.feature_gates:
        config["featureGates"] = {**(given.get("featureGates") or {}), _DUAL_STACK: docs.cluster.feature_gates[_DUAL_STACK]}
    return config


def warnings(docs: Documents) -> tuple[str, ...]:
    """Say where the user's configuration departs from what kubeadm recommends."""
    given, release = docs.kube_proxy, docs.known_release
    found = []
    address = given.get("bindAddress")
    if address and address not in _recommended(docs):
        found.append(f"bindAddress is {address}; {' or '.join(_recommended(docs))} is recommended")
    pods, covered = docs.cluster.networking.pod_subnet, given.get("clusterCIDR")
    if covered and pods and covered != pods:
        found.append(f"clusterCIDR is {covered}, but networking.podSubnet is {pods}")
    kubeconfig = (given.get("clientConnection") or {}).get("kubeconfig")
    if kubeconfig and kubeconfig != KUBECONFIG:
        found.append(f"clientConnection.kubeconfig is {kubeconfig}; the add-on mounts {KUBECONFIG}")
    if given.get("mode") == "ipvs" and release.kube_proxy_empty_mode:
        found.append("mode ipvs is deprecated; nftables is recommended on recent kernels, iptables elsewhere")
    return tuple(f"KubeProxyConfiguration: {text}" for text in found)


def wildcard(address: str) -> str:
    """Give the address that stands for all addresses of the same family."""
    parsed = parse_address(address)
    return _WILDCARDS[parsed.version if parsed is not None else 6]


def _recommended(docs: Documents) -> tuple[str, ...]:
    if docs.known_release.kube_proxy_either_wildcard:
        return tuple(_WILDCARDS.values())
    return (wildcard(docs.node.advertise_address),)


def _filled(given: Mapping[str, Any], fields: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """Put a zero value wherever nothing was said; fields that the table does not know pass as they are."""
    filled = {name: value for name, value in given.items() if f"{prefix}{name}" not in fields}
    for path, kind in fields.items():
        name = path[len(prefix) :]
        if not path.startswith(prefix) or "." in name or "[]" in name:
            continue
        value = given.get(name)
        if kind == "object":
            filled[name] = _filled(value or {}, fields, f"{path}.")
        elif value is None or (path in _LEFT_OUT and not value):
            if path not in _LEFT_OUT:
                filled[name] = None if path in _POINTERS or kind.startswith("list") else _ZERO[kind]
        else:
            filled[name] = _settled(value, kind)
    return filled


def _settled(value: Any, kind: str) -> Any:
    """Write a value the way that Go would after reading it."""
    if "duration" in kind and isinstance(value, str):
        return format_duration(parse_duration(value))
    if kind == "quantity":
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
