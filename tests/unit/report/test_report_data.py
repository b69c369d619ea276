# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts have told as one cluster: who is believed, what worries, and how bad that is."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from unit.report.reported import ILL, NOW, WELL, certificate, change, component, info, member, node, phase, plan

from ansible_collections.kubephase.cluster.plugins.filter.report import report_data, report_page
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import change_count, collected


def told(**more: Any) -> list[dict[str, str]]:
    """The concerns about a cluster of one control plane and one worker, when the first tells something else."""
    hosts = [{**WELL[0], "info": info("cp1", **more)}, WELL[1]]
    concerns: list[dict[str, str]] = collected(hosts, NOW)["concerns"]
    return concerns


def test_a_cluster_that_is_well_worries_nobody() -> None:
    data = collected(WELL, NOW)
    assert data["concerns"] == []
    assert data["cluster"]["name"] == "staging"
    assert [each["name"] for each in data["nodes"]] == ["cp1", "worker1"]
    assert [host["plan"]["phases"] for host in data["hosts"]] == [[], []]
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize(
    ("found", "severity", "section", "said"),
    [
        ({"nodes": [node("cp1"), node("worker1", ready=False)]}, "bad", "nodes", "Node worker1 is not Ready: the network is not ready"),
        ({"nodes": [node("cp1"), node("worker1", schedulable=False)]}, "warn", "nodes", "Node worker1 takes no new pods"),
        ({"nodes": [node("cp1")]}, "bad", "nodes", "worker1 is in the inventory, and the cluster has no Node worker1"),
        ({"nodes": []}, "bad", "nodes", "No control plane could list the nodes"),
        ({"components": [component("etcd", found="gone")]}, "bad", "components", "etcd on cp1 is not healthy: gone"),
        ({"kubelet": {"healthy": False, "found": "it does not run"}}, "bad", "components", "The kubelet on cp1 is not healthy"),
        ({"etcd_members": [member("cp1", True, healthy=False, found="silent")]}, "bad", "etcd", "etcd member cp1 is not healthy: silent"),
        ({"etcd_members": [member("cp1", True), member("", voting=False)]}, "warn", "etcd", "8e9e05c52164694d is a learner"),
        ({"etcd_members": [member("cp1")]}, "bad", "etcd", "etcd has no leader"),
        ({"certificates": [certificate("/a.crt", -1)]}, "bad", "certificates", "/a.crt on cp1 has expired"),
        ({"certificates": [certificate("/a.crt", 1)]}, "warn", "certificates", "/a.crt on cp1 ends in 1 day"),
        ({"certificates": [certificate("/a.crt", 29)]}, "warn", "certificates", "/a.crt on cp1 ends in 29 days"),
        ({"tokens": [{"id": "abcdef", "expires": ""}]}, "warn", "tokens", "The bootstrap token abcdef never expires"),
        ({"addons": [{"name": "coredns", "wanted": 2, "ready": 0}]}, "warn", "components", "0 of 2 pods of coredns are ready"),
        ({"unread": [{"part": "a", "where": "/b", "reason": "c\nd"}]}, "warn", "unread", "On cp1, /b could not be read: c"),
    ],
)
def test_what_worries(found: dict[str, Any], severity: str, section: str, said: str) -> None:
    (concern,) = told(**found)
    assert (concern["severity"], concern["section"]) == (severity, section)
    assert said in concern["text"]


@pytest.mark.parametrize("days", [30, 90, 400])
def test_a_certificate_that_has_time_worries_nobody(days: int) -> None:
    assert told(certificates=[certificate("/a.crt", days)]) == []


def test_drift_is_counted_and_its_hosts_are_named() -> None:
    one = change("/a", "it differs", "x\n", "y\n")
    data = collected([{**WELL[0], "plan": plan(phase("certs", one, one), phase("etcd", reason="it follows certs"))}, WELL[1]], NOW)
    assert change_count(data) == 2
    assert [each["text"] for each in data["concerns"]] == ["2 things differ from the documents, on cp1"]
    data = collected([{**WELL[0], "plan": plan(phase("etcd", reason="it follows certs"))}, WELL[1]], NOW)
    assert [each["text"] for each in data["concerns"]] == ["Something differs from the documents, on cp1"]


def test_a_phase_without_work_is_no_drift() -> None:
    quiet = {"name": "certs", "pending": False, "reason": "", "changes": []}
    assert collected([{**WELL[0], "plan": plan(quiet, pending=[])}, WELL[1]], NOW)["concerns"] == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "it was not asked"),
        ({"failed": True, "msg": "no documents\nfor it"}, "no documents\nfor it"),
        ({"failed": True}, "it failed, and gave no reason"),
        ({"unreachable": True, "msg": "no route"}, "it could not be reached: no route"),
        ({"skipped": True}, "it was left out"),
    ],
)
def test_a_host_that_tells_nothing_is_told_of(result: Any, problem: str) -> None:
    data = collected([WELL[0], {"name": "worker1", "info": result, "plan": result}], NOW)
    assert data["hosts"][1]["problem"] == data["hosts"][1]["plan"]["problem"] == problem
    assert data["concerns"][0]["severity"] == "bad"
    assert "Nothing is known of worker1" in data["concerns"][0]["text"]


def test_the_cluster_is_told_of_by_who_could_list_its_nodes() -> None:
    blind = info("cp0", nodes=[], tokens=[], cluster={"name": "by the documents", "version": ""})
    data = collected([{"name": "cp0", "info": blind, "plan": plan()}, *WELL], NOW)
    assert data["cluster"]["name"] == "staging"
    assert len(data["nodes"]) == 2
    alone = collected([{"name": "cp0", "info": blind, "plan": plan()}], NOW)
    assert alone["cluster"] == {"name": "by the documents", "version": "", "endpoint": "https://api.example.test:6443"}


def test_the_worst_comes_first() -> None:
    severities = [each["severity"] for each in collected(ILL, NOW)["concerns"]]
    assert severities == sorted(severities)
    assert {"bad", "warn"} == set(severities)


def test_nothing_that_was_given_is_changed() -> None:
    given = copy.deepcopy(ILL)
    collected(given, NOW)
    assert given == ILL


def test_the_filters_take_what_a_play_has() -> None:
    variables = {each["name"]: {"kubephase_report_info": each["info"], "kubephase_report_plan": each["plan"]} for each in WELL}
    data = report_data(variables, ["cp1", "worker1"], NOW)
    assert data == collected(WELL, NOW)
    assert report_page(data).startswith("<!DOCTYPE html>")
    with pytest.raises(AnsibleFilterError, match="is not a moment"):
        report_data(variables, ["cp1"], "yesterday")
    for wrong in ({}, [], "text", {"hosts": []}):
        with pytest.raises(AnsibleFilterError, match="not what report_data gives"):
            report_page(wrong)
