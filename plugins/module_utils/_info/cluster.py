# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API of a cluster tells: its nodes, its tokens without their secrets, its add-ons, what it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url
from ansible_collections.kubephase.cluster.plugins.module_utils._info.unread import Unread
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import load
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import NAMESPACE, SECRET_TYPE, expired, from_secret, public

_ROLE = "node-role.kubernetes.io/"
_STORED = ObjectKey("v1", "ConfigMap", "kube-system", "kubeadm-config")
_ADDONS = (
    ObjectKey("apps/v1", "Deployment", "kube-system", "coredns"),
    ObjectKey("apps/v1", "DaemonSet", "kube-system", "kube-proxy"),
)
_INFO = {
    "kubelet_version": "kubeletVersion",
    "runtime": "containerRuntimeVersion",
    "system": "osImage",
    "kernel": "kernelVersion",
    "architecture": "architecture",
}


def nodes(world: Any, unread: Unread) -> list[dict[str, Any]]:
    """List the nodes as the API has them."""
    none: tuple[Manifest, ...] = ()
    listed = unread.attempt("nodes", lambda: tuple(world.api.list("v1", "Node")), none)
    return sorted((_node(each) for each in listed), key=lambda node: (not node["roles"], node["name"]))


def tokens(world: Any, now: datetime, unread: Unread) -> list[dict[str, Any]]:
    """List the bootstrap tokens by all but their secret."""
    none: tuple[Manifest, ...] = ()
    listed = unread.attempt("tokens", lambda: tuple(world.api.list("v1", "Secret", NAMESPACE, field_selector=f"type={SECRET_TYPE}")), none)
    found = [token for token in (from_secret(each) for each in listed) if token is not None]
    return [{**public(token), "expired": expired(token, now)} for token in sorted(found, key=lambda token: token.identifier)]


def addons(world: Any, unread: Unread) -> list[dict[str, Any]]:
    """Tell of the add-ons that kubeadm installs, those of them that are there."""
    found = []
    for key in _ADDONS:
        live: Manifest | None = unread.attempt("addons", partial(world.api.get, key), None)
        if live is not None:
            found.append(_addon(key, live))
    return found


def stored(docs: Documents, world: Any, unread: Unread) -> dict[str, Any]:
    """Tell what the cluster is, by the configuration that it keeps; by the documents where that cannot be read."""
    document = unread.attempt("kubeadm-config", lambda: _stored(world), None)
    told: Mapping[str, Any] = document if document is not None else {}
    networking = told.get("networking")
    networking = networking if isinstance(networking, Mapping) else {}
    asked = docs.cluster
    return {
        "name": str(told.get("clusterName") or asked.cluster_name),
        "version": str(told.get("kubernetesVersion") or ""),
        "wanted_version": str(docs.known_release.version),
        "endpoint": control_plane_url(docs),
        "pod_subnet": str(networking.get("podSubnet") or asked.networking.pod_subnet),
        "service_subnet": str(networking.get("serviceSubnet") or asked.networking.service_subnet),
        "dns_domain": str(networking.get("dnsDomain") or asked.networking.dns_domain),
    }


def _stored(world: Any) -> Mapping[str, Any]:
    found = world.api.get(_STORED)
    try:
        document = load(str((found or {})["data"]["ClusterConfiguration"]).encode())
    except (KeyError, TypeError, ValueError):
        document = None
    if not isinstance(document, Mapping):
        raise Unusable(str(_STORED), "it holds no ClusterConfiguration", "Run the upload-config phase")
    return document


def _node(node: Manifest) -> dict[str, Any]:
    metadata, spec, status = (node.get(part) or {} for part in ("metadata", "spec", "status"))
    labels = dict(metadata.get("labels") or {})
    conditions = [_condition(each) for each in status.get("conditions") or ()]
    about = status.get("nodeInfo") or {}
    return {
        "name": str(metadata.get("name") or ""),
        "roles": sorted(label[len(_ROLE) :] for label in labels if label.startswith(_ROLE) and len(label) > len(_ROLE)),
        "ready": any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
        "schedulable": not spec.get("unschedulable"),
        "created": str(metadata.get("creationTimestamp") or ""),
        **{name: str(about.get(field) or "") for name, field in _INFO.items()},
        "addresses": [
            {"type": str(each.get("type") or ""), "address": str(each.get("address") or "")} for each in status.get("addresses") or ()
        ],
        "pod_cidrs": [str(each) for each in spec.get("podCIDRs") or ()],
        "labels": labels,
        "taints": [{name: str(each.get(name) or "") for name in ("key", "value", "effect")} for each in spec.get("taints") or ()],
        "conditions": conditions,
    }


def _condition(found: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(found.get(name) or "") for name in ("type", "status", "reason", "message")}


def _addon(key: ObjectKey, live: Manifest) -> dict[str, Any]:
    spec, status = live.get("spec") or {}, live.get("status") or {}
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or [{}]
    image = str(containers[0].get("image") or "")
    wanted = status.get("desiredNumberScheduled") if key.kind == "DaemonSet" else spec.get("replicas", 1)
    ready = status.get("numberReady") if key.kind == "DaemonSet" else status.get("readyReplicas")
    return {
        "name": key.name,
        "kind": key.kind,
        "image": image,
        "version": image.partition("@")[0].rpartition("/")[2].partition(":")[2],
        "wanted": int(wanted or 0),
        "ready": int(ready or 0),
    }
