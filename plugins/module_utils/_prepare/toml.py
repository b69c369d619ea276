# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TOML as far as containerd's configuration needs it: a tree written out, and the settings of a text by their paths."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|$)""")


def render(tree: Mapping[str, Any]) -> str:
    """Write a tree of tables; the keys of a table come before the tables in it."""
    return "\n".join(_tables(tree, ())).lstrip("\n") + "\n"


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one tree over another; where both have a value, that of the upper one counts."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(str(key))
        result[str(key)] = merged(below, value) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return result


def flat(tree: Mapping[str, Any], above: Path = ()) -> dict[Path, str]:
    """List the settings of a tree by their paths, each as it would be written."""
    found: dict[Path, str] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found.update(flat(value, (*above, str(key))))
        else:
            found[(*above, str(key))] = _value(value)
    return found


def settings(text: str) -> dict[Path, str]:
    """Read the settings of a text line by line; a value over several lines is not understood and left out."""
    found: dict[Path, str] = {}
    table: Path = ()
    for line in text.splitlines():
        stripped = _without_comment(line).strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            table = _path(stripped.strip("[]"))
        elif "=" in stripped:
            key, _equals, value = _split(stripped)
            if key:
                found[(*table, *key)] = _normal(value)
    return found


def named(path: Path) -> str:
    """Write a path as a table's header does."""
    return ".".join(_key(part) for part in path)


def _tables(tree: Mapping[str, Any], above: Path) -> list[str]:
    values = [(key, value) for key, value in tree.items() if not isinstance(value, Mapping)]
    below = [(key, value) for key, value in tree.items() if isinstance(value, Mapping)]
    lines = ["", f"[{named(above)}]"] if above and (values or not below) else []
    lines += [f"{'  ' if above else ''}{_key(str(key))} = {_value(value)}" for key, value in values]
    return lines + [line for key, value in below for line in _tables(value, (*above, str(key)))]


def _key(part: str) -> str:
    return part if _BARE.fullmatch(part) else json.dumps(part)


def _value(value: Any) -> str:
    """JSON writes texts, numbers, truth values and lists of them as TOML does."""
    return json.dumps(value, ensure_ascii=False)


def _normal(value: str) -> str:
    literal = re.fullmatch(r"'([^']*)'", value)
    if literal:
        return _value(literal[1])
    try:
        return _value(json.loads(value))
    except ValueError:
        return value


def _split(line: str) -> tuple[Path, str, str]:
    """Part key and value at the first equals sign that is not inside quotes."""
    quote = ""
    for position, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "=":
            return _path(line[:position]), "=", line[position + 1 :].strip()
    return (), "", ""


def _without_comment(line: str) -> str:
    quote = ""
    for position, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#":
            return line[:position]
    return line


def _path(text: str) -> Path:
    parts, position = [], 0
    while position < len(text):
        found = _PART.match(text, position)
        if found is None or found.end() == position:
            return ()
        parts.append(next(part for part in found.groups() if part is not None))
        position = found.end()
    return tuple(parts)
