# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What upload-config leaves in kube-system: two ConfigMaps, and who may read them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.config import render_config
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._release import gate_is_on
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.stored import render

NAMESPACE = "kube-system"
RBAC = "rbac.authorization.k8s.io"
HASH = "kubeadm.kubernetes.io/component-config.hash"
_NODES = "system:nodes"
_BOOTSTRAPPERS = "system:bootstrappers:kubeadm:default-node-token"


def kubeadm_objects(docs: Documents) -> tuple[Manifest, ...]:
    """The sub-phase kubeadm: the cluster's configuration."""
    role = "kubeadm:nodes-kubeadm-config"
    return (
        _config_map("kubeadm-config", {"ClusterConfiguration": render(docs)}),
        _role(role, "kubeadm-config"),
        _binding(role, (_BOOTSTRAPPERS, _NODES)),
    )


def kubelet_objects(docs: Documents, resolved: bool) -> tuple[Manifest, ...]:
    """The sub-phase kubelet: the configuration that all kubelets share."""
    release = docs.known_release
    unversioned = gate_is_on(release.gates, "UnversionedKubeletConfigMap", docs.cluster.feature_gates)
    name = "kubelet-config" if unversioned else f"kubelet-config-{release.version.major}.{release.version.minor}"
    data = {"kubelet": render_config(docs, resolved)}
    # A hash means that kubeadm made it all up, and may do so again when it upgrades; what a user gave is not signed.
    annotations = {} if docs.kubelet else {HASH: signature(data)}
    return (
        _config_map(name, data, annotations),
        _role(f"kubeadm:{name}", name),
        _binding(f"kubeadm:{name}", (_NODES, _BOOTSTRAPPERS)),
    )


def signature(data: Mapping[str, str]) -> str:
    """kubeadm's checksum of a ConfigMap: over its values, in the order of their keys."""
    return "sha256:" + hashlib.sha256("".join(data[key] for key in sorted(data)).encode()).hexdigest()


def _config_map(name: str, data: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name, annotations), "data": dict(data)}


def _role(name: str, config_map: str) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": _metadata(name),
        "rules": [{"apiGroups": [""], "resourceNames": [config_map], "resources": ["configmaps"], "verbs": ["get"]}],
    }


def _binding(name: str, groups: Sequence[str]) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
    }


def _metadata(name: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata
