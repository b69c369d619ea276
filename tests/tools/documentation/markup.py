# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns the markup of Ansible's documentation into Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tools.documentation.error_texts import HOLE

_MARKUP = re.compile(r"\b(?P<kind>[CVOIBMPUE]|RV)\((?P<text>(?:[^()\\]|\\.|\([^()]*\))*)\)")
_MODULE = "kubephase.cluster."


def as_list(value: Any) -> list[str]:
    """Take a text or a list of texts as a list."""
    return [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []


def markdown(text: str, module: Callable[[str], str] = lambda name: f"modules/{name}.md") -> str:
    """Spell a text of the documentation; a module becomes a link to its page."""

    def spelled(found: re.Match[str]) -> str:
        kind, inside = found["kind"], re.sub(r"\\(.)", r"\1", found["text"])
        if kind == "M" and inside.startswith(_MODULE):
            name = inside.removeprefix(_MODULE)
            return f"[`{name}`]({module(name)})"
        if kind in "IB":
            return f"*{inside}*"
        return f"<{inside}>" if kind == "U" else f"`{inside}`"

    return _MARKUP.sub(spelled, text)


def cell(text: str) -> str:
    """Make a text fit into a table."""
    return " ".join(text.split()).replace("|", "\\|")


def escaped(text: str) -> str:
    """Make a text fit into a table where none of it is markup."""
    return cell(text).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def plain(text: str) -> str:
    """Put a text on one line, with one sign for what follows upon each other and is not known."""
    text = " ".join(text.split())
    while HOLE + HOLE in text:
        text = text.replace(HOLE + HOLE, HOLE)
    return text


def type_of(option: dict[str, Any]) -> str:
    """Name the type of an option with that of its elements."""
    kind = str(option.get("type", "str"))
    return f"{kind} of {option['elements']}" if option.get("elements") else kind


def default_of(option: dict[str, Any]) -> str:
    """Spell the default as somebody would write it in a play."""
    if option.get("required"):
        return "required"
    value = option.get("default")
    if value is None:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def told(option: dict[str, Any], module: Callable[[str], str] = lambda name: f"modules/{name}.md") -> str:
    """Put description and choices of an option into one cell."""
    said = " ".join(markdown(part, module) for part in as_list(option.get("description")))
    if option.get("choices"):
        said += f" One of {', '.join(f'`{choice}`' for choice in option['choices'])}."
    return cell(said)
