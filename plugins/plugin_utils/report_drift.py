# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the documents and the cluster disagree: host by host, phase by phase, with what would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_parts import (
    BAD,
    OK,
    WARN,
    chip,
    code,
    disclosed,
    section,
    state,
)

_KINDS = {"+": "added", "-": "removed", "@": "place"}
# Opened without being asked, so that a page with little to say says it at once.
_FEW = 4


def drift(data: Mapping[str, Any]) -> Html:
    """What every host would change, if the playbook was run now."""
    hosts = [host for host in data["hosts"] if host["plan"]["phases"] or host["plan"]["problem"]]
    title = "Drift"
    if not hosts:
        agreed = tag("p", state(OK, "The documents and every host agree: a run would change nothing."), class_="empty")
        return section("drift", title, "Documents against disk and API", agreed)
    few = sum(len(phase.get("changes") or ()) for host in hosts for phase in host["plan"]["phases"]) <= _FEW
    agreeing = [host["name"] for host in data["hosts"] if host not in hosts]
    rest = tag("p", state(OK, f"Nothing to change on {', '.join(agreeing)}."), class_="note") if agreeing else None
    return section("drift", title, "What a run would change", *(_host(host, few) for host in hosts), rest)


def _host(host: Mapping[str, Any], few: bool) -> Html:
    plan = host["plan"]
    if plan["problem"]:
        told = tag("pre", plan["problem"], class_="said", tabindex="0", role="region", aria_label=f"What was said on {host['name']}")
        return disclosed(joined([tag("strong", host["name"]), " ", chip("could not be planned", BAD)]), told, open_=True, class_="host")
    count = len(plan["phases"])
    summary = joined([tag("strong", host["name"]), " ", chip(f"{count} phase{'' if count == 1 else 's'} with work", WARN)])
    return disclosed(summary, *(_phase(phase, few) for phase in plan["phases"]), open_=True, class_="host")


def _phase(phase: Mapping[str, Any], few: bool) -> Html:
    changes = [_change(change, few) for change in phase.get("changes") or ()]
    reason = tag("p", phase.get("reason"), class_="note") if phase.get("reason") else None
    return tag("div", tag("h3", phase.get("name")), reason, *changes, class_="phase")


def _change(change: Mapping[str, Any], shown: bool) -> Html:
    summary = joined([code(change.get("target")), tag("span", change.get("reason"), class_="why")])
    lines = list(diff_lines(str(change.get("before") or ""), str(change.get("after") or "")))
    if not lines:
        return tag("p", summary, class_="change")
    named = f"Difference of {change.get('target')}"
    drawn = tag("pre", *lines, class_="diff", tabindex="0", role="region", aria_label=named)
    return disclosed(summary, drawn, open_=shown, class_="change")


def diff_lines(before: str, after: str) -> Iterator[Html]:
    """The lines of a difference, each coloured by what happens to it and beginning with a sign that says the same."""
    found = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))
    # Two lines with names of files come first, and then the place of the first part, which needs no sign of a gap.
    for line in found[3:]:
        kind = _KINDS.get(line[:1], "same")
        yield tag("span", line if kind != "place" else "⋯", "\n", class_=kind)
