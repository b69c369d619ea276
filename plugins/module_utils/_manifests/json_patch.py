# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Patches of JSON documents by the two RFCs: merge patches (7386) and lists of operations (6902)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any


class PatchFailed(Exception):
    """A patch that does not fit the document; the message says where and why, and quotes no value."""


def merged(document: Any, patch: Any) -> Any:
    """Apply a merge patch: maps are merged, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def operated(document: Any, operations: Any) -> Any:
    """Apply a list of operations, all or none."""
    if not isinstance(operations, Sequence) or isinstance(operations, str):
        raise PatchFailed("it is not a list of operations")
    result = copy.deepcopy(document)
    for index, operation in enumerate(operations):
        if not isinstance(operation, Mapping):
            raise PatchFailed(f"operation {index} is not a map with op and path")
        try:
            result = _operate(result, operation)
        except PatchFailed as problem:
            raise PatchFailed(f"operation {index} ({operation.get('op')} {operation.get('path')}): {problem}") from None
    return result


def _operate(document: Any, operation: Mapping[str, Any]) -> Any:
    kind, path = operation.get("op"), _pointer(operation, "path")
    if kind == "remove":
        return _removed(document, path)
    if kind == "add":
        return _added(document, path, _value(operation))
    if kind == "replace":
        return _replaced(document, path, _value(operation))
    if kind == "move":
        source = _pointer(operation, "from")
        if path[: len(source)] == source and path != source:
            raise PatchFailed("a value cannot be moved into itself")
        value = _found(document, source)
        return _added(_removed(document, source), path, value)
    if kind == "copy":
        return _added(document, path, copy.deepcopy(_found(document, _pointer(operation, "from"))))
    if kind == "test":
        if not same(_found(document, path), _value(operation)):
            raise PatchFailed("the value there is another one")
        return document
    raise PatchFailed("op must be one of add, remove, replace, move, copy, test")


def same(one: Any, other: Any) -> bool:
    """Compare as JSON does: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other))
    return bool(one == other)


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchFailed("it has no value")
    return copy.deepcopy(operation["value"])


def _pointer(operation: Mapping[str, Any], field: str) -> list[str]:
    pointer = operation.get(field)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchFailed(f"{field} must be a pointer such as /spec/containers/0")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _found(document: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list):
            document = document[_index(part, len(document) - 1)]
        else:
            raise PatchFailed("there is no such path")
    return document


def _added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    holder, last = _found(document, path[:-1]), path[-1]
    if isinstance(holder, dict):
        holder[last] = value
    elif isinstance(holder, list):
        holder.insert(len(holder) if last == "-" else _index(last, len(holder)), value)
    else:
        raise PatchFailed("there is no such path")
    return document


def _removed(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchFailed("the whole document cannot be removed")
    _found(document, path)
    holder, last = _found(document, path[:-1]), path[-1]
    if isinstance(holder, list):
        del holder[_index(last, len(holder) - 1)]
    else:
        del holder[last]
    return document


def _replaced(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    _found(document, path)
    holder, last = _found(document, path[:-1]), path[-1]
    if isinstance(holder, list):
        holder[_index(last, len(holder) - 1)] = value
    else:
        holder[last] = value
    return document


def _index(text: str, highest: int) -> int:
    if not text.isascii() or not text.isdigit() or (text != "0" and text.startswith("0")) or int(text) > highest:
        raise PatchFailed("there is no such index")
    return int(text)
