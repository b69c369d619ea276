# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Marks on a Node: which are missing, and how that reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import text
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.nodes import marks, with_taints
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey, PatchNode


def node_key(name: str) -> ObjectKey:
    """The key of a Node."""
    return ObjectKey("v1", "Node", "", name)


def node_change(node: Manifest | None, wanted: PatchNode) -> Change | None:
    """Ask for the marks that a node lacks; one that has not registered yet lacks them all."""
    missing = marks(node or {}, wanted)
    if not missing:
        return None
    target = str(node_key(wanted.name))
    after = _shown(node or {}, wanted, marked=True)
    if node is None:
        return Change(target, "it has not registered yet: it is marked as soon as it has", "", after, wanted)
    return Change(target, f"it lacks {_named(missing, wanted, node)}", _shown(node, wanted, marked=False), after, wanted)


def _named(missing: Mapping[str, Any], wanted: PatchNode, node: Manifest) -> str:
    found = [f"the label {name}" for name in missing.get("metadata", {}).get("labels", ())]
    found += [f"the annotation {name}" for name in missing.get("metadata", {}).get("annotations", ())]
    present = (node.get("spec") or {}).get("taints") or []
    found += [
        f"the taint {_taint(taint)}" for taint in wanted.taints if marks({"spec": {"taints": present}}, PatchNode("", taints=(taint,)))
    ]
    return ", ".join(found)


def _taint(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _shown(node: Manifest, wanted: PatchNode, marked: bool) -> str:
    """The part of a node that is looked after: our labels and annotations, and all of its taints."""
    metadata = node.get("metadata") or {}
    document: dict[str, Any] = {}
    for name, values in (("labels", wanted.labels), ("annotations", wanted.annotations)):
        present = metadata.get(name) or {}
        part = dict(values) if marked else {key: present[key] for key in values if key in present}
        if part:
            document[name] = part
    present = (node.get("spec") or {}).get("taints") or []
    # Taints that are all there keep their order.
    changed = marked and marks({"spec": {"taints": present}}, PatchNode("", taints=wanted.taints))
    taints = with_taints(present, wanted.taints) if changed else present
    if taints:
        document["taints"] = [_taint(taint) for taint in taints]
    return text(document) if document else ""
