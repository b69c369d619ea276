# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API server, the controller manager and the scheduler as kubeadm starts them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg, ControlPlaneComponent
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.arguments import command_line, last_value
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.pods import Component, Health, environment, probe_host
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.volumes import (
    api_server_mounts,
    controller_manager_mounts,
    scheduler_mounts,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release import component_image
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import (
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)

KUBERNETES_DIRECTORY = "/etc/kubernetes"
KUBELET_AUTHORITY = "kubelet-certificate-authority"

_ANNOTATION = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_DEFAULT_MODES = "Node,RBAC"
_MODES = ("Node", "RBAC", "Webhook", "ABAC", "AlwaysAllow", "AlwaysDeny")
_LOOPBACK = "127.0.0.1"
_DUAL_STACK = "IPv6DualStack"


@dataclass(frozen=True)
class Surroundings:
    """What the pods of a host depend on besides the documents."""

    existing: frozenset[str] = frozenset()  # which of the directories that hold CAs are there
    external_ca: bool = False
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    start_timeout: timedelta = timedelta(minutes=4)
    # Whether the API server is to verify what kubelets show it, which kubeadm never does.
    verify_kubelets: bool = False


def certificate(docs: Documents, name: str) -> str:
    """Path of a file of the PKI in a flag: in its shortest form, whatever the documents write."""
    return posixpath.normpath("/" + posixpath.join(docs.cluster.certificates_dir, name).lstrip("/"))


def loopback(docs: Documents) -> str:
    """The loopback address of the family that the node advertises."""
    return "::1" if ":" in docs.node.advertise_address else _LOOPBACK


def api_server(docs: Documents, around: Surroundings) -> Component:
    """kube-apiserver."""
    mounts = api_server_mounts(docs, around.existing)
    return Component(
        name=KUBE_APISERVER,
        image=component_image(docs.cluster.image_repository, KUBE_APISERVER, docs.cluster.kubernetes_version),
        command=_api_server_command(docs, around.verify_kubelets),
        health=Health(probe_host(docs.node.advertise_address), docs.node.bind_port, "HTTPS", around.start_timeout),
        volumes=mounts,
        mounts=mounts,
        env=environment(around.proxies, docs.cluster.api_server.extra_envs),
        annotations={_ANNOTATION: join_host_port(docs.node.advertise_address, docs.node.bind_port)},
    )


def controller_manager(docs: Documents, around: Surroundings) -> Component:
    """kube-controller-manager."""
    kubeconfig = posixpath.join(KUBERNETES_DIRECTORY, "controller-manager.conf")
    mounts = controller_manager_mounts(docs, around.existing, kubeconfig)
    component = docs.cluster.controller_manager
    return Component(
        name=KUBE_CONTROLLER_MANAGER,
        image=component_image(docs.cluster.image_repository, KUBE_CONTROLLER_MANAGER, docs.cluster.kubernetes_version),
        command=_controller_manager_command(docs, kubeconfig, around.external_ca),
        health=_bound(docs, KUBE_CONTROLLER_MANAGER, component, around),
        volumes=mounts,
        mounts=mounts,
        env=environment(around.proxies, component.extra_envs),
    )


def scheduler(docs: Documents, around: Surroundings) -> Component:
    """kube-scheduler."""
    kubeconfig = posixpath.join(KUBERNETES_DIRECTORY, "scheduler.conf")
    mounts = scheduler_mounts(docs, kubeconfig)
    component = docs.cluster.scheduler
    flags = [*_client_flags(docs, kubeconfig), *_dual_stack(docs)]
    return Component(
        name=KUBE_SCHEDULER,
        image=component_image(docs.cluster.image_repository, KUBE_SCHEDULER, docs.cluster.kubernetes_version),
        command=command_line(KUBE_SCHEDULER, flags, component.extra_args, docs.known_release.extra_args_keep_order),
        health=_bound(docs, KUBE_SCHEDULER, component, around),
        volumes=mounts,
        mounts=mounts,
        env=environment(around.proxies, component.extra_envs),
    )


def _bound(docs: Documents, name: str, component: ControlPlaneComponent, around: Surroundings) -> Health:
    """Probe a component where it listens; its port stays the usual one even if secure-port is another, as in kubeadm."""
    address = last_value(component.extra_args, "bind-address")
    host = _LOOPBACK if address is None else probe_host(address)
    return Health(host, docs.known_release.ports[name], "HTTPS", around.start_timeout)


def _api_server_command(docs: Documents, verify_kubelets: bool) -> list[str]:
    networking, release = docs.cluster.networking, docs.known_release
    flags = [
        ("advertise-address", docs.node.advertise_address),
        ("allow-privileged", "true"),
        ("client-ca-file", certificate(docs, "ca.crt")),
        ("enable-admission-plugins", "NodeRestriction"),
        ("enable-bootstrap-token-auth", "true"),
        ("kubelet-client-certificate", certificate(docs, "apiserver-kubelet-client.crt")),
        ("kubelet-client-key", certificate(docs, "apiserver-kubelet-client.key")),
        ("kubelet-preferred-address-types", "InternalIP,ExternalIP,Hostname"),
        ("proxy-client-cert-file", certificate(docs, "front-proxy-client.crt")),
        ("proxy-client-key-file", certificate(docs, "front-proxy-client.key")),
        ("requestheader-allowed-names", "front-proxy-client"),
        ("requestheader-client-ca-file", certificate(docs, "front-proxy-ca.crt")),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        ("requestheader-group-headers", "X-Remote-Group"),
        ("requestheader-username-headers", "X-Remote-User"),
        ("secure-port", str(docs.node.bind_port)),
        ("service-account-issuer", f"https://kubernetes.default.svc.{networking.dns_domain}"),
        ("service-account-key-file", certificate(docs, "sa.pub")),
        ("service-account-signing-key-file", certificate(docs, "sa.key")),
        ("service-cluster-ip-range", networking.service_subnet),
        ("tls-cert-file", certificate(docs, "apiserver.crt")),
        ("tls-private-key-file", certificate(docs, "apiserver.key")),
        *([(KUBELET_AUTHORITY, certificate(docs, "ca.crt"))] if verify_kubelets else []),
        *_etcd_client_flags(docs),
        *_dual_stack(docs),
    ]
    extra = docs.cluster.api_server.extra_args
    if release.authorization_modes_filtered:
        extra = (*(arg for arg in extra if arg.name != "authorization-mode"), Arg("authorization-mode", _known_modes(extra)))
    elif not (release.authorization_config_replaces_mode and last_value(extra, "authorization-config") is not None):
        flags.append(("authorization-mode", _DEFAULT_MODES))
    return command_line(KUBE_APISERVER, flags, extra, release.extra_args_keep_order)


def _known_modes(extra: tuple[Arg, ...]) -> str:
    asked = (last_value(extra, "authorization-mode") or "").split(",")
    return ",".join(mode for mode in asked if mode in _MODES) or _DEFAULT_MODES


def _etcd_client_flags(docs: Documents) -> list[tuple[str, str]]:
    external = docs.cluster.etcd.external
    if external is not None:
        flags = [("etcd-servers", ",".join(external.endpoints))]
        if external.ca_file:
            flags.append(("etcd-cafile", external.ca_file))
        if external.cert_file and external.key_file:
            flags += [("etcd-certfile", external.cert_file), ("etcd-keyfile", external.key_file)]
        return flags
    local = docs.cluster.etcd.local
    servers = last_value(local.extra_args, "advertise-client-urls") if local else None
    if servers is None:
        servers = f"https://{join_host_port(loopback(docs), docs.known_release.ports['etcd-client'])}"
    return [
        ("etcd-servers", servers),
        ("etcd-cafile", certificate(docs, "etcd/ca.crt")),
        ("etcd-certfile", certificate(docs, "apiserver-etcd-client.crt")),
        ("etcd-keyfile", certificate(docs, "apiserver-etcd-client.key")),
    ]


def _controller_manager_command(docs: Documents, kubeconfig: str, external_ca: bool) -> list[str]:
    networking = docs.cluster.networking
    flags = [
        *_client_flags(docs, kubeconfig),
        ("client-ca-file", certificate(docs, "ca.crt")),
        # Without the key there is nothing to sign with, and empty values keep the signing controllers off.
        ("cluster-signing-cert-file", "" if external_ca else certificate(docs, "ca.crt")),
        ("cluster-signing-key-file", "" if external_ca else certificate(docs, "ca.key")),
        ("controllers", "*,bootstrapsigner,tokencleaner"),
        ("requestheader-client-ca-file", certificate(docs, "front-proxy-ca.crt")),
        ("root-ca-file", certificate(docs, "ca.crt")),
        ("service-account-private-key-file", certificate(docs, "sa.key")),
        ("use-service-account-credentials", "true"),
        *_dual_stack(docs),
    ]
    if networking.pod_subnet:
        flags += [("allocate-node-cidrs", "true"), ("cluster-cidr", networking.pod_subnet)]
        if networking.service_subnet:
            flags.append(("service-cluster-ip-range", networking.service_subnet))
    if docs.cluster.cluster_name:
        flags.append(("cluster-name", docs.cluster.cluster_name))
    extra = docs.cluster.controller_manager.extra_args
    return command_line(KUBE_CONTROLLER_MANAGER, flags, extra, docs.known_release.extra_args_keep_order)


def _client_flags(docs: Documents, kubeconfig: str) -> list[tuple[str, str]]:
    """What controller manager and scheduler share."""
    flags = [
        ("authentication-kubeconfig", kubeconfig),
        ("authorization-kubeconfig", kubeconfig),
        ("bind-address", _LOOPBACK),
        ("kubeconfig", kubeconfig),
        ("leader-elect", "true"),
    ]
    return [*flags, ("port", "0")] if docs.known_release.insecure_port_flag else flags


def _dual_stack(docs: Documents) -> list[tuple[str, str]]:
    """While the gate was asked, a value in the documents was handed on to the components."""
    asked = docs.cluster.feature_gates.get(_DUAL_STACK)
    if asked is None or not docs.known_release.gates[_DUAL_STACK].asked:
        return []
    return [("feature-gates", f"{_DUAL_STACK}={'true' if asked else 'false'}")]
