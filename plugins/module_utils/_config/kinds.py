# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubeadm documents as immutable values, in the shape of v1beta4; defaults are kubeadm's static ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

TOKEN_USAGES = ("signing", "authentication")
TOKEN_GROUPS = ("system:bootstrappers:kubeadm:default-node-token",)


@dataclass(frozen=True)
class Arg:
    """One command line argument of a component, without leading dashes."""

    name: str = ""
    value: str = ""


@dataclass(frozen=True)
class EnvVar:
    """One environment variable of a control plane component."""

    name: str = ""
    value: str = field(default="", repr=False)
    value_from: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HostPathMount:
    """One extra host volume of a control plane component."""

    name: str = ""
    host_path: str = ""
    mount_path: str = ""
    read_only: bool = False
    path_type: str = ""


@dataclass(frozen=True)
class ControlPlaneComponent:
    """Extra settings of the controller manager or the scheduler."""

    extra_args: tuple[Arg, ...] = ()
    extra_volumes: tuple[HostPathMount, ...] = ()
    extra_envs: tuple[EnvVar, ...] = ()


@dataclass(frozen=True)
class APIServer(ControlPlaneComponent):
    """Extra settings of the API server."""

    cert_sans: tuple[str, ...] = ()


@dataclass(frozen=True)
class DNS:
    """The DNS add-on."""

    image_repository: str = ""
    image_tag: str = ""
    disabled: bool = False


@dataclass(frozen=True)
class Proxy:
    """The proxy add-on."""

    disabled: bool = False


@dataclass(frozen=True)
class LocalEtcd:
    """An etcd member as a static pod on each control plane."""

    image_repository: str = ""
    image_tag: str = ""
    data_dir: str = "/var/lib/etcd"
    extra_args: tuple[Arg, ...] = ()
    extra_envs: tuple[EnvVar, ...] = ()
    server_cert_sans: tuple[str, ...] = ()
    peer_cert_sans: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExternalEtcd:
    """An etcd cluster that somebody else runs."""

    endpoints: tuple[str, ...] = ()
    http_endpoints: tuple[str, ...] = ()
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""


@dataclass(frozen=True)
class Etcd:
    """Either a local or an external etcd; local when nothing is said."""

    local: LocalEtcd | None = None
    external: ExternalEtcd | None = None


@dataclass(frozen=True)
class Networking:
    """The networks of services and pods, and the cluster's domain."""

    service_subnet: str = "10.96.0.0/12"
    pod_subnet: str = ""
    dns_domain: str = "cluster.local"


@dataclass(frozen=True)
class ClusterConfiguration:
    """What all nodes of the cluster share."""

    etcd: Etcd = field(default_factory=Etcd)
    networking: Networking = field(default_factory=Networking)
    kubernetes_version: str = ""
    control_plane_endpoint: str = ""
    api_server: APIServer = field(default_factory=APIServer)
    controller_manager: ControlPlaneComponent = field(default_factory=ControlPlaneComponent)
    scheduler: ControlPlaneComponent = field(default_factory=ControlPlaneComponent)
    dns: DNS = field(default_factory=DNS)
    proxy: Proxy = field(default_factory=Proxy)
    certificates_dir: str = "/etc/kubernetes/pki"
    image_repository: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    cluster_name: str = "kubernetes"
    encryption_algorithm: str = "RSA-2048"
    certificate_validity_period: timedelta = timedelta(hours=8760)
    ca_certificate_validity_period: timedelta = timedelta(hours=87600)


@dataclass(frozen=True)
class Taint:
    """A taint that the node registers with."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str = ""


@dataclass(frozen=True)
class NodeRegistration:
    """How the node registers; taints None means that nothing was said about them."""

    name: str = ""
    cri_socket: str = ""
    taints: tuple[Taint, ...] | None = None
    kubelet_extra_args: tuple[Arg, ...] = ()
    ignore_preflight_errors: tuple[str, ...] = ()
    image_pull_policy: str = "IfNotPresent"
    image_pull_serial: bool = True


@dataclass(frozen=True)
class APIEndpoint:
    """Where the API server of this node listens."""

    advertise_address: str = ""
    bind_port: int = 6443


@dataclass(frozen=True)
class Patches:
    """Where patches of components lie on the node."""

    directory: str = ""


@dataclass(frozen=True)
class Timeouts:
    """How long to wait for what."""

    control_plane_component_health_check: timedelta = timedelta(minutes=4)
    kubelet_health_check: timedelta = timedelta(minutes=4)
    kubernetes_api_call: timedelta = timedelta(minutes=1)
    etcd_api_call: timedelta = timedelta(minutes=2)
    tls_bootstrap: timedelta = timedelta(minutes=5)
    discovery: timedelta = timedelta(minutes=5)
    upgrade_manifests: timedelta = timedelta(minutes=5)


@dataclass(frozen=True)
class BootstrapToken:
    """A token that init creates; with expires, ttl is None."""

    token: str = field(default="", repr=False)
    description: str = ""
    ttl: timedelta | None = None
    expires: str = ""
    usages: tuple[str, ...] = TOKEN_USAGES
    groups: tuple[str, ...] = TOKEN_GROUPS


@dataclass(frozen=True)
class InitConfiguration:
    """What only the first control plane needs."""

    bootstrap_tokens: tuple[BootstrapToken, ...] = ()
    dry_run: bool = False
    node_registration: NodeRegistration = field(default_factory=NodeRegistration)
    local_api_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    certificate_key: str = field(default="", repr=False)
    skip_phases: tuple[str, ...] = ()
    patches: Patches = field(default_factory=Patches)
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True)
class BootstrapTokenDiscovery:
    """Discovery of the cluster by a bootstrap token."""

    token: str = field(default="", repr=False)
    api_server_endpoint: str = ""
    ca_cert_hashes: tuple[str, ...] = ()
    unsafe_skip_ca_verification: bool = False


@dataclass(frozen=True)
class FileDiscovery:
    """Discovery of the cluster by a kubeconfig, from a path or an https URL."""

    kube_config_path: str = ""


@dataclass(frozen=True)
class Discovery:
    """How a joining node comes to know and trust the cluster."""

    bootstrap_token: BootstrapTokenDiscovery | None = None
    file: FileDiscovery | None = None
    tls_bootstrap_token: str = field(default="", repr=False)


@dataclass(frozen=True)
class JoinControlPlane:
    """What a joining control plane adds."""

    local_api_endpoint: APIEndpoint = field(default_factory=APIEndpoint)
    certificate_key: str = field(default="", repr=False)


@dataclass(frozen=True)
class JoinConfiguration:
    """What a joining node needs; a control plane when control_plane is there."""

    dry_run: bool = False
    node_registration: NodeRegistration = field(default_factory=NodeRegistration)
    ca_cert_path: str = "/etc/kubernetes/pki/ca.crt"
    discovery: Discovery = field(default_factory=Discovery)
    control_plane: JoinControlPlane | None = None
    skip_phases: tuple[str, ...] = ()
    patches: Patches = field(default_factory=Patches)
    timeouts: Timeouts = field(default_factory=Timeouts)
