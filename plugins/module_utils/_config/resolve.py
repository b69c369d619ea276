# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From plain documents to resolved ones: strict parse, kubeadm's defaults, kubeadm's rules and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.components import check_components
from ansible_collections.kubephase.cluster.plugins.module_utils._config.defaults import complete_cluster, complete_init, complete_join
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import (
    CONTROL_PLANE,
    INIT,
    WORKER,
    Documents,
    Node,
    NodeFacts,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.fields import BAD, with_arg_lists
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    APIEndpoint,
    ClusterConfiguration,
    InitConfiguration,
    JoinConfiguration,
    JoinControlPlane,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import (
    Findings,
    InvalidDocuments,
    did_you_mean,
    shape,
    shown,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_certificates import check_certificates, check_etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_networks import check_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_node import check_api_endpoint, check_node
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_pods import check_pods
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_release import (
    check_gates,
    check_phases,
    check_release,
    find_release,
    newest_release,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.rules_tokens import check_init_tokens, check_join_tokens
from ansible_collections.kubephase.cluster.plugins.module_utils._config.schema import DOCUMENTS, KINDS
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import Secrets, join_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release


def resolve(
    documents: Mapping[str, Any],
    facts: NodeFacts | None = None,
    secrets: Secrets | None = None,
    *,
    becomes: str | None = None,
    origins: Mapping[str, str] | None = None,
) -> Documents:
    """The documents of one host with every default in place, or InvalidDocuments with every problem.

    Without secrets a missing token is not judged. becomes says what the host is to be and so whose
    node settings hold; when None, it joins if a JoinConfiguration is there and no InitConfiguration.
    """
    findings = Findings(origins=dict(origins or {}))
    whole = documents if secrets is None or not isinstance(documents, Mapping) else join_secrets(documents, secrets)
    resolved = judge(whole, findings, facts, secrets is not None, becomes)
    if findings.problems:
        raise InvalidDocuments(findings.problems)
    return replace(resolved, warnings=tuple(findings.warnings))


def judge(
    documents: Any, findings: Findings, facts: NodeFacts | None = None, secrets_known: bool = False, becomes: str | None = None
) -> Documents:
    """Read, complete and judge the documents; problems and warnings go to the findings."""
    plain = _read(documents, findings)
    given: ClusterConfiguration = DOCUMENTS["ClusterConfiguration"].build(plain.get("ClusterConfiguration", {}))
    init: InitConfiguration = DOCUMENTS["InitConfiguration"].build(plain.get("InitConfiguration", {}))
    join: JoinConfiguration | None = None
    if "JoinConfiguration" in plain:
        join = DOCUMENTS["JoinConfiguration"].build(plain["JoinConfiguration"])
    role = becomes or _inferred(plain, join)
    as_joiner = role != INIT
    if as_joiner:
        join = _as(role, join or JoinConfiguration())
    release = find_release(given.kubernetes_version, facts, findings)
    rules = release or newest_release()

    init = complete_init(init, rules, None if as_joiner else facts, findings)
    if join is not None:
        join = complete_join(join, rules, facts if as_joiner else None, findings)
    node = _node(init, join, as_joiner, facts)
    cluster = complete_cluster(given, rules, node.bind_port)
    if release is not None:
        cluster = replace(cluster, kubernetes_version=_with_v(given.kubernetes_version or (facts.kubelet_version if facts else "")))

    check_gates(cluster, release, findings)
    _check(cluster, init, join, node, rules, secrets_known, findings)
    kubelet, proxy = plain.get("KubeletConfiguration", {}), plain.get("KubeProxyConfiguration", {})
    check_components(kubelet, proxy, rules, findings)
    dry_run = init.dry_run or (join is not None and join.dry_run)
    return Documents(release, cluster, init, join, kubelet, proxy, node, (), dry_run, role)


def _read(documents: Any, findings: Findings) -> dict[str, Any]:
    if not isinstance(documents, Mapping):
        findings.problem("documents", shape(documents), "a mapping from kinds to documents")
        return {}
    plain = {}
    for kind, body in documents.items():
        if not isinstance(kind, str) or kind not in KINDS:
            hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
            findings.problem("kind", shown(kind), "one of " + ", ".join(KINDS), hint)
            continue
        clean = {} if body is None else DOCUMENTS[kind].read(body, kind, findings)
        if clean is not BAD:
            plain[str.__str__(kind)] = with_arg_lists(clean)
    return plain


def _inferred(plain: Mapping[str, Any], join: JoinConfiguration | None) -> str:
    if join is None or "InitConfiguration" in plain:
        return INIT
    return WORKER if join.control_plane is None else CONTROL_PLANE


def _as(role: str, join: JoinConfiguration) -> JoinConfiguration:
    """One document may stand for all hosts that join: a worker has no use for controlPlane, another gets kubeadm's defaults."""
    return replace(join, control_plane=(join.control_plane or JoinControlPlane()) if role == CONTROL_PLANE else None)


def _with_v(version: str) -> str:
    return "v" + version.lstrip("v")


def _node(init: InitConfiguration, join: JoinConfiguration | None, as_joiner: bool, facts: NodeFacts | None) -> Node:
    registration, endpoint = init.node_registration, init.local_api_endpoint
    if as_joiner and join is not None:
        registration = join.node_registration
        worker = APIEndpoint(facts.advertise_address if facts else "")
        endpoint = join.control_plane.local_api_endpoint if join.control_plane else worker
    return Node(registration.name, endpoint.advertise_address, endpoint.bind_port, registration.cri_socket)


def _check(
    cluster: ClusterConfiguration,
    init: InitConfiguration,
    join: JoinConfiguration | None,
    node: Node,
    release: Release,
    secrets_known: bool,
    findings: Findings,
) -> None:
    check_release(cluster, release, findings)
    check_networks(cluster, node.advertise_address, findings)
    check_certificates(cluster, release, findings)
    check_etcd(cluster.etcd, findings)
    check_pods(cluster, findings)
    check_node(init, "InitConfiguration", findings)
    check_api_endpoint(init.local_api_endpoint, "InitConfiguration.localAPIEndpoint", findings)
    check_init_tokens(init, findings)
    check_phases(init.skip_phases, False, release, "InitConfiguration", findings)
    if join is not None:
        check_node(join, "JoinConfiguration", findings)
        check_join_tokens(join, secrets_known, findings)
        check_phases(join.skip_phases, True, release, "JoinConfiguration", findings)
        if join.control_plane is not None:
            check_api_endpoint(join.control_plane.local_api_endpoint, "JoinConfiguration.controlPlane.localAPIEndpoint", findings)
