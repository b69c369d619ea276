# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests as text, written as kubeadm's YAML library writes them, and read back."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_TAG = "tag:yaml.org,2002:"

# Texts that some reader of YAML would take for a number, a boolean, a date or nothing.
_AMBIGUOUS = re.compile(
    r"""
    | ~ | null | Null | NULL | << | =
    | y | Y | yes | Yes | YES | on | On | ON | true | True | TRUE
    | n | N | no | No | NO | off | Off | OFF | false | False | FALSE
    | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | [-+]?[0-9][0-9_]*
    | [-+]?0[xX][0-9a-fA-F_]+ | [-+]?0[oO]?[0-7_]+ | [-+]?0[bB][01_]+
    | [-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ ]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ ]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?
    """,
    re.VERBOSE | re.ASCII,
)


def dump(document: Any) -> str:
    """Write YAML with sorted keys; what could be read as anything but a text is in double quotes."""
    text: str = yaml.dump(document, Dumper=_dumper(), default_flow_style=False, sort_keys=True, width=80, allow_unicode=True)
    return text


def load(content: bytes) -> Any:
    """Read one YAML document; ValueError when it is none."""
    try:
        return yaml.load(content, Loader=_loader())  # noqa: S506 - a safe loader, in C where there is one
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        raise ValueError("not one YAML document") from None


@lru_cache(maxsize=1)
def _loader() -> Any:
    base: Any = getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader

    class Loader(base):  # type: ignore[misc]
        """Takes for a text what kubeadm's library writes plainly and PyYAML would take for syntax."""

    for kind in ("merge", "value"):
        Loader.add_constructor(f"{_TAG}{kind}", lambda loader, node: node.value)
    return Loader


@lru_cache(maxsize=1)
def _dumper() -> Any:
    base: Any = getattr(yaml, "CSafeDumper", None) or yaml.SafeDumper

    class Dumper(base):  # type: ignore[misc]
        """Writes texts in the styles of kubeadm's library, and values that occur twice in full."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        style = "|" if "\n" in value else '"' if _AMBIGUOUS.fullmatch(value) else None
        return dumper.represent_scalar(f"{_TAG}str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
