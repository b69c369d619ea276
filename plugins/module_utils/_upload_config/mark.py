# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mark-control-plane phase: labels and taints by which a node is known as a control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Taint
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import report
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_change, node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import server_of, virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, PatchNode


@dataclass(frozen=True)
class Observed:
    """The node as the API has it; None where it has not registered, or where there is no API yet."""

    node: Manifest | None


class MarkControlPlanePhase:
    """kubeadm's mark-control-plane phase as read and plan."""

    name = "mark-control-plane"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Ask for the node."""
        if virgin_host(world):
            return Observed(None)
        world.api.talk_to(server_of(docs))
        return Observed(world.api.get(node_key(docs.node.name)))

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Add what is missing; a label or taint of somebody else's stays."""
        change = node_change(seen.node, marks_of(docs))
        found = (change,) if change else ()
        return Plan(found, {"objects": report([str(node_key(docs.node.name))], found)})


def marks_of(docs: Documents) -> PatchNode:
    """The labels of the release and the taints of the documents; an empty list of taints means none."""
    labels = dict.fromkeys(docs.known_release.control_plane_labels, "")
    return PatchNode(docs.node.name, labels=labels, taints=tuple(_taint(taint) for taint in docs.registration.taints or ()))


def _taint(taint: Taint) -> dict[str, str]:
    fields = {"key": taint.key, "value": taint.value, "effect": taint.effect, "timeAdded": taint.time_added}
    return {name: value for name, value in fields.items() if value}
