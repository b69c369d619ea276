# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API for labels and taints of Nodes: labels by server-side apply, taints as one list that nobody writes in between."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import ADMIN, Api
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.node_settings import MANAGER, OWN_TAINTS, Settled, SettleNode, settled
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey

_APPLY_PATCH = "application/apply-patch+yaml"
_MERGE_PATCH = "application/merge-patch+json"
_CONFLICT = 409


class NodeSettingsApi(Api):
    """An API server on whose Nodes we settle what the inventory says."""

    applies: tuple[type[Action], ...] = (SettleNode,)

    def apply(self, action: Action) -> None:
        """Write what is missing, anew from the start whenever somebody was faster."""
        if not isinstance(action, SettleNode):
            return
        if not self._files.exists(ADMIN):
            found = f"{ADMIN} is not on this host, and a node may not set its own labels and taints"
            raise Unusable(f"Node {action.name}", found, "Delegate the task to a control plane, and name the node with the option node")
        key = ObjectKey("v1", "Node", "", action.name)

        def attempt() -> bool:
            node = self.get(key)
            if node is None:
                return False
            found = settled(node, action)
            if not found.changes:
                return True
            return self._write_taints(key, node, found) and self._write_labels(key, node, found)

        self._until(attempt, key, "it did not register, or others kept writing it", "Look at the kubelet's log on that node, and run again")

    def _write_taints(self, key: ObjectKey, node: Manifest, found: Settled) -> bool:
        """Write the list and the note of what is ours in it as one, so that a kill cannot part them."""
        if found.taints is None:
            return True
        patch = {
            "metadata": {
                "resourceVersion": node["metadata"]["resourceVersion"],
                "annotations": {OWN_TAINTS: found.own_taints or None},
            },
            "spec": {"taints": [dict(taint) for taint in found.taints] or None},
        }
        return self._patched(key, {"fieldManager": MANAGER}, patch, _MERGE_PATCH)

    def _write_labels(self, key: ObjectKey, node: Manifest, found: Settled) -> bool:
        if found.labels is None:
            return True
        # With its uid: a Node that is gone meanwhile must not be made by this.
        metadata = {"name": key.name, "uid": node["metadata"]["uid"], "labels": dict(found.labels)}
        manifest = {"apiVersion": key.api_version, "kind": key.kind, "metadata": metadata}
        return self._patched(key, {"fieldManager": MANAGER, "force": "true"}, manifest, _APPLY_PATCH)

    def _patched(self, key: ObjectKey, query: dict[str, str], patch: Any, kind: str) -> bool:
        reply = self._send("PATCH", self._known_path(key), query, patch, kind)
        if reply.status == _CONFLICT:
            return False
        self._body(reply, str(key), "given its labels and taints")
        return True
