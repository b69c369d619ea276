# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints that the inventory gives a Node, and which of those on it are ours to take away again.

Whose a label is, the server itself keeps track of: each field manager owns those that it applied. Taints are one atomic list,
of which nobody can own a part, so that ours are noted in an annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

# Not the manager that marks control planes: what that one gives a Node must not go with what the inventory takes back.
MANAGER = "kubephase-node-settings"
OWN_TAINTS = "kubephase.cluster/node-taints"

Taint = Mapping[str, str]


@dataclass(frozen=True)
class SettleNode(Action):
    """Give a Node these labels and taints, take away those of ours that are not among them, and leave what others put there."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True)
class Settled:
    """What of a Node would be ours; None where nothing of that kind has to be written."""

    # All labels that we apply.
    labels: Mapping[str, str] | None = None
    # The whole list of taints, and the note of which are ours.
    taints: tuple[Mapping[str, Any], ...] | None = None
    own_taints: str = ""

    @property
    def changes(self) -> bool:
        """Whether anything has to be written."""
        return self.labels is not None or self.taints is not None


def settled(node: Manifest, wanted: SettleNode) -> Settled:
    """Find out what has to be written to a Node, if anything."""
    present = (node.get("metadata") or {}).get("labels") or {}
    ours, _others = owned_labels(node)
    stale = any(present.get(name) != value for name, value in wanted.labels.items()) or ours != set(wanted.labels)
    taints, note = _taints(node, wanted.taints)
    before = tuple((node.get("spec") or {}).get("taints") or ())
    same = taints == before and note == _note(node)
    return Settled(dict(wanted.labels) if stale else None, None if same else taints, note)


def labels_after(node: Manifest, wanted: SettleNode) -> dict[str, str]:
    """The labels of a Node as the server will have them: one that another manager owns as well stays when we let go of it."""
    present = dict((node.get("metadata") or {}).get("labels") or {})
    ours, others = owned_labels(node)
    gone = ours - others - set(wanted.labels)
    return {**{name: value for name, value in present.items() if name not in gone}, **wanted.labels}


def owned_labels(node: Manifest) -> tuple[set[str], set[str]]:
    """Tell the labels that we have applied, and those that others own."""
    ours: set[str] = set()
    others: set[str] = set()
    for entry in (node.get("metadata") or {}).get("managedFields") or ():
        mine = entry.get("manager") == MANAGER and entry.get("operation") == "Apply"
        fields = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
        (ours if mine else others).update(step[len("f:") :] for step in fields if step.startswith("f:"))
    return ours, others


def spelled(taint: Mapping[str, Any]) -> str:
    """Write a taint as kubectl takes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _taints(node: Manifest, wanted: Iterable[Taint]) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """All taints of a Node as they should be, and the note of those which are ours.

    A wanted taint that somebody else has set alike stays theirs: it must not go when the inventory lets go of it.
    """
    before = tuple((node.get("spec") or {}).get("taints") or ())
    noted = {_identity(taint) for taint in noted_taints(node)}
    wanted = tuple(wanted)
    asked = {_identity(taint): taint for taint in wanted}
    kept = [taint for taint in before if _identity(taint) not in noted or _identity(taint) in asked]
    after: list[Mapping[str, Any]] = []
    theirs = set()
    for taint in kept:
        identity = _identity(taint)
        like = identity in asked and (taint.get("value") or "") == (asked[identity].get("value") or "")
        if identity not in asked or like:
            after.append(taint)
        if like and identity not in noted:
            theirs.add(identity)
    carried = {_identity(taint) for taint in after}
    after += [dict(taint) for taint in wanted if _identity(taint) not in carried]
    return tuple(after), ",".join(sorted(spelled(taint) for taint in wanted if _identity(taint) not in theirs))


def noted_taints(node: Manifest) -> tuple[dict[str, str], ...]:
    """Read the note of our taints; what is no taint in it is nobody's."""
    found = []
    for text in _note(node).split(","):
        front, colon, effect = text.rpartition(":")
        key, _equals, value = front.partition("=")
        if colon and key and effect:
            found.append({"key": key, "value": value, "effect": effect})
    return tuple(found)


def _note(node: Manifest) -> str:
    return str(((node.get("metadata") or {}).get("annotations") or {}).get(OWN_TAINTS) or "")


def _identity(taint: Mapping[str, Any]) -> tuple[str, str]:
    return str(taint.get("key", "")), str(taint.get("effect", ""))
