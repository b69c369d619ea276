# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Strategic merge patches: lists of the Kubernetes API merge by the key of their elements, and directives say otherwise."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.json_patch import PatchFailed, same

# Lists inside a pod that merge, by the field that tells their elements apart; all others are replaced whole.
POD_MERGE_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "ownerReferences": "uid",
    "finalizers": "",  # plain texts: the union
    "conditions": "type",
}
NO_MERGE_KEYS: Mapping[str, str] = {}

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic(document: Mapping[str, Any], patch: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    """Apply a strategic merge patch; neither argument is changed."""
    return _map(copy.deepcopy(dict(document)), copy.deepcopy(dict(patch)), keys)


def _map(original: dict[str, Any], patch: dict[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    if _PATCH in patch:
        return _directed(patch)
    _retain(original, patch)
    _order(original, patch, keys)
    for field, value in patch.items():
        if field.startswith(_DELETE):
            _delete_texts(original, field[len(_DELETE) :], value)
        elif value is None:
            original.pop(field, None)
        elif isinstance(value, dict) and isinstance(original.get(field), dict):
            original[field] = _map(original[field], value, keys)
        elif isinstance(value, list) and isinstance(original.get(field), list) and field in keys:
            original[field] = _list(field, original[field], value, keys)
        elif isinstance(value, list) and isinstance(original.get(field), list):
            original[field] = value
        else:
            kept, stays = _undirected(value)
            original.pop(field, None)
            if stays:
                original[field] = kept
    return original


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch.pop(_PATCH)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise PatchFailed(f"$patch: {directive!r} on a map; only replace and delete are possible")


def _retain(original: dict[str, Any], patch: dict[str, Any]) -> None:
    """Remove from the original what $retainKeys does not list."""
    if _RETAIN not in patch:
        return
    retained = patch.pop(_RETAIN)
    if not isinstance(retained, list):
        raise PatchFailed("$retainKeys is not a list")
    for field, value in patch.items():
        if value is not None and not field.startswith((_ORDER, _DELETE)) and field not in retained:
            raise PatchFailed(f"$retainKeys does not list {field}, which the patch sets")
    for field in [name for name in original if name not in retained]:
        del original[field]


def _order(original: dict[str, Any], patch: dict[str, Any], keys: Mapping[str, str]) -> None:
    """Merge the lists whose order the patch dictates, and put them into that order."""
    for directive in [field for field in patch if field.startswith(_ORDER)]:
        wanted, field = patch.pop(directive), directive[len(_ORDER) :]
        if not isinstance(wanted, list):
            raise PatchFailed(f"{directive} is not a list")
        if not field or (field not in original and field not in patch):
            continue
        key = keys.get(field, "")
        before, added = original.get(field, []), patch.pop(field, None)
        if not isinstance(before, list) or not isinstance(added, (list, type(None))):
            raise PatchFailed(f"{field} is not a list")
        _check_order(directive, added or [], wanted, key)
        merged = before
        if added is not None:
            merged = _undirected(added)[0] if field not in original else added if field not in keys else _list(field, before, added, keys)
        chosen = [item for item in merged if _place(wanted, item, key) >= 0]
        others = [item for item in merged if _place(wanted, item, key) < 0]
        original[field] = _interleaved(others, chosen, wanted, before, key)


def _check_order(directive: str, added: list[Any], wanted: list[Any], key: str) -> None:
    """Every element that the patch sets must be listed, in the same order."""
    places = [_place(wanted, item, key) for item in added if not (isinstance(item, dict) and _PATCH in item)]
    if wanted and (-1 in places or places != sorted(places)):
        raise PatchFailed(f"{directive} does not list the elements of the patch in their order")


def _delete_texts(original: dict[str, Any], field: str, gone: Any) -> None:
    if not field or not isinstance(gone, list):
        raise PatchFailed("$deleteFromPrimitiveList needs the name of a list and a list")
    if isinstance(original.get(field), list):
        original[field] = [item for item in original[field] if not any(same(item, each) for each in gone)]


def _list(field: str, original: list[Any], patch: list[Any], keys: Mapping[str, str]) -> list[Any]:
    key = keys[field]
    if not key:
        union = list(original)
        union += [item for index, item in enumerate(patch) if _place([*original, *patch[:index]], item, "") < 0]
        return _interleaved(
            [i for i in union if _place(patch, i, "") < 0], [i for i in union if _place(patch, i, "") >= 0], patch, original, ""
        )
    for item in (*original, *patch):
        if not isinstance(item, dict):
            raise PatchFailed(f"an element of {field} is not a map")
    original, patch = _without_special(field, original, patch, key)
    result = list(original)
    for item in patch:
        if key not in item:
            raise PatchFailed(f"an element of {field} has no {key}, by which they are told apart")
        index = _place(result, item, key)
        if index >= 0:
            result[index] = _map(result[index], item, keys)
        else:
            result.append(item)
    chosen = [item for item in result if _place(patch, item, key) >= 0]
    others = [item for item in result if _place(patch, item, key) < 0]
    return _interleaved(others, chosen, patch, original, key)


def _without_special(field: str, original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the $patch directives among the elements."""
    plain, replace = [], False
    for item in patch:
        directive = item.get(_PATCH)
        if _PATCH not in item:
            plain.append(item)
        elif directive == "replace":
            replace = True
        elif directive == "delete":
            if key not in item:
                raise PatchFailed(f"an element of {field} is to be deleted and has no {key}")
            original = [each for each in original if not (key in each and same(each[key], item[key]))]
        else:
            raise PatchFailed(f"$patch: {directive!r} in {field}; only replace and delete are possible")
    return (plain, []) if replace else (original, plain)


def _interleaved(others: list[Any], chosen: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Put the patch's elements into the patch's order, and each of the others before the first that used to follow it."""
    chosen = sorted(chosen, key=lambda item: _place(order, item, key))
    result: list[Any] = []
    others = list(others)
    while others and chosen:
        left, right = _place(before, others[0], key), _place(before, chosen[0], key)
        result.append(others.pop(0) if 0 <= left < right else chosen.pop(0))
    return result + others + chosen


def _place(items: list[Any], wanted: Any, key: str) -> int:
    for index, item in enumerate(items):
        if key:
            if isinstance(item, dict) and isinstance(wanted, dict) and key in item and key in wanted and same(item[key], wanted[key]):
                return index
        elif same(item, wanted):
            return index
    return -1


def _undirected(value: Any) -> tuple[Any, bool]:
    """Take a value that is new: directives in it have nothing to act on, and nulls nothing to remove."""
    if isinstance(value, dict):
        if _PATCH in value:
            return None, False
        cleaned = {field: _undirected(each) for field, each in value.items() if each is not None}
        return {field: each for field, (each, stays) in cleaned.items() if stays and not field.startswith("$")}, True
    if isinstance(value, list):
        return [each for each, stays in map(_undirected, value) if stays], True
    return value, True
