# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was found on every host, put together as one cluster, with what a person should look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import days_until, moment

BAD, WARN = "bad", "warn"
# Days before its end from which on a certificate is soon to be renewed, and from which on it is worth a look.
SOON, WATCH = 30, 90

_OF_HOST = ("node", "role", "host", "kubelet", "components", "certificates", "unread")
_OF_CLUSTER = ("cluster", "nodes", "tokens", "addons")


def collected(hosts: Sequence[Mapping[str, Any]], generated: str) -> dict[str, Any]:
    """Put the results of all hosts together; each has a name, and what cluster_info and phase_plan returned for it."""
    seen = [_host(each) for each in hosts]
    infos = [_mapping(each.get("info")) for each in hosts]
    # Whoever could list the nodes knows the cluster; of several that can, the first is as good as any.
    source = next((info for info in infos if info.get("nodes")), next((info for info in infos if info.get("cluster")), {}))
    members = max((info.get("etcd_members") or [] for info in infos), key=len, default=[])
    data: dict[str, Any] = {
        "generated": generated,
        "cluster": dict(source.get("cluster") or {}),
        **{name: list(source.get(name) or []) for name in _OF_CLUSTER[1:]},
        "etcd_members": list(members),
        "hosts": seen,
    }
    if not data["cluster"].get("endpoint"):
        endpoint = next((_mapping(each.get("plan")).get("endpoint") for each in hosts if _mapping(each.get("plan")).get("endpoint")), "")
        data["cluster"]["endpoint"] = endpoint
    data["concerns"] = list(_concerns(data, moment(generated)))
    return data


def _host(given: Mapping[str, Any]) -> dict[str, Any]:
    info, plan = _mapping(given.get("info")), _mapping(given.get("plan"))
    return {
        "name": str(given.get("name", "")),
        "problem": _problem(given.get("info")),
        **{name: info.get(name) for name in _OF_HOST if info.get(name) is not None},
        "plan": {
            "problem": _problem(given.get("plan")),
            "state": str(plan.get("state") or ""),
            "pending": list(plan.get("pending") or []),
            "phases": [dict(phase) for phase in plan.get("phases") or [] if phase.get("pending")],
        },
    }


def _problem(result: Any) -> str:
    """Say why a task has told nothing, or nothing."""
    if not isinstance(result, Mapping):
        return "it was not asked"
    if result.get("unreachable"):
        return f"it could not be reached: {result.get('msg') or 'no reason is given'}"
    if result.get("failed"):
        return str(result.get("msg") or "it failed, and gave no reason")
    return "it was left out" if result.get("skipped") else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) and not value.get("failed") and not value.get("unreachable") else {}


def _concerns(data: Mapping[str, Any], now: datetime | None) -> Iterator[dict[str, str]]:
    found = [*_of_hosts(data), *_of_nodes(data), *_of_etcd(data), *_of_addons(data), *_of_drift(data), *_of_tokens(data)]
    if now is not None:
        found += _of_certificates(data, now)
    found += _of_unread(data)
    yield from (each for severity in (BAD, WARN) for each in found if each["severity"] == severity)


def _concern(severity: str, section: str, said: str) -> dict[str, str]:
    return {"severity": severity, "section": section, "text": said}


def _of_hosts(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for host in data["hosts"]:
        if host["problem"]:
            yield _concern(BAD, "unread", f"Nothing is known of {host['name']}: {_first_line(host['problem'])}")
            continue
        kubelet = host.get("kubelet") or {}
        if kubelet and not kubelet.get("healthy"):
            yield _concern(BAD, "components", f"The kubelet on {host['name']} is not healthy: {kubelet.get('found')}")
        for component in host.get("components") or ():
            if not component.get("healthy"):
                yield _concern(BAD, "components", f"{component.get('name')} on {host['name']} is not healthy: {component.get('found')}")


def _of_nodes(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if not data["nodes"]:
        yield _concern(BAD, "nodes", "No control plane could list the nodes of the cluster")
        return
    names = {node.get("name") for node in data["nodes"]}
    for node in data["nodes"]:
        if not node.get("ready"):
            said = next((each.get("message") for each in node.get("conditions") or () if each.get("type") == "Ready"), "")
            yield _concern(BAD, "nodes", f"Node {node.get('name')} is not Ready: {said or 'it does not say why'}")
        elif not node.get("schedulable"):
            yield _concern(WARN, "nodes", f"Node {node.get('name')} takes no new pods, because somebody has cordoned it")
    for host in data["hosts"]:
        if not host["problem"] and host.get("node") and host["node"] not in names:
            yield _concern(BAD, "nodes", f"{host['name']} is in the inventory, and the cluster has no Node {host['node']}")


def _of_etcd(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    members = data["etcd_members"]
    for member in members:
        label = member.get("name") or member.get("id")
        if not member.get("healthy"):
            yield _concern(BAD, "etcd", f"etcd member {label} is not healthy: {member.get('found')}")
        elif not member.get("voting"):
            yield _concern(WARN, "etcd", f"etcd member {label} is a learner, and does not vote yet")
    if members and not any(member.get("leader") for member in members):
        yield _concern(BAD, "etcd", "etcd has no leader")


def _of_addons(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for addon in data["addons"]:
        if addon.get("ready", 0) < addon.get("wanted", 0):
            said = f"{addon.get('ready')} of {addon.get('wanted')} pods of {addon.get('name')} are ready"
            yield _concern(WARN, "components", said)


def _of_certificates(data: Mapping[str, Any], now: datetime) -> Iterator[dict[str, str]]:
    for host in data["hosts"]:
        for certificate in host.get("certificates") or ():
            end = moment(certificate.get("not_after"))
            left = days_until(end, now) if end else SOON
            where = f"{certificate.get('path')} on {host['name']}"
            if left < 0:
                yield _concern(BAD, "certificates", f"{where} has expired")
            elif left < SOON:
                yield _concern(WARN, "certificates", f"{where} ends in {left} day{'' if left == 1 else 's'}")


def _of_drift(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for host in data["hosts"]:
        plan = host["plan"]
        if plan["problem"] and not host["problem"]:
            yield _concern(BAD, "drift", f"What would change on {host['name']} is not known: {_first_line(plan['problem'])}")
    drifted = [host["name"] for host in data["hosts"] if host["plan"]["phases"]]
    if drifted:
        count = change_count(data)
        said = f"{count} thing{' differs' if count == 1 else 's differ'}" if count else "Something differs"
        yield _concern(WARN, "drift", f"{said} from the documents, on {', '.join(drifted)}")


def _of_tokens(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for token in data["tokens"]:
        if not token.get("expires"):
            yield _concern(WARN, "tokens", f"The bootstrap token {token.get('id')} never expires")


def _of_unread(data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for host in data["hosts"]:
        for each in host.get("unread") or ():
            yield _concern(WARN, "unread", f"On {host['name']}, {each.get('where')} could not be read: {_first_line(each.get('reason'))}")


def change_count(data: Mapping[str, Any]) -> int:
    """How many things differ from what the documents ask for."""
    return sum(len(phase.get("changes") or ()) for host in data["hosts"] for phase in host["plan"]["phases"])


def _first_line(said: Any) -> str:
    return str(said or "").strip().partition("\n")[0]
