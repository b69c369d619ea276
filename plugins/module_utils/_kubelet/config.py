# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""KubeletConfiguration as kubeadm completes it, for the node's config.yaml and for the cluster's ConfigMap."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import dump
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.user_fields import normalised

_RESOLVED = "/run/systemd/resolve/resolv.conf"
_DNS_OFFSET = 10
_FALLBACK_DNS = "10.96.0.10"
_DUAL_STACK = "IPv6DualStack"


def render_config(docs: Documents, resolved: bool = False) -> str:
    """Write the configuration that all kubelets of the cluster share; resolved says whether systemd-resolved runs here."""
    return dump(configuration(docs, resolved and docs.known_release.resolv_conf_in_config_map))


def configuration(docs: Documents, resolved: bool) -> dict[str, Any]:
    """Complete the user's KubeletConfiguration with kubeadm's defaults and with the zeros that Go prints."""
    document = normalised(docs.kubelet, docs.known_release)
    for path, value in _defaults(docs, resolved).items():
        _put(document, path, value)
    # Asked of what the user wrote: an empty list is gone from what is printed, and yet it is an answer.
    if docs.kubelet.get("clusterDNS") is None:
        document["clusterDNS"] = [_dns_address(docs)]
    gates = docs.cluster.feature_gates
    if docs.known_release.kubelet_follows_dual_stack_gate and _DUAL_STACK in gates:
        document["featureGates"] = {**document.get("featureGates", {}), _DUAL_STACK: gates[_DUAL_STACK]}
    for path, value in docs.known_release.kubelet_zero_values.items():
        _put(document, path, value)
    # kubeadm cannot tell false from unset here and always rotates; init's client certificate lives for a year only.
    return {**document, "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "rotateCertificates": True}


def questions(docs: Documents, resolved: bool) -> tuple[str, ...]:
    """Say which of the user's values differ from what kubeadm recommends; they are kept."""
    given = normalised(docs.kubelet, docs.known_release)
    recommended = {**_defaults(docs, resolved), "clusterDNS": [_dns_address(docs)], "readOnlyPort": 0}
    del recommended["cgroupDriver"]  # the runtime decides it, not kubeadm
    found = []
    for path, value in sorted(recommended.items()):
        mine = docs.kubelet.get(path) if path == "clusterDNS" else _get(given, path)
        if mine is not None and mine != value:
            found.append(f"KubeletConfiguration.{path} is {mine!r}, where kubeadm recommends {value!r}: kept")
    if docs.kubelet.get("rotateCertificates") is False:
        found.append("KubeletConfiguration.rotateCertificates is False, and without effect: kubeadm always turns it on")
    return tuple(found)


def _defaults(docs: Documents, resolved: bool) -> dict[str, Any]:
    defaults = {
        "authentication.anonymous.enabled": False,
        "authentication.webhook.enabled": True,
        "authentication.x509.clientCAFile": posixpath.normpath(posixpath.join(docs.cluster.certificates_dir, "ca.crt")),
        "authorization.mode": "Webhook",
        "cgroupDriver": "systemd",
        "clusterDomain": docs.cluster.networking.dns_domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    if resolved:
        defaults["resolvConf"] = _RESOLVED
    return defaults


def _dns_address(docs: Documents) -> str:
    networks = parse_networks(docs.cluster.networking.service_subnet)
    if not networks or networks[0].num_addresses <= _DNS_OFFSET:
        return _FALLBACK_DNS
    return str(networks[0][_DNS_OFFSET])


def _get(document: Mapping[str, Any], path: str) -> Any:
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _put(document: dict[str, Any], path: str, value: Any) -> None:
    """Set a field unless it is there."""
    *parents, last = path.split(".")
    for name in parents:
        document = document.setdefault(name, {})
    document.setdefault(last, deepcopy(value))
