# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's certificate table: who is issued by whom, to what subject and for which names."""

from __future__ import annotations

import ipaddress
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import endpoint_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import PairPaths

SERVICE_ACCOUNT = "sa"


@dataclass(frozen=True)
class Row:
    """One certificate of a control plane."""

    name: str
    common_name: str
    issuer: str = ""
    organizations: tuple[str, ...] = ()
    server: bool = False
    client: bool = False
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()

    @property
    def authority(self) -> bool:
        """An authority signs itself."""
        return not self.issuer


def rows(docs: Documents) -> tuple[Row, ...]:
    """List the certificates in the order of kubeadm's certs phase; external etcd brings its own."""
    release = docs.known_release
    etcd_client = release.etcd_client_organizations
    api_dns, api_ips = _api_server_names(docs)
    kubernetes = (
        Row("ca", "kubernetes", dns_names=("kubernetes",)),
        Row("apiserver", "kube-apiserver", "ca", server=True, dns_names=api_dns, ip_addresses=api_ips),
        Row(
            "apiserver-kubelet-client",
            "kube-apiserver-kubelet-client",
            "ca",
            release.apiserver_kubelet_client_organizations,
            client=True,
        ),
        Row("front-proxy-ca", "front-proxy-ca", dns_names=("front-proxy-ca",)),
        Row("front-proxy-client", "front-proxy-client", "front-proxy-ca", client=True),
    )
    if docs.external_etcd:
        return kubernetes
    local = docs.cluster.etcd.local
    server_dns, server_ips = _etcd_names(docs, local.server_cert_sans if local else ())
    peer_dns, peer_ips = _etcd_names(docs, local.peer_cert_sans if local else ())
    node = docs.node.name
    return (
        *kubernetes,
        Row("etcd/ca", "etcd-ca", dns_names=("etcd-ca",)),
        Row("etcd/server", node, "etcd/ca", server=True, client=True, dns_names=server_dns, ip_addresses=server_ips),
        Row("etcd/peer", node, "etcd/ca", server=True, client=True, dns_names=peer_dns, ip_addresses=peer_ips),
        Row("etcd/healthcheck-client", "kube-etcd-healthcheck-client", "etcd/ca", etcd_client, client=True),
        Row("apiserver-etcd-client", "kube-apiserver-etcd-client", "etcd/ca", etcd_client, client=True),
    )


def paths(docs: Documents, name: str) -> PairPaths:
    """Say where a certificate of the table lies."""
    base = posixpath.join(docs.cluster.certificates_dir, name)
    return PairPaths(f"{base}.crt", f"{base}.key")


def key_algorithm(docs: Documents) -> str:
    """Choose the key algorithm of the PKI: where the release still has the gate, a gate that is set wins over the field."""
    if docs.known_release.ecdsa_gate and "PublicKeysECDSA" in docs.cluster.feature_gates:
        return "ECDSA-P256" if docs.cluster.feature_gates["PublicKeysECDSA"] else "RSA-2048"
    return docs.cluster.encryption_algorithm


def _api_server_names(docs: Documents) -> tuple[tuple[str, ...], tuple[str, ...]]:
    cluster = docs.cluster
    service_network = ipaddress.ip_network(cluster.networking.service_subnet.split(",")[0].strip(), strict=False)
    names = [
        docs.node.name,
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        f"kubernetes.default.svc.{cluster.networking.dns_domain}",
    ]
    addresses = [str(service_network.network_address + 1), docs.node.advertise_address]
    endpoint = endpoint_host(docs)
    return _sorted_out(names, addresses, [*([endpoint] if endpoint else []), *(name.lower() for name in cluster.api_server.cert_sans)])


def _etcd_names(docs: Documents, extra: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _sorted_out([docs.node.name, "localhost"], [docs.node.advertise_address, "127.0.0.1", "::1"], extra)


def _sorted_out(names: Iterable[str], addresses: Iterable[str], extra: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Part extra names into DNS names, which are sorted, and addresses, which keep their order; neither repeats."""
    dns, ips = [name for name in names if name], [str(ipaddress.ip_address(each)) for each in addresses if each]
    for each in extra:
        address = parse_address(each)
        if address is None:
            dns.append(each)
        else:
            ips.append(str(address))
    return tuple(sorted(set(dns))), tuple(dict.fromkeys(ips))
