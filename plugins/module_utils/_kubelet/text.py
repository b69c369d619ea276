# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts as Go programs write them: quoted strings, and YAML down to its quotation marks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\"}

# What a YAML 1.1 reader would not take for a text; Go's encoder puts these in double quotation marks.
_NOT_A_TEXT = re.compile(
    r"""
    | ~ | null | Null | NULL
    | y | Y | yes | Yes | YES | n | N | no | No | NO
    | true | True | TRUE | false | False | FALSE
    | on | On | ON | off | Off | OFF
    | [-+]? \.(inf|Inf|INF) | \.(nan|NaN|NAN)
    | [-+]? 0[xX] [0-9a-fA-F_]+ | [-+]? 0[bB] [01_]+ | [-+]? 0[oO] [0-7_]+
    | [-+]? [0-9_]* \.? [0-9_]+ ([eE][-+]?[0-9]+)?
    | [-+]? [0-9] [0-9_]* \. ([eE][-+]?[0-9]+)?
    | [-+]? [0-9] [0-9_]* (:[0-5]?[0-9])+ (\.[0-9_]*)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} ([Tt ].*)?
    """,
    re.VERBOSE,
)


def go_quoted(text: str) -> str:
    """Quote a text as Go's %q does."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # Go takes the space for the one printable white space, as Python does.
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def dump(document: Mapping[str, Any]) -> str:
    """Write YAML as kubeadm does: keys sorted, lists not indented, only what could be misread in double quotation marks."""
    text: str = yaml.dump(
        document, Dumper=_dumper(), default_flow_style=False, sort_keys=True, allow_unicode=True, width=80, line_break="\n"
    )
    return text


def load(content: bytes) -> Any:
    """Read YAML, or raise ValueError; what is read is plain data."""
    try:
        return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise ValueError("it is not valid YAML") from problem


def _dumper() -> Any:
    """Make a dumper with Go's habits, in C where PyYAML has it."""
    base = getattr(yaml, "CSafeDumper", None) or yaml.SafeDumper

    class Dumper(base):  # type: ignore[misc,valid-type]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(str, _represent_text)
    Dumper.add_representer(float, _represent_number)
    return Dumper


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        style = "|"
    elif _NOT_A_TEXT.fullmatch(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_number(dumper: Any, number: float) -> Any:
    return dumper.represent_int(int(number)) if number.is_integer() else dumper.represent_float(number)
