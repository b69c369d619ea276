# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints of the inventory on a Node: those that lack are added, ours that are not wanted any more go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.wanted import LABELS, TAINTS, read
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import report, text
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import ADMIN, server_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.node_settings import (
    SettleNode,
    labels_after,
    owned_labels,
    settled,
    spelled,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest


@dataclass(frozen=True)
class Observed:
    """The node as the API has it; None where it has not registered, or where nobody can be asked yet."""

    node: Manifest | None


class NodeSettingsPhase:
    """Labels and taints from the inventory as read and plan; kubeadm has no such phase."""

    name = "node-settings"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Ask for the node: as the administrator where that is possible, else as the node itself, which may look but not write."""
        key = node_key(_node(docs, options))
        if world.files.exists(ADMIN):
            world.api.talk_to(server_of(docs))
            return Observed(world.api.get(key))
        return Observed(world.node_api.get(key) if world.node_api.admitted() else None)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Compare with what is wanted, and with what an earlier run has set."""
        labels, taints = read(options.get(LABELS) or {}, options.get(TAINTS) or ())
        wanted = SettleNode(_node(docs, options), labels, taints)
        change = _change(seen.node, wanted)
        found = (change,) if change else ()
        return Plan(found, {"objects": report([str(node_key(wanted.name))], found)})


def _node(docs: Documents, options: Mapping[str, Any]) -> str:
    return str(options.get("node") or docs.node.name)


def _change(node: Manifest | None, wanted: SettleNode) -> Change | None:
    target = str(node_key(wanted.name))
    if node is None:
        shown = _shown(wanted.labels, [spelled(taint) for taint in wanted.taints])
        reason = "it has not registered yet: it gets its labels and taints as soon as it has"
        return Change(target, reason, "", shown, wanted) if shown else None
    found = settled(node, wanted)
    if not found.changes:
        return None
    present, after = (node.get("metadata") or {}).get("labels") or {}, labels_after(node, wanted)
    ours, _others = owned_labels(node)
    told = sorted({*ours, *wanted.labels})
    before_taints = [spelled(taint) for taint in (node.get("spec") or {}).get("taints") or ()]
    after_taints = before_taints if found.taints is None else [spelled(taint) for taint in found.taints]
    return Change(
        target,
        _because(present, after, before_taints, after_taints),
        _shown({name: present[name] for name in told if name in present}, before_taints),
        _shown({name: after[name] for name in told if name in after}, after_taints),
        wanted,
    )


def _because(before: Mapping[str, str], after: Mapping[str, str], taints: list[str], taints_after: list[str]) -> str:
    lacks = [f"the label {name}" for name, value in after.items() if before.get(name) != value]
    lacks += [f"the taint {each}" for each in taints_after if each not in taints]
    surplus = [f"the label {name}" for name in before if name not in after]
    surplus += [f"the taint {each}" for each in taints if each not in taints_after]
    said = [f"it lacks {', '.join(lacks)}"] if lacks else []
    said += [f"the inventory does not ask for {', '.join(surplus)} any more"] if surplus else []
    return "; ".join(said) or "it is not noted yet which of its labels and taints the inventory asks for"


def _shown(labels: Mapping[str, str], taints: list[str]) -> str:
    document: dict[str, Any] = {**({"labels": dict(labels)} if labels else {}), **({"taints": taints} if taints else {})}
    return text(document) if document else ""
