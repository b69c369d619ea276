# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration that a cluster keeps for those who join it, read with whatever credentials the host has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import ADMIN, Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_credentials import usable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

KUBELET = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
_NAMESPACE = "kube-system"
_CLUSTER = ObjectKey("v1", "ConfigMap", _NAMESPACE, "kubeadm-config")


def stored_documents(files: Any, kubelet_config_map: Callable[[str], str]) -> dict[str, Mapping[str, Any]]:
    """Fetch the documents of cluster and kubelet by the object they lie in; nothing while this host has no way to the cluster.

    The kubelet's ConfigMap is named after the release in older ones, which the first document tells:
    ``kubelet_config_map`` gives its name for a version.
    """
    present = [path for path in (ADMIN, KUBELET, BOOTSTRAP) if files.exists(path)]
    if not present:
        return {}
    # A kubelet writes its kubeconfig before it has the certificate that it names.
    credentials = next((path for path in present if usable(files, path)), present[0])
    api = Api(files, credentials)
    if credentials == BOOTSTRAP and api.rejected():
        # Left by a join that did not come to its end, and its token is no more: discovery writes the file anew.
        return {}
    cluster = _document(api, _CLUSTER, "ClusterConfiguration")
    name = kubelet_config_map(str(cluster.get("kubernetesVersion") or ""))
    kubelet = _document(api, ObjectKey("v1", "ConfigMap", _NAMESPACE, name), "kubelet")
    return {_CLUSTER.name: cluster, name: kubelet}


def _document(api: Api, key: ObjectKey, entry: str) -> Mapping[str, Any]:
    found = api.get(key)
    text = (found or {}).get("data", {}).get(entry)
    if not text:
        what = "the cluster has no such object" if found is None else f"it has no entry {entry}"
        raise Unusable(str(key), what, "Was this cluster made by kubeadm? Otherwise give a ClusterConfiguration in the documents")
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        document = None
    if not isinstance(document, dict):
        raise Unusable(str(key), f"its entry {entry} is not a YAML map", "Restore it, or give a ClusterConfiguration in the documents")
    return document
