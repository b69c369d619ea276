# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The timeline of certificates: one row each, on one scale, coloured and worded by how near its end is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import SOON, WATCH
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_parts import (
    BAD,
    OK,
    WARN,
    chip,
    code,
    disclosed,
    empty,
    facts,
    section,
    words,
)
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import date, days_until, moment, month, until

_PKI = "/etc/kubernetes/pki/"
_CONFIGURATION = "/etc/kubernetes/"
# Whoever lets a certificate end in the year 9999 means never.
_LEAST, _MOST = timedelta(days=60), timedelta(days=36525)
# How much of the width lies before today.
_PAST = 0.06
_MOST_TICKS = 7
# Hundredths of the width that a word on the axis needs on either side.
_ROOM = 5
_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240)


@dataclass(frozen=True)
class Scale:
    """From which to which moment the timeline goes."""

    start: datetime
    end: datetime
    now: datetime

    def place(self, when: datetime) -> float:
        """Where a moment lies, in hundredths of the width; what is outside lies at the edge."""
        share = (when - self.start) / (self.end - self.start)
        return round(100 * max(0.0, min(1.0, share)), 2)

    def ticks(self) -> list[datetime]:
        """The beginnings of months that are marked, as many as there is room for."""
        first = (self.start.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        months = [first]
        while (following := (months[-1] + timedelta(days=32)).replace(day=1)) < self.end:
            months.append(following)
        for step in _STEPS:
            # Counted from the start of a year, so that a step of three shows quarters.
            chosen = [each for each in months if (each.year * 12 + each.month - 1) % step == 0]
            if len(chosen) <= _MOST_TICKS:
                return chosen
        return []


def scale_of(certificates: Sequence[Mapping[str, Any]], now: datetime) -> Scale:
    """Choose the scale by what is renewed; authorities, which outlive it by years, run past its end."""
    ends = [(moment(each.get("not_after")), each.get("authority")) for each in certificates]
    leaves = [end for end, authority in ends if end and not authority]
    known = leaves or [end for end, _authority in ends if end]
    ahead = min(max([(end - now) * 1.03 for end in known] + [_LEAST]), _MOST)
    return Scale(now - ahead * _PAST / (1 - _PAST), now + ahead, now)


def urgency(left: int) -> tuple[str, str]:
    """The kind of a state and its word, by the days that are left."""
    if left < 0:
        return BAD, "expired"
    if left < SOON:
        return BAD, "renew"
    return (WARN, "soon") if left < WATCH else (OK, "")


def certificates(data: Mapping[str, Any], now: datetime) -> Html:
    """A timeline for every host."""
    all_of = [each for host in data["hosts"] for each in host.get("certificates") or ()]
    title, note = "Certificates", f"Amber within {WATCH} days of the end, red within {SOON}"
    if not all_of:
        return section("certificates", title, "", empty("None could be looked into."))
    scale = scale_of(all_of, now)
    held = [host for host in data["hosts"] if host.get("certificates")]
    return section("certificates", title, note, *(_host(host, scale, index == 0 or len(held) < 3) for index, host in enumerate(held)))


def _host(host: Mapping[str, Any], scale: Scale, shown: bool) -> Html:
    found = sorted(host["certificates"], key=lambda each: str(each.get("not_after")))
    first = moment(found[0].get("not_after")) or scale.now
    kind, _word = urgency(days_until(first, scale.now))
    count = f"{len(found)} certificate{'' if len(found) == 1 else 's'}"
    summary = joined(
        [
            tag("strong", host["name"]),
            " ",
            tag("span", count, class_="note"),
            " ",
            chip(f"first {'ended' if first <= scale.now else 'ends'} {until(first, scale.now)}", kind),
        ]
    )
    axis = tag("th", _axis(scale), tag("span", "Valid", class_="unseen"), scope="col")
    head = tag("thead", tag("tr", tag("th", "Certificate", scope="col"), axis, tag("th", "Ends", scope="col"), role="row"))
    rows = tag("tbody", *(_row(each, scale) for each in found))
    caption = tag("caption", f"Certificates on {host['name']}, the first to end on top", class_="unseen")
    return disclosed(summary, tag("table", caption, head, rows, class_="timeline", role="table"), open_=shown or kind != OK, class_="host")


def _row(each: Mapping[str, Any], scale: Scale) -> Html:
    begin, end = moment(each.get("not_before")) or scale.start, moment(each.get("not_after")) or scale.now
    left = days_until(end, scale.now)
    kind, word = urgency(left)
    about = facts(
        [
            ("File", code(each.get("path"))),
            ("Subject", each.get("subject")),
            ("Issuer", each.get("issuer")),
            ("Names", words(each.get("names") or ())),
            ("Valid", f"{date(begin)} to {date(end)}"),
        ]
    )
    label = disclosed(joined([name_of(each), " ", chip("CA") if each.get("authority") else None]), about)
    shade = "authority" if each.get("authority") and kind == OK else kind
    told = joined([date(end), f" · {word}" if word else None])
    ends = joined([tag("span", until(end, scale.now), class_=f"left {kind}"), " ", tag("small", told)])
    return tag(
        "tr",
        tag("th", label, scope="row", role="rowheader"),
        tag("td", _bar(begin, end, shade, scale), role="cell"),
        tag("td", ends, role="cell"),
        role="row",
    )


def name_of(each: Mapping[str, Any]) -> str:
    """What a person calls a certificate: its file without what all of them have in common."""
    path = str(each.get("path") or "")
    short = path.removeprefix(_PKI) if path.startswith(_PKI) else path.removeprefix(_CONFIGURATION)
    if each.get("kind") == "kubelet":
        short = f"kubelet, {'client' if 'client' in path.rpartition('/')[2] else 'serving'}"
    position = int(each.get("position") or 0)
    return f"{short.removesuffix('.crt')}{f' ({position + 1})' if position else ''}"


def _bar(begin: datetime, end: datetime, shade: str, scale: Scale) -> Html:
    left, right = scale.place(begin), scale.place(end)
    beyond = end > scale.end
    drawn = [
        *(_line(scale.place(tick), "grid") for tick in scale.ticks()),
        tag("rect", x=f"{left}%", y="8", width=f"{max(0.6, right - left):.2f}%", height="10", rx="5", class_=f"span {shade}"),
        tag("text", "▸", x="100%", y="17", dx="-5", class_="beyond", text_anchor="end") if beyond else None,
        _line(scale.place(scale.now), "now"),
    ]
    return tag("svg", *drawn, width="100%", height="26", role="img", aria_label=f"Valid from {date(begin)} to {date(end)}")


def _axis(scale: Scale) -> Html:
    places = [(tick, scale.place(tick)) for tick in scale.ticks()]
    # At the edges there is no room for a word, and today has a word of its own.
    marks = [
        tag("text", month(tick), x=f"{place}%", y="26", class_="tick", text_anchor="middle")
        for tick, place in places
        if _ROOM + 100 * _PAST < place < 100 - _ROOM
    ]
    today = tag("text", "today", x=f"{scale.place(scale.now)}%", y="26", class_="today", text_anchor="middle")
    return tag("svg", *marks, today, width="100%", height="30", aria_hidden="true")


def _line(place: float, kind: str) -> Html:
    return tag("line", x1=f"{place}%", x2=f"{place}%", y1="0", y2="26", class_=kind)
