# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a cluster looks like whoever made it, and that a run over it leaves it as it is."""

from __future__ import annotations

import json
import re
from typing import Any

from live import looks
from live.fleet import Fleet
from live.node import Node

MEMBERS = (
    "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt"
    " --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key member list -w json"
)
# How kubeadm, or a library of it, would say that something is not as it should be.
COMPLAINT = re.compile(r"^[WEF]\d{4} |warning|error|missing|invalid|failed", re.IGNORECASE | re.MULTILINE)


def look(fleet: Fleet, *names: str) -> dict[str, Any]:
    """Everything that a run could have touched, node by node, and the cluster."""
    looks.settle(fleet["cp1"])
    nodes = {name: [looks.files(fleet[name]), looks.serials(fleet[name]), looks.processes(fleet[name])] for name in names}
    return {**nodes, "objects": looks.objects(fleet["cp1"])}


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Name what two looks do not agree on, with both sides."""
    flat = [{f"{place} {name}": value for place, seen in look.items() for name, value in _entries(seen)} for look in (before, after)]
    names = sorted(flat[0].keys() | flat[1].keys())
    return [f"{name}: {flat[0].get(name)} → {flat[1].get(name)}" for name in names if flat[0].get(name) != flat[1].get(name)]


def _entries(seen: Any) -> list[tuple[str, Any]]:
    return list(seen.items()) if isinstance(seen, dict) else [(line, "there") for part in seen for line in _lines(part)]


def _lines(part: Any) -> list[str]:
    return part.splitlines() if isinstance(part, str) else list(part)


def members(node: Node) -> dict[str, bool]:
    """The members of etcd by name, and whether each votes."""
    listed = json.loads(node.kubectl(f"-n kube-system exec etcd-{node.name} -- {MEMBERS}"))["members"]
    return {member["name"]: not member.get("isLearner") for member in listed}


def adopted(fleet: Fleet, *names: str) -> None:
    """See that a run over nodes finds nothing to change and leaves every file, process, certificate and object alone."""
    site = fleet.site(*names)
    before = look(fleet, *names)
    assert before["cp1"][1].count("serial=") > 12
    assert len(before["objects"]) > 80
    checked = site.play("--check", "--diff").succeeded()
    ran = site.play("--diff").succeeded()
    assert (checked.changes, ran.changes) == (set(), set())
    after = look(fleet, *names)
    assert differing(before, after) == []


def leave(fleet: Fleet, name: str) -> None:
    """Let kubeadm take a node out of the cluster, and see that it finds everything where it expects it."""
    node = fleet[name]
    said = node.run("kubeadm reset -f 2>&1")
    # A worker, which may not read the configuration, hears this whoever joined it.
    usual = "No kubeadm config, using etcd pod spec to get data directory"
    unusual = "\n".join(line for line in said.splitlines() if usual not in line)
    assert not COMPLAINT.search(unusual), unusual
    assert node.run("find /etc/kubernetes -type f") == ""
    fleet["cp1"].kubectl(f"delete node {node.name}")
