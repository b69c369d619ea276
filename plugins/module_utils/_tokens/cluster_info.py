# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cluster-info ConfigMap, by which a joining node comes to know the cluster."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import dump, parse
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey

CLUSTER_INFO = ObjectKey("v1", "ConfigMap", "kube-public", "cluster-info")

_UNKNOWN_AUTHORITY = "(the authority that the certs phase makes)"


def authority_path(admin: FileState) -> str:
    """Tell where a kubeconfig keeps its certificate authority when that is a file of its own."""
    found = parse(admin.path, admin.content)
    if found.authority or not found.authority_file:
        return ""
    return posixpath.join(posixpath.dirname(admin.path), found.authority_file)


def cluster_of(admin: FileState, authority: FileState | None) -> dict[str, Any]:
    """Copy the cluster that a kubeconfig leads to, with the authority inside it."""
    document = parse(admin.path, admin.content).document
    context = _named(document["contexts"], document["current-context"])["context"]
    cluster = dict(_named(document["clusters"], context["cluster"])["cluster"])
    if "certificate-authority-data" not in cluster and "certificate-authority" in cluster:
        if authority is None:
            raise Unusable(admin.path, f"its certificate authority {cluster['certificate-authority']} is missing", "Restore that file")
        cluster["certificate-authority-data"] = base64.b64encode(authority.content).decode()
    cluster.pop("certificate-authority", None)
    return cluster


def expected_cluster(server: str) -> dict[str, Any]:
    """Tell what a host without admin.conf will have there, as far as it is known."""
    return {"certificate-authority-data": _UNKNOWN_AUTHORITY, "server": server}


def config_map(cluster: Mapping[str, Any], preferences: bool) -> Manifest:
    """Render cluster-info; its signatures are keys of their own that the controller manager adds."""
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "clusters": [{"cluster": dict(cluster), "name": ""}],
        "contexts": None,
        "current-context": "",
        "kind": "Config",
        "users": None,
    }
    if preferences:
        document["preferences"] = {}
    # Signatures cover the text, so it must be kubeadm's to the byte: Go writes an empty text in double quotes.
    text = dump(document).replace("\n  name: ''\n", '\n  name: ""\n').replace("\ncurrent-context: ''\n", '\ncurrent-context: ""\n')
    return {
        "apiVersion": CLUSTER_INFO.api_version,
        "kind": CLUSTER_INFO.kind,
        "metadata": {"name": CLUSTER_INFO.name, "namespace": CLUSTER_INFO.namespace},
        "data": {"kubeconfig": text},
    }


def _named(entries: Any, name: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(entry for entry in entries if isinstance(entry, dict) and entry.get("name") == name)
    return found
