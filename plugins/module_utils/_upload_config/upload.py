# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-config phase: the configuration goes into the cluster, where joins and upgrades look for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import runtime_annotation
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import report
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_change, node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import Seen, read_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, PatchNode, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.objects import kubeadm_objects, kubelet_objects

PARTS = ("kubeadm", "kubelet")
_RESOLVER = "systemd-resolved"


@dataclass(frozen=True)
class Observed:
    """The objects, the node where it is to be annotated, and whether systemd-resolved runs on the host."""

    seen: Seen
    node: Manifest | None = None
    resolved: bool = False


class UploadConfigPhase:
    """kubeadm's upload-config phase as read and plan."""

    name = "upload-config"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Ask the API server about every object, as it is and as it would become."""
        # Only releases that let a node's choice of resolv.conf slip into the shared configuration need to know.
        resolved = docs.known_release.resolv_conf_in_config_map and world.systemd.state(_RESOLVER).active
        seen = read_objects(world, _manifests(docs, options, resolved), docs)
        asks = not seen.virgin and _annotation(docs, options) is not None
        return Observed(seen, world.api.get(node_key(docs.node.name)) if asks else None, resolved)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Apply what is missing or differs, and annotate the node where the release does so."""
        manifests = _manifests(docs, options, seen.resolved)
        found = list(changes(manifests, seen.seen.states))
        annotation = _annotation(docs, options)
        if annotation is not None:
            change = node_change(seen.node, annotation)
            found += [change] if change else []
        targets = [*(str(key_of(manifest)) for manifest in manifests), *([str(node_key(docs.node.name))] if annotation else [])]
        return Plan(tuple(found), {"objects": report(targets, found)})


def _manifests(docs: Documents, options: Mapping[str, Any], resolved: bool) -> tuple[Manifest, ...]:
    parts = options.get("names") or PARTS
    kubeadm = kubeadm_objects(docs) if "kubeadm" in parts else ()
    return (*kubeadm, *(kubelet_objects(docs, resolved) if "kubelet" in parts else ()))


def _annotation(docs: Documents, options: Mapping[str, Any]) -> PatchNode | None:
    return runtime_annotation(docs) if "kubelet" in (options.get("names") or PARTS) else None
