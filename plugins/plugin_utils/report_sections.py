# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sections that tell what runs where: nodes, components, etcd, tokens, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_parts import (
    BAD,
    OK,
    QUIET,
    WARN,
    chip,
    code,
    disclosed,
    empty,
    facts,
    section,
    state,
    table,
    words,
)
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import date, minute, moment, size, until

Data = Mapping[str, Any]
_COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_WELL = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "NetworkUnavailable": "False"}


def nodes(data: Data, now: datetime) -> Html:
    """A card for every Node."""
    if not data["nodes"]:
        return section("nodes", "Nodes", "", empty("The API of no control plane could be asked for them."))
    machines = {host.get("node"): host.get("host") or {} for host in data["hosts"]}
    inventory = {host.get("node"): host["name"] for host in data["hosts"]}
    cards = [_card(node, machines.get(node.get("name"), {}), inventory.get(node.get("name")), now) for node in data["nodes"]]
    return section("nodes", "Nodes", "As the API server knows them", tag("div", *cards, class_="cards"))


def _card(node: Data, machine: Data, host: str | None, now: datetime) -> Html:
    ready = state(OK, "Ready") if node.get("ready") else state(BAD, "Not Ready")
    roles = [chip(role) for role in node.get("roles") or ()] or [chip("worker")]
    marks = [chip("cordoned", WARN)] if not node.get("schedulable") else []
    marks += [chip("not in the inventory", WARN)] if host is None else []
    created = moment(node.get("created"))
    strange = [each for each in node.get("conditions") or () if _WELL.get(each.get("type"), each.get("status")) != each.get("status")]
    return tag(
        "article",
        tag("header", tag("h3", node.get("name")), ready),
        tag("p", *roles, *marks, class_="chips"),
        *(tag("p", f"{each.get('type')}: {each.get('message') or each.get('reason')}", class_="complaint") for each in strange),
        facts(
            [
                ("Address", words(_addresses(node))),
                ("Kubelet", node.get("kubelet_version")),
                ("Runtime", str(node.get("runtime") or "").replace("://", " ")),
                ("System", node.get("system")),
                ("Kernel", f"{node.get('kernel') or ''} {node.get('architecture') or ''}".strip()),
                ("Machine", _machine(machine)),
                ("Pods", words(node.get("pod_cidrs") or ())),
                ("Age", until(now, created).removeprefix("in ") if created and created <= now else ""),
            ]
        ),
        _labels(node),
        class_="card",
    )


def _addresses(node: Data) -> list[str]:
    return [str(each.get("address")) for each in node.get("addresses") or () if each.get("type") != "Hostname"]


def _machine(machine: Data) -> str:
    if not machine.get("memory_mb"):
        return ""
    cpus = machine.get("cpus")
    return f"{cpus} CPU{'' if cpus == 1 else 's'}, {size(int(machine['memory_mb']) * 1024 * 1024)}"


def _labels(node: Data) -> Html:
    labels, taints = node.get("labels") or {}, node.get("taints") or ()
    counted = f"{len(labels)} label{'' if len(labels) == 1 else 's'}, {len(taints)} taint{'' if len(taints) == 1 else 's'}"
    spelled = [f"{each.get('key')}{'=' + each['value'] if each.get('value') else ''}:{each.get('effect')}" for each in taints]
    listed = [tag("li", code(f"{name}={value}" if value else name)) for name, value in sorted(labels.items())]
    return disclosed(
        counted,
        tag("p", joined((chip(each, WARN) for each in spelled), " "), class_="chips") if spelled else None,
        tag("ul", *listed, class_="labels"),
    )


def components(data: Data, now: datetime) -> Html:
    """What the kubelets run of the control plane, host by host, and the add-ons."""
    seen = [host for host in data["hosts"] if not host["problem"]]
    used = [name for name in _COMPONENTS if any(_component(host, name) for host in seen)]
    rows = [[host["name"], _kubelet(host, now), *(_cell(_component(host, name), now) for name in used)] for host in seen]
    shown = table("Components on each host", ["Host", "kubelet", *used], rows) if rows else empty("No host could be looked at.")
    chips = [
        chip(f"{addon.get('name')} {addon.get('version')} · {addon.get('ready')} of {addon.get('wanted')} ready", _fullness(addon))
        for addon in data["addons"]
    ]
    return section("components", "Components", "As they say of themselves", shown, tag("p", *chips, class_="chips") if chips else None)


def _fullness(addon: Data) -> str:
    return OK if addon.get("ready", 0) >= addon.get("wanted", 0) else WARN


def _component(host: Data, name: str) -> Data | None:
    return next((each for each in host.get("components") or () if each.get("name") == name), None)


def _kubelet(host: Data, now: datetime) -> Html:
    return _cell(host.get("kubelet"), now)


def _cell(found: Data | None, now: datetime) -> Html:
    if not found:
        return tag("span", "–", class_="quiet", title="not here")
    healthy = bool(found.get("healthy"))
    restarts = int(found.get("restarts") or 0)
    began = float(found.get("started") or 0)
    since = until(now, datetime.fromtimestamp(began, timezone.utc)).removeprefix("in ") if began else ""
    told = [f"up {since}" if since and healthy else "", f"{restarts} restart{'' if restarts == 1 else 's'}" if restarts else ""]
    small = " · ".join(each for each in told if each) if healthy else str(found.get("found") or "")
    return joined([state(OK if healthy else BAD, found.get("version") or "unknown"), tag("small", small) if small else None])


def etcd(data: Data) -> Html:
    """The members, and how much each holds."""
    members: Sequence[Data] = data["etcd_members"]
    if not members:
        return section("etcd", "etcd", "", empty("No member could be asked from any control plane."))
    largest = max(int(member.get("db_size") or 0) for member in members) or 1
    rows = [
        [
            member.get("name") or member.get("id"),
            chip("leader", OK) if member.get("leader") else chip("voter" if member.get("voting") else "learner", QUIET),
            state(OK, "healthy") if member.get("healthy") else joined([state(BAD, "not healthy"), tag("small", member.get("found"))]),
            member.get("version") or "–",
            _bar(int(member.get("db_size") or 0), largest),
            words(member.get("client_urls") or ()),
        ]
        for member in members
    ]
    voters = [member for member in members if member.get("voting")]
    note = f"{len(voters)} voter{'' if len(voters) == 1 else 's'}, of whom {len(voters) // 2 + 1} must agree"
    return section("etcd", "etcd", note, table("Members of etcd", ["Member", "Role", "Health", "Version", "Data", "Clients"], rows))


def _bar(held: int, largest: int) -> Html:
    width = f"{100 * held / largest:.1f}%"
    rectangle = {"height": "6", "rx": "3"}
    drawn = tag(
        "svg",
        tag("rect", **rectangle, width="100%", class_="track"),
        tag("rect", **rectangle, width=width, class_="fill"),
        width="100%",
        height="6",
        aria_hidden="true",
    )
    return tag("span", tag("span", size(held)), drawn, class_="bar")


def tokens(data: Data, now: datetime) -> Html:
    """The bootstrap tokens; their secrets are not among what a report is made of."""
    note = "By their ids; whoever holds the secret of one may join"
    if not data["tokens"]:
        return section("tokens", "Bootstrap tokens", "", empty("There are none, so nobody can join with one."))
    rows = [
        [
            code(token.get("id")),
            _expiry(token, now),
            words(token.get("usages") or ()),
            words(token.get("groups") or ()),
            token.get("description") or "–",
        ]
        for token in data["tokens"]
    ]
    return section("tokens", "Bootstrap tokens", note, table("Bootstrap tokens", ["Id", "Ends", "For", "Groups", "Description"], rows))


def _expiry(token: Data, now: datetime) -> Html:
    end = moment(token.get("expires"))
    if token.get("expired") or (end and end <= now):
        return state(QUIET, "expired")
    return joined([state(OK, until(end, now)), tag("small", minute(end))]) if end else state(WARN, "never")


def unread(data: Data) -> Html | None:
    """What could not be read, and why; nothing where all could."""
    rows: list[list[object]] = [[host["name"], "everything", "", host["problem"]] for host in data["hosts"] if host["problem"]]
    rows += [
        [host["name"], each.get("part"), code(each.get("where")), each.get("reason")]
        for host in data["hosts"]
        for each in host.get("unread") or ()
    ]
    if not rows:
        return None
    return section(
        "unread", "Not read", "So the rest of this page is silent about it", table("Not read", ["Host", "Part", "Where", "Why"], rows)
    )


def described(when: datetime, now: datetime) -> str:
    """A day, and how far away it is."""
    return f"{date(when)}, {until(when, now)}"
