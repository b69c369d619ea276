# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTML that cannot forget to escape: a text becomes markup only by being built here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_VOID = ("br", "col", "hr", "link", "meta")


class Html(str):
    """Markup that is finished; every other text is escaped where it is put in."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a text; characters that no one can see, or that turn the direction of writing, become visible."""
    if isinstance(value, Html):
        return value
    return Html(escape(_UNSEEN.sub("\ufffd", str(value)), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Build an element; class_ and aria_label stand for attributes that Python cannot spell, None and False leave one out."""
    spelled = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{spelled}>")
    return Html(f"<{name}{spelled}>{joined(children)}</{name}>")


def joined(parts: Iterable[object], between: object = "") -> Html:
    """Put parts one after the other; those that are None are left out."""
    return Html(text(between).join(text(part) for part in parts if part is not None))
