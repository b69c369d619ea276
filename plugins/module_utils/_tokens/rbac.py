# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who may do what on the way to becoming a node."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import TOKEN_GROUPS
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO

_API = "rbac.authorization.k8s.io/v1"
_GROUP = "rbac.authorization.k8s.io"
_APPROVAL = "system:certificates.k8s.io:certificatesigningrequests"
_GET_NODES = "kubeadm:get-nodes"
_CLUSTER_INFO_READERS = "kubeadm:bootstrap-signer-clusterinfo"


def node_objects(release: Release) -> tuple[Manifest, ...]:
    """Render the roles and bindings of joining nodes, in kubeadm's order."""
    (joining,) = TOKEN_GROUPS
    found = [
        {
            "apiVersion": _API,
            "kind": "ClusterRole",
            "metadata": {"name": _GET_NODES},
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
        },
        cluster_binding(_GET_NODES, _GET_NODES, "Group", joining),
        cluster_binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", "Group", joining),
        cluster_binding("kubeadm:node-autoapprove-bootstrap", f"{_APPROVAL}:nodeclient", "Group", joining),
        cluster_binding("kubeadm:node-autoapprove-certificate-rotation", f"{_APPROVAL}:selfnodeclient", "Group", "system:nodes"),
    ]
    if release.apiserver_kubelet_client_binding:
        user = "kube-apiserver-kubelet-client"
        found.append(cluster_binding("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", "User", user))
    return tuple(found)


def cluster_info_objects() -> tuple[Manifest, ...]:
    """Render what lets anybody read cluster-info, which is signed for those who know a token."""
    return reading(CLUSTER_INFO, "configmaps", _CLUSTER_INFO_READERS, "User", "system:anonymous")


def reading(what: ObjectKey, resource: str, role: str, kind: str, subject: str) -> tuple[Manifest, ...]:
    """Render a role that lets a subject get one object, and its binding."""
    rule = {"apiGroups": [""], "resourceNames": [what.name], "resources": [resource], "verbs": ["get"]}
    metadata = {"name": role, "namespace": what.namespace}
    return (
        {"apiVersion": _API, "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": _API,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": role},
            "subjects": [{"apiGroup": _GROUP, "kind": kind, "name": subject}],
        },
    )


def cluster_binding(name: str, role: str, kind: str, subject: str) -> Manifest:
    """Render a cluster-wide binding of one subject."""
    return {
        "apiVersion": _API,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _GROUP, "kind": kind, "name": subject}],
    }
