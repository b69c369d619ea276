# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who owns which field of an object, as its managedFields tell; and what remains when kubeadm's fields become ours."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

MANAGER = "kubephase"
# Writers by update whose fields are ours by right: kubeadm, whose work we carry on, and our own creations.
_TAKEN_OVER = ("kubeadm", MANAGER)
_ABSENT: Any = object()


def taken_over(live: Manifest) -> list[dict[str, Any]] | None:
    """The managedFields of an object once kubeadm's entry is ours, or None when there is nothing to take over."""
    entries = _entries(live)
    theirs = [entry for entry in entries if _is_taken(entry)]
    if not theirs:
        return None
    mine = [entry for entry in entries if _is_ours(entry)]
    fields: dict[str, Any] = {}
    for entry in (*mine, *theirs):
        fields = _united(fields, entry.get("fieldsV1") or {})
    merged = {**theirs[0], "manager": MANAGER, "operation": "Apply", "fieldsV1": fields}
    return [merged, *(entry for entry in entries if not _is_taken(entry) and not _is_ours(entry))]


def foreseen(live: Manifest, applied: Manifest, manifest: Manifest) -> Manifest:
    """What an apply after the take-over starts from: without the fields that only kubeadm owned and we do not render.

    A dry run of an apply cannot be asked for this: it starts from the ownership that is stored, and there kubeadm still has
    them. Among them are defaults, which kubeadm owns because it created the object; the server puts those back.
    """
    entries = _entries(live)
    theirs = [entry.get("fieldsV1") or {} for entry in entries if _is_taken(entry)]
    others = [entry.get("fieldsV1") or {} for entry in entries if not _is_taken(entry) and not _is_ours(entry)]
    if not theirs:
        return applied
    result = copy.deepcopy(dict(applied))
    for fields in theirs:
        _prune(result, fields, manifest, others)
    return result


def _entries(live: Manifest) -> list[dict[str, Any]]:
    return list(live.get("metadata", {}).get("managedFields") or ())


def _is_taken(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") in _TAKEN_OVER and entry.get("operation") == "Update" and not entry.get("subresource")


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return entry.get("manager") == MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource")


def _united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _united(one.get(name, {}), other.get(name, {})) for name in {**one, **other}}


def _prune(value: Any, owned: Mapping[str, Any], rendered: Any, others: Sequence[Mapping[str, Any]], keys: Iterable[str] = ()) -> None:
    """Remove from value, in place, what is owned but neither rendered nor anybody else's; keys tell an item from the others."""
    for step, below in owned.items():
        kind, _rest, name = step.partition(":")
        if step == "." or kind not in ("f", "k", "v") or (kind == "f" and name in keys):
            continue
        place = _find(value, kind, name)
        if place is None:
            continue
        wanted_place = _find(rendered, kind, name)
        wanted = _ABSENT if wanted_place is None else rendered[wanted_place]
        sharers = [other[step] for other in others if step in other]
        inner = any(each != "." for each in below)
        if inner:
            _prune(value[place], below, wanted, sharers, json.loads(name) if kind == "k" else ())
        if wanted is _ABSENT and not sharers and (not inner or not _left(value[place], below)):
            del value[place]


def _left(value: Any, owned: Mapping[str, Any]) -> bool:
    """Whether anything but the keys of a list's item is still in a container whose fields were pruned."""
    return bool(value) and "." not in owned


def _find(value: Any, kind: str, name: str) -> Any:
    """Where a step of a field path leads in a value: a key of a mapping, an index of a list, or None."""
    if kind == "f":
        return name if isinstance(value, dict) and name in value else None
    if not isinstance(value, list):
        return None
    wanted = json.loads(name)
    for index, item in enumerate(value):
        if kind == "v" and item == wanted:
            return index
        if kind == "k" and isinstance(item, dict) and all(item.get(key, _default(key)) == part for key, part in wanted.items()):
            return index
    return None


def _default(key: str) -> Any:
    # The only key of an associative list that may be left out in a manifest.
    return "TCP" if key == "protocol" else None
