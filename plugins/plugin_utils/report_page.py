# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One page that shows a cluster: data in, HTML out; it loads nothing, and nothing in it can run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_certificates import certificates, name_of, urgency
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import change_count
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_drift import drift
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_parts import BAD, OK, QUIET, WARN, code, ring, section, tile
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_sections import components, etcd, nodes, tokens, unread
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_style import STYLE
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import days_until, minute, moment

Data = Mapping[str, Any]

# Were a name to slip through as markup in spite of all, it could still neither run nor load anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' "
    "fill='%232c5bc7'/%3E%3Cpath d='M9 8v16M9 17l9-9M13 14l9 10' stroke='white' stroke-width='3' fill='none'/%3E%3C/svg%3E"
)
_VERDICTS = {OK: "✓ All is well", WARN: "! Worth a look", BAD: "✕ Needs attention"}
_TITLES = {
    "nodes": "Nodes",
    "components": "Components",
    "etcd": "etcd",
    "certificates": "Certificates",
    "tokens": "Tokens",
    "drift": "Drift",
    "unread": "Not read",
}


def page(data: Data) -> str:
    """Draw the whole page."""
    now = moment(data["generated"])
    if now is None:
        raise ValueError("the data does not say when it was gathered")
    silent = unread(data)
    parts = [
        _concerns(data),
        drift(data),
        nodes(data, now),
        components(data, now),
        etcd(data),
        certificates(data, now),
        tokens(data, now),
        silent,
    ]
    title = f"{data['cluster'].get('name') or 'Cluster'} · cluster report"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),  # pylint: disable=kwarg-superseded-by-positional-arg
        tag("meta", name="referrer", content="no-referrer"),  # pylint: disable=kwarg-superseded-by-positional-arg
        tag("title", title),
        tag("link", rel="icon", href=_ICON),
        tag("style", Html(STYLE)),
    )
    links = [name for name in ("drift", "nodes", "components", "etcd", "certificates", "tokens", "unread") if name != "unread" or silent]
    menu = tag("nav", tag("ul", *(tag("li", tag("a", _TITLES[name], href=f"#{name}")) for name in links)), aria_label="Sections")
    foot = tag("footer", f"Read on {minute(now)} by kubephase.cluster.report. It holds no keys and no tokens' secrets.")
    body = tag("body", _masthead(data, now), menu, tag("main", *parts), foot)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _masthead(data: Data, now: datetime) -> Html:
    cluster = data["cluster"]
    severities = {concern["severity"] for concern in data["concerns"]}
    kind = BAD if BAD in severities else WARN if WARN in severities else OK
    about = [
        ("Kubernetes", cluster.get("version") or cluster.get("wanted_version")),
        ("Endpoint", code(cluster["endpoint"]) if cluster.get("endpoint") else ""),
        ("Pods", code(cluster["pod_subnet"]) if cluster.get("pod_subnet") else ""),
        ("Services", code(cluster["service_subnet"]) if cluster.get("service_subnet") else ""),
        ("Read", minute(now)),
    ]
    told = [tag("span", f"{name} ", tag("b", value)) for name, value in about if value]
    name = tag("div", tag("p", "Cluster", class_="eyebrow"), tag("h1", cluster.get("name") or "Unknown cluster"))
    verdict = tag("p", _VERDICTS[kind], class_=f"verdict {kind}", role="status")
    inner = tag("div", tag("div", name, verdict, class_="top"), tag("p", *told, class_="about"), _tiles(data, now))
    return tag("header", inner, class_="masthead")


def _tiles(data: Data, now: datetime) -> Html:
    ready = [node for node in data["nodes"] if node.get("ready")]
    running = [each for host in data["hosts"] for each in [host.get("kubelet"), *(host.get("components") or ())] if each]
    voters = [member for member in data["etcd_members"] if member.get("voting")]
    return tag(
        "div",
        _counted("nodes", "Nodes", len(ready), len(data["nodes"]), "Ready"),
        _counted("components", "Components", sum(1 for each in running if each.get("healthy")), len(running), "healthy"),
        _counted("etcd", "etcd", sum(1 for each in voters if each.get("healthy")), len(voters), "voters healthy"),
        _expiry(data, now),
        _drift(data),
        class_="tiles",
        role="group",
        aria_label="At a glance",
    )


def _counted(name: str, title: str, good: int, total: int, word: str) -> Html:
    if not total:
        return tile(name, title, QUIET, ring(0, QUIET, "?"), "not known")
    kind = OK if good == total else BAD
    return tile(name, title, kind, ring(good / total, kind, f"{good}/{total}"), f"{good} of {total}", word)


def _expiry(data: Data, now: datetime) -> Html:
    held = [(moment(each.get("not_after")), each, host["name"]) for host in data["hosts"] for each in host.get("certificates") or ()]
    dated = sorted(((end, each, host) for end, each, host in held if end), key=lambda row: row[0])
    if not dated:
        return tile("certificates", "First to expire", QUIET, ring(0, QUIET, "?"), "not known")
    end, first, host = dated[0]
    left = days_until(end, now)
    kind, _word = urgency(left)
    said = f"{left} day{'' if left == 1 else 's'}" if left >= 0 else "expired"
    return tile(
        "certificates",
        "First to expire",
        kind,
        ring(left / 365 if left >= 0 else 1, kind, max(0, left)),
        said,
        f"{name_of(first)} on {host}",
    )


def _drift(data: Data) -> Html:
    unknown = [host["name"] for host in data["hosts"] if host["plan"]["problem"]]
    if unknown:
        return tile("drift", "Drift", BAD, ring(1, BAD, "?"), "not known", f"for {', '.join(unknown)}")
    count, hosts = change_count(data), sum(1 for host in data["hosts"] if host["plan"]["phases"])
    if not hosts:
        return tile("drift", "Drift", OK, ring(1, OK, "0"), "none", "as the documents say")
    said = f"{count} change{'' if count == 1 else 's'}" if count else "work to do"
    return tile("drift", "Drift", WARN, ring(1, WARN, count or "!"), said, f"on {hosts} host{'' if hosts == 1 else 's'}")


def _concerns(data: Data) -> Html | None:
    if not data["concerns"]:
        return None
    signs = {BAD: "✕", WARN: "!"}
    listed = [
        tag(
            "li",
            tag(
                "a",
                tag("span", signs[each["severity"]], class_="sign", aria_hidden="true"),
                tag("span", each["text"]),
                href=f"#{each['section']}",
                class_=each["severity"],
            ),
        )
        for each in data["concerns"]
    ]
    return section("concerns", "Worth your attention", "", joined([tag("ul", *listed, class_="concerns")]))
