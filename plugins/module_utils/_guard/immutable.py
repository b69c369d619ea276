# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a running cluster must not have changed under it: a document that asks for it is refused before any write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import parse
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import running_version

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_API_SERVER = "/etc/kubernetes/manifests/kube-apiserver.yaml"
_ETCD = "/etc/kubernetes/manifests/etcd.yaml"
_CONTROLLER_MANAGER = "/etc/kubernetes/manifests/kube-controller-manager.yaml"
_KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
_KUBELET_CONFIG = "/var/lib/kubelet/config.yaml"
_NODE = "system:node:"


@dataclass(frozen=True)
class Running:
    """What the host's own files say about the cluster that it is part of; what is not there is not judged."""

    settings: Mapping[str, str] = field(default_factory=dict)


class GuardPhase:
    """Looks at a control plane before anything is done to it; it plans nothing and refuses much."""

    name = "guard"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Running:
        """Collect the settings that the running components were started with."""
        settings: dict[str, str] = {}
        states = {path: world.files.read(path) for path in (_API_SERVER, _ETCD, _CONTROLLER_MANAGER, _KUBELET_CONF, _KUBELET_CONFIG)}
        for path, collect in _COLLECTORS.items():
            state = states[path]
            if state is not None:
                settings.update(collect(path, state.content))
        # An API server is there before the local member that it is to use, on a control plane that joins.
        servers = settings.pop("etcd-servers", "")
        if servers:
            settings["etcd"] = "local" if states[_ETCD] is not None or _loopback(servers) else "external"
        return Running(settings)

    def plan(self, docs: Documents, seen: Running, options: Mapping[str, Any]) -> Plan:
        """Compare with what the documents ask for."""
        wanted = _wanted(docs)
        found = [
            Unusable(
                where,
                f"the cluster on this host runs with {seen.settings[name]}, the documents ask for {value}",
                "This cannot be changed under a running cluster: put the old value back in the documents",
            )
            for name, (where, value) in wanted.items()
            if seen.settings.get(name) and value and seen.settings[name] != value
        ]
        if found:
            raise ManyUnusable(tuple(found))
        return Plan()


def _wanted(docs: Documents) -> dict[str, tuple[str, str]]:
    """Give the place and value of each setting; what extraArgs or a kubelet field override is the user's own business."""
    cluster = docs.cluster
    own, endpoint = ("JoinConfiguration", "controlPlane.localAPIEndpoint") if docs.joining else ("InitConfiguration", "localAPIEndpoint")
    wanted = {
        "version": ("ClusterConfiguration.kubernetesVersion", cluster.kubernetes_version),
        "service-cluster-ip-range": ("ClusterConfiguration.networking.serviceSubnet", cluster.networking.service_subnet),
        "cluster-cidr": ("ClusterConfiguration.networking.podSubnet", cluster.networking.pod_subnet),
        "clusterDomain": ("ClusterConfiguration.networking.dnsDomain", cluster.networking.dns_domain),
        "cluster-name": ("ClusterConfiguration.clusterName", cluster.cluster_name),
        "certificates": ("ClusterConfiguration.certificatesDir", cluster.certificates_dir.rstrip("/")),
        "advertise-address": (f"{own}.{endpoint}.advertiseAddress", docs.node.advertise_address),
        "etcd": ("ClusterConfiguration.etcd", "external" if docs.external_etcd else "local"),
        "node": (f"{own}.nodeRegistration.name", docs.node.name),
    }
    if cluster.etcd.local is not None:
        wanted["data-dir"] = ("ClusterConfiguration.etcd.local.dataDir", cluster.etcd.local.data_dir)
    overridden = {arg.name for part in (cluster.api_server, cluster.controller_manager) for arg in part.extra_args}
    return {name: setting for name, setting in wanted.items() if name not in overridden and name not in docs.kubelet}


def _arguments(path: str, content: bytes) -> dict[str, str]:
    try:
        containers = yaml.safe_load(content)["spec"]["containers"]
        words = [str(word) for word in containers[0].get("command", [])]
    except (yaml.YAMLError, KeyError, IndexError, TypeError, AttributeError, UnicodeDecodeError):
        return {}  # a manifest that cannot be read is written anew by its own phase
    return dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))


def _loopback(servers: str) -> bool:
    return urlsplit(servers).hostname in ("127.0.0.1", "::1", "localhost")


def _of_api_server(path: str, content: bytes) -> dict[str, str]:
    arguments = _arguments(path, content)
    settings = {name: arguments.get(name, "") for name in ("advertise-address", "service-cluster-ip-range", "etcd-servers")}
    settings["certificates"] = arguments.get("tls-cert-file", "").rpartition("/apiserver.crt")[0]
    return {**settings, "version": running_version(content)}


def _of_controller_manager(path: str, content: bytes) -> dict[str, str]:
    arguments = _arguments(path, content)
    return {name: arguments.get(name, "") for name in ("cluster-cidr", "cluster-name")}


def _of_etcd(path: str, content: bytes) -> dict[str, str]:
    return {"data-dir": _arguments(path, content).get("data-dir", "")}


def _of_kubelet_conf(path: str, content: bytes) -> dict[str, str]:
    try:
        document = parse(path, content).document
    except Unusable:
        return {}  # the kubeconfig phase reports it
    names = [str(user.get("name", "")) for user in document.get("users", []) if isinstance(user, dict)]
    names.append(str(document.get("current-context", "")).partition("@")[0])
    named = next((text for text in names if text.startswith(_NODE)), "")
    return {"node": named[len(_NODE) :]}


def _of_kubelet_config(path: str, content: bytes) -> dict[str, str]:
    try:
        document = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}
    return {"clusterDomain": str(document.get("clusterDomain") or "")} if isinstance(document, dict) else {}


_COLLECTORS = {
    _API_SERVER: _of_api_server,
    _CONTROLLER_MANAGER: _of_controller_manager,
    _ETCD: _of_etcd,
    _KUBELET_CONF: _of_kubelet_conf,
    _KUBELET_CONFIG: _of_kubelet_config,
}
