# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which checks are made: the release's table, the mode's column, the case that the documents describe."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address, parse_networks, split_host_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import INIT as FIRST
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import endpoint_host
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import NodeRegistration
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import (
    CONTROL_PLANE_JOIN,
    EITHER,
    ERROR,
    INIT,
    JOIN,
    WARNING,
)

# Modes of the module, and the columns of kubeadm's table that each of them runs.
MODES = {"init": (INIT,), "join": (JOIN,), "join_control_plane": (JOIN, CONTROL_PLANE_JOIN)}
_MODE_OF = {FIRST: "init", WORKER: "join", CONTROL_PLANE: "join_control_plane"}

MANIFESTS = "/etc/kubernetes/manifests"
KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP_CONF = "/etc/kubernetes/bootstrap-kubelet.conf"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")

_SYSCTLS = (
    "/proc/sys/net/bridge/bridge-nf-call-iptables",
    "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv6/conf/default/forwarding",
)
# kubeadm's names have dashes for slashes, which cannot be turned back.
_PATHS = (MANIFESTS, KUBELET_CONF, BOOTSTRAP_CONF, *_SYSCTLS, *(f"{MANIFESTS}/{component}.yaml" for component in COMPONENTS))
_BY_DASHES = {path.replace("/", "-"): path for path in _PATHS}
_BY_SUBJECT = ("Port", "FileAvailable", "DirAvailable", "FileContent", "FileExisting", "Service")
# Not kubeadm's: what else would stop a control plane later, with a less helpful message.
_OURS = (("CgroupDriver", ERROR), ("Clock", EITHER), ("DefaultRoute", WARNING))
# kubeadm asks for these too before it lets another control plane join, but not among its checks, so nobody can ignore them.
READINESS = ("ControlPlaneEndpoint", "SharedCertificates")


@dataclass(frozen=True)
class Check:
    """One check to be made; the subject is the port, path, executable or service that it is about."""

    name: str
    severity: str
    kind: str
    subject: str = ""


def select(docs: Documents, options_mode: str, needs_client: bool = True) -> tuple[Check, ...]:
    """List the checks in kubeadm's order, ours after them and the pull of images last."""
    columns = MODES[options_mode]
    made: dict[str, Check] = {}
    for row in docs.known_release.preflight_checks:
        if set(row.commands) & set(columns) and _applies(row.only, docs, columns):
            check = _check(row.name, row.severity, docs)
            made.setdefault(check.name, check)
    # Through it images and the state of containers are asked for, in releases too whose kubeadm does without.
    made["FileExisting-crictl"] = Check("FileExisting-crictl", ERROR if needs_client else WARNING, "FileExisting", "crictl")
    for name, severity in _OURS:
        made[name] = Check(name, severity, name)
    if CONTROL_PLANE_JOIN in columns:
        made.update({name: Check(name, EITHER, name) for name in READINESS})
    pull = made.pop("ImagePull", None)
    return (*made.values(), pull) if pull else tuple(made.values())


def registration(docs: Documents, mode: str) -> NodeRegistration:
    """How this node registers: what the document of its mode says."""
    return docs.init.node_registration if mode == "init" or docs.join is None else docs.join.node_registration


def mode_of(docs: Documents, given: str | None) -> str:
    """The mode that was asked for, else the one of what the host becomes."""
    return given or _MODE_OF[docs.becomes]


def discovery_host(docs: Documents) -> str:
    """The host that a join by token asks for the cluster; with a token of the run's own, the one that all clients ask."""
    if docs.join is None or docs.join.discovery.file is not None:
        return ""
    if docs.join.discovery.bootstrap_token is None:
        return endpoint_host(docs)
    found = split_host_port(docs.join.discovery.bootstrap_token.api_server_endpoint)
    return found[0] if found else ""


def data_dir(docs: Documents) -> str:
    """Where the local etcd member keeps its data."""
    return docs.cluster.etcd.local.data_dir if docs.cluster.etcd.local else ""


def ca_path(docs: Documents) -> str:
    """Where a joining node keeps the cluster's CA."""
    return docs.join.ca_cert_path if docs.join else f"{docs.cluster.certificates_dir}/ca.crt"


def _applies(case: str, docs: Documents, columns: tuple[str, ...]) -> bool:
    if case in ("ipv4", "ipv6"):
        return int(case[-1]) in _families(docs, columns)
    return {
        "": True,
        "local-etcd": not docs.external_etcd,
        "external-etcd": docs.external_etcd,
        "token-discovery": bool(discovery_host(docs)),
        "worker": CONTROL_PLANE_JOIN not in columns,
        "docker": docs.node.cri_socket.endswith("/dockershim.sock"),
    }[case]


def _families(docs: Documents, columns: tuple[str, ...]) -> set[int]:
    """The address families whose kernel settings matter; join knows only that of an endpoint that is an address."""
    texts = [docs.node.advertise_address if INIT in columns else discovery_host(docs)]
    found: set[int] = {address.version for address in map(parse_address, texts) if address is not None}
    if INIT in columns and docs.known_release.preflight_families_of_networks:
        for subnet in (docs.cluster.networking.service_subnet, docs.cluster.networking.pod_subnet):
            found |= {network.version for network in parse_networks(subnet) or ()}
    return found


def _check(name: str, severity: str, docs: Documents) -> Check:
    paths = {"{dataDir}": data_dir(docs), "{caCertPath}": ca_path(docs)}
    for mark, path in paths.items():
        if mark in name:
            return Check(name.replace(mark, path.replace("/", "-")), severity, name.partition("-")[0], path)
    name = name.replace("{bindPort}", str(docs.node.bind_port))
    kind, _dash, rest = name.partition("-")
    if kind not in _BY_SUBJECT:
        return Check(name, severity, name)
    return Check(name, severity, kind, rest.lower() if kind == "Service" else _BY_DASHES.get(rest, rest))
