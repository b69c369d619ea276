# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's defaults that a table cannot hold: those of the release, of the host, and of one field by another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port, parse_address, parse_endpoint
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    APIEndpoint,
    BootstrapToken,
    ClusterConfiguration,
    EnvVar,
    Etcd,
    ExternalEtcd,
    InitConfiguration,
    JoinConfiguration,
    LocalEtcd,
    NodeRegistration,
    Taint,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release

_TOKEN_LIFETIME = timedelta(hours=24)


def complete_cluster(cluster: ClusterConfiguration, release: Release, bind_port: int) -> ClusterConfiguration:
    """Fill in what the release and the node's port decide."""
    return replace(
        cluster,
        etcd=_complete_etcd(cluster.etcd),
        image_repository=cluster.image_repository or release.image_repository,
        control_plane_endpoint=_with_port(cluster.control_plane_endpoint, bind_port),
        # Some load balancers' names have capitals in them; kubeadm lower-cases these names, and not those of etcd.
        api_server=replace(
            cluster.api_server,
            cert_sans=tuple(name.lower() for name in cluster.api_server.cert_sans),
            extra_envs=_complete_envs(cluster.api_server.extra_envs),
        ),
        controller_manager=replace(cluster.controller_manager, extra_envs=_complete_envs(cluster.controller_manager.extra_envs)),
        scheduler=replace(cluster.scheduler, extra_envs=_complete_envs(cluster.scheduler.extra_envs)),
    )


def complete_init(init: InitConfiguration, release: Release, facts: NodeFacts | None, findings: Findings) -> InitConfiguration:
    """Fill in what the release and the host decide for the first control plane."""
    path = "InitConfiguration"
    return replace(
        init,
        bootstrap_tokens=tuple(_complete_token(token) for token in init.bootstrap_tokens),
        node_registration=_complete_node(init.node_registration, True, release, facts, f"{path}.nodeRegistration", findings),
        local_api_endpoint=_complete_endpoint(init.local_api_endpoint, facts, f"{path}.localAPIEndpoint", findings),
    )


def complete_join(join: JoinConfiguration, release: Release, facts: NodeFacts | None, findings: Findings) -> JoinConfiguration:
    """Fill in what the release and the host decide for a joining node."""
    path = "JoinConfiguration"
    control_plane = join.control_plane
    if control_plane is not None:
        place = f"{path}.controlPlane.localAPIEndpoint"
        endpoint = _complete_endpoint(control_plane.local_api_endpoint, facts, place, findings)
        control_plane = replace(control_plane, local_api_endpoint=endpoint)
    tainted = control_plane is not None
    discovery = join.discovery
    if discovery.bootstrap_token is not None and not discovery.tls_bootstrap_token:
        discovery = replace(discovery, tls_bootstrap_token=discovery.bootstrap_token.token)
    if discovery.file is not None and discovery.file.kube_config_path.startswith("file://"):
        discovery = replace(discovery, file=replace(discovery.file, kube_config_path=discovery.file.kube_config_path[len("file://") :]))
    return replace(
        join,
        discovery=discovery,
        control_plane=control_plane,
        node_registration=_complete_node(join.node_registration, tainted, release, facts, f"{path}.nodeRegistration", findings),
    )


def _complete_etcd(etcd: Etcd) -> Etcd:
    if etcd.external is not None:
        return replace(etcd, external=_complete_external(etcd.external))
    local = etcd.local or LocalEtcd()
    return replace(etcd, local=replace(local, extra_envs=_complete_envs(local.extra_envs)))


def _complete_external(external: ExternalEtcd) -> ExternalEtcd:
    return replace(external, http_endpoints=external.http_endpoints or external.endpoints)


def _complete_envs(envs: tuple[EnvVar, ...]) -> tuple[EnvVar, ...]:
    """A reference to a field of the pod names the API version it reads the field by."""
    complete = []
    for env in envs:
        if env.value_from and "fieldRef" in env.value_from:
            env = replace(env, value_from={**env.value_from, "fieldRef": {"apiVersion": "v1", **env.value_from["fieldRef"]}})
        complete.append(env)
    return tuple(complete)


def _with_port(endpoint: str, bind_port: int) -> str:
    parsed = parse_endpoint(endpoint) if endpoint else None
    if parsed is None or parsed[1] is not None:
        return endpoint
    return join_host_port(parsed[0], bind_port)


def _complete_token(token: BootstrapToken) -> BootstrapToken:
    """kubeadm gives a lifetime to a token that has an expiry too, and then refuses it; here expires alone is enough."""
    if token.ttl is None and not token.expires:
        return replace(token, ttl=_TOKEN_LIFETIME)
    return token


def _complete_node(
    node: NodeRegistration, control_plane: bool, release: Release, facts: NodeFacts | None, path: str, findings: Findings
) -> NodeRegistration:
    name = (node.name or (facts.hostname if facts else "")).strip().lower()
    taints = node.taints
    if taints is None and control_plane:
        taints = tuple(Taint(key=key, effect="NoSchedule") for key in release.control_plane_taints)
    return replace(node, name=name, taints=taints, cri_socket=_socket(node.cri_socket, release, facts, f"{path}.criSocket", findings))


def _socket(given: str, release: Release, facts: NodeFacts | None, path: str, findings: Findings) -> str:
    if given:
        if given.startswith("/") and release.cri_socket_has_scheme:
            findings.warn(path, f"{shown(given)} has no URL scheme; unix:// was put before it")
            return f"unix://{given}"
        return given
    if facts is None or facts.cri_sockets is None:
        return ""
    return _detected(facts.cri_sockets, release, path, findings)


def _detected(sockets: Sequence[str], release: Release, path: str, findings: Findings) -> str:
    if len(sockets) > 1:
        findings.problem(path, f"{len(sockets)} container runtimes on the host: {', '.join(sockets)[:200]}", "one of them by name")
        return ""
    return sockets[0] if sockets else release.default_cri_socket


def _complete_endpoint(endpoint: APIEndpoint, facts: NodeFacts | None, path: str, findings: Findings) -> APIEndpoint:
    """No address, or 'any', means the host's; a loopback address means a global one on the loopback interface."""
    address = parse_address(endpoint.advertise_address) if endpoint.advertise_address else None
    if endpoint.advertise_address and (address is None or not (address.is_unspecified or address.is_loopback)):
        return endpoint
    if address is not None and address.is_loopback:
        if facts is None:
            return endpoint
        if not facts.loopback_address:
            place = f"{path}.advertiseAddress"
            findings.problem(place, shown(endpoint.advertise_address), "an address that other hosts can reach, on lo or elsewhere")
        return replace(endpoint, advertise_address=facts.loopback_address)
    return replace(endpoint, advertise_address=facts.advertise_address if facts else "")
