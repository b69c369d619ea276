# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kube-proxy add-on: the objects that kubeadm of a release makes for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._addons.proxy_config import render_config
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._release import component_image

NAMESPACE = "kube-system"
NAME = "kube-proxy"
DAEMON_SET = ObjectKey("apps/v1", "DaemonSet", NAMESPACE, NAME)
PATCH_TARGET = "kubeproxydaemonset"

_RBAC = "rbac.authorization.k8s.io"
_BOOTSTRAPPERS = "system:bootstrappers:kubeadm:default-node-token"
_HASH = "kubeadm.kubernetes.io/component-config.hash"
_SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
_LABELS = {"k8s-app": NAME}
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: {secrets}/ca.crt
    server: {server}
  name: default
contexts:
- context:
    cluster: default
    namespace: default
    user: default
  name: default
current-context: default
users:
- name: default
  user:
    tokenFile: {secrets}/token"""


def image(docs: Documents) -> str:
    """Name the image, which always is the release's own."""
    return component_image(docs.cluster.image_repository, NAME, docs.cluster.kubernetes_version)


def config_map(docs: Documents) -> dict[str, Any]:
    """Render the ConfigMap; a configuration that kubeadm chose carries a hash, so that an upgrade may replace it."""
    data = {
        "config.conf": render_config(docs).rstrip("\n"),
        "kubeconfig.conf": _KUBECONFIG.format(secrets=_SECRETS, server=control_plane_url(docs)),
    }
    metadata: dict[str, Any] = {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}}
    if not docs.kube_proxy:
        digest = hashlib.sha256("".join(data[key] for key in sorted(data)).encode()).hexdigest()
        metadata["annotations"] = {_HASH: f"sha256:{digest}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def access() -> tuple[dict[str, Any], ...]:
    """Render account, binding, and the role by which joining nodes read the configuration."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(metadata)},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "kubeadm:node-proxier"},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "system:node-proxier"},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": dict(metadata),
            "rules": [{"apiGroups": [""], "resourceNames": [NAME], "resources": ["configmaps"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": dict(metadata),
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": NAME},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": _BOOTSTRAPPERS}],
        },
    )


def daemon_set(docs: Documents) -> dict[str, Any]:
    """Render the DaemonSet, without the variables of a proxy."""
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": dict(_LABELS)},
        "spec": {
            "selector": {"matchLabels": dict(_LABELS)},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": dict(_LABELS)}, "spec": _pod(image(docs))},
        },
    }


def with_proxy_env(manifest: Mapping[str, Any], proxy_env: Mapping[str, str]) -> dict[str, Any]:
    """Add the variables of a proxy to the first container, after any patch as kubeadm does."""
    added = [{"name": name, "value": value} for name, value in sorted(proxy_env.items()) if value]
    if not added:
        return dict(manifest)
    template = manifest["spec"]["template"]
    first, *others = template["spec"]["containers"]
    first = {**first, "env": [*first.get("env", ()), *added]}
    pod = {**template["spec"], "containers": [first, *others]}
    return {**manifest, "spec": {**manifest["spec"], "template": {**template, "spec": pod}}}


def _pod(image_name: str) -> dict[str, Any]:
    return {
        "priorityClassName": "system-node-critical",
        "containers": [
            {
                "name": NAME,
                "image": image_name,
                "imagePullPolicy": "IfNotPresent",
                "command": [
                    "/usr/local/bin/kube-proxy",
                    "--config=/var/lib/kube-proxy/config.conf",
                    "--hostname-override=$(NODE_NAME)",
                ],
                "securityContext": {"privileged": True},
                "volumeMounts": [
                    {"mountPath": "/var/lib/kube-proxy", "name": NAME},
                    {"mountPath": "/run/xtables.lock", "name": "xtables-lock"},
                    {"mountPath": "/lib/modules", "name": "lib-modules", "readOnly": True},
                ],
                "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
            }
        ],
        "hostNetwork": True,
        "serviceAccountName": NAME,
        "volumes": [
            {"name": NAME, "configMap": {"name": NAME}},
            {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        ],
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
    }
