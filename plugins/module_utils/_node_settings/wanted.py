# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints as the inventory writes them: spelled as Kubernetes takes them, or refused with all that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

LABELS, TAINTS = "node_labels", "node_taints"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_WORD = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_LONGEST_DOMAIN = 253
_KEYS = {"key", "value", "effect"}
_NAME_RULE = "Write letters, digits, '-', '_' and '.', at most 63, with a domain and '/' before them if it needs one"
_VALUE_RULE = "Write at most 63 letters, digits, '-', '_' and '.', or nothing"


def read(labels: Mapping[str, Any], taints: Any) -> tuple[dict[str, str], tuple[dict[str, str], ...]]:
    """Check both and spell them; every finding in one error."""
    findings = [*_wrong_labels(labels), *_wrong_taints(taints)]
    if findings:
        raise ManyUnusable(tuple(findings))
    return (
        {str(name): _text(value) or "" for name, value in labels.items()},
        tuple(_taint(each) for each in taints),
    )


def _wrong_labels(labels: Mapping[str, Any]) -> Iterator[Unusable]:
    for name, value in labels.items():
        where = f"{LABELS}.{name}"
        if not _is_name(str(name)):
            yield Unusable(where, f"{name!r} is not the name of a label", _NAME_RULE)
        if not _is_value(value):
            yield Unusable(where, f"{value!r} is not the value of a label", _VALUE_RULE)


def _wrong_taints(taints: Any) -> Iterator[Unusable]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where = f"{TAINTS}[{index}]"
        if not isinstance(taint, Mapping) or not {"key", "effect"} <= set(taint) or set(taint) - _KEYS:
            yield Unusable(where, "it is not a taint", "Give a key, an effect and, if it needs one, a value")
            continue
        if not _is_name(str(taint["key"])):
            yield Unusable(f"{where}.key", f"{taint['key']!r} is not the key of a taint", _NAME_RULE)
        if taint["effect"] not in EFFECTS:
            yield Unusable(f"{where}.effect", f"{taint['effect']!r} is no effect", f"Choose one of {', '.join(EFFECTS)}")
        if not _is_value(taint.get("value")):
            yield Unusable(f"{where}.value", f"{taint['value']!r} is not the value of a taint", _VALUE_RULE)
        identity = (str(taint["key"]), str(taint["effect"]))
        if identity in seen:
            yield Unusable(where, f"{identity[0]}:{identity[1]} is listed twice", "A node has one taint of a key and effect: keep one")
        seen.add(identity)


def _taint(given: Mapping[str, Any]) -> dict[str, str]:
    fields = {"key": str(given["key"]), "value": _text(given.get("value")) or "", "effect": str(given["effect"])}
    return {name: value for name, value in fields.items() if value}


def _is_name(name: str) -> bool:
    domain, slash, word = name.rpartition("/")
    return _WORD.fullmatch(word) is not None and (not slash or (len(domain) <= _LONGEST_DOMAIN and _DOMAIN.fullmatch(domain) is not None))


def _is_value(value: Any) -> bool:
    text = _text(value)
    return text is not None and (not text or _WORD.fullmatch(text) is not None)


def _text(value: Any) -> str | None:
    """Spell what YAML reads as something else than a text: nobody who writes true or 3 there means anything but these words."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int)) else None
