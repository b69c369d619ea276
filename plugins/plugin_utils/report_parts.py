# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small things that pages are made of: states, chips, rings, tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag, text

OK, WARN, BAD, QUIET = "ok", "warn", "bad", "quiet"
_SIGNS = {OK: "✓", WARN: "!", BAD: "✕", QUIET: "–"}


def state(kind: str, said: object) -> Html:
    """A state in a word, with a sign before it: colour alone tells nothing to who cannot see it."""
    return tag("span", tag("span", _SIGNS[kind], class_="sign", aria_hidden="true"), " ", said, class_=f"state {kind}")


def chip(said: object, kind: str = QUIET, title: str | None = None) -> Html:
    """A word in a frame."""
    return tag("span", said, class_=f"chip {kind}", title=title)


def code(said: object) -> Html:
    """A name as machines spell it."""
    return tag("code", said)


def section(name: str, title: str, note: object, *content: object) -> Html:
    """A part of the page with its heading."""
    heading = tag("div", tag("h2", title, id=f"{name}-title"), tag("p", note, class_="note") if note else None, class_="heading")
    return tag("section", heading, *content, id=name, aria_labelledby=f"{name}-title")


def empty(said: object) -> Html:
    """What stands where there is nothing to show."""
    return tag("p", said, class_="empty")


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table whose first column names each row; on a narrow screen every cell says which column it is of."""
    head = tag("thead", tag("tr", *(tag("th", column, scope="col") for column in columns), role="row"))
    body = tag(
        "tbody",
        *(
            tag(
                "tr",
                tag("th", row[0], scope="row", role="rowheader"),
                *(tag("td", cell, data_label=column, role="cell") for column, cell in zip(columns[1:], row[1:])),
                role="row",
            )
            for row in rows
        ),
    )
    return tag("table", tag("caption", caption, class_="unseen"), head, body, class_="stacking", role="table")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of terms with what they are; those that are not known are left out."""
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in ("", None)]
    return tag("dl", *shown, class_="facts")


def ring(share: float, kind: str, inside: object) -> Html:
    """A ring that is filled as far as the share goes."""
    around = 100.0
    circle = {"cx": "18", "cy": "18", "r": "15.915", "fill": "none"}
    filled = round(max(0.0, min(1.0, share)) * around, 2)
    drawn = tag(
        "svg",
        tag("circle", **circle, class_="track"),
        tag("circle", **circle, class_=f"arc {kind}", stroke_dasharray=f"{filled} {around - filled}", stroke_dashoffset="25"),
        viewBox="0 0 36 36",
        aria_hidden="true",
    )
    return tag("span", drawn, tag("span", inside, class_="inside"), class_="ring")


def tile(section_name: str, title: str, kind: str, drawn: Html, said: object, more: object = "") -> Html:
    """One figure at a glance, leading to where it comes from."""
    told = tag("span", tag("span", title, class_="title"), tag("strong", said), tag("small", more) if more else None, class_="told")
    return tag("a", drawn, told, href=f"#{section_name}", class_=f"tile {kind}")


def disclosed(summary: object, *content: object, open_: bool = False, class_: str | None = None) -> Html:
    """Something that opens when it is asked for."""
    return tag("details", tag("summary", summary), *content, open=open_, class_=class_)


def words(items: Iterable[object]) -> Html:
    """Names one after the other, each as machines spell it."""
    return joined((code(item) for item in items), text(" "))
