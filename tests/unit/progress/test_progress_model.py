# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a run: which task belongs to which phase, what is open, what is over and how long it took."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import (
    CHANGED,
    FAILED,
    IGNORED,
    OK,
    RESCUED,
    SKIPPED,
    UNREACHABLE,
    Progress,
    step_of,
    worst,
)

CERTS = step_of("1", "Certs | make them", "init")
MORE_CERTS = step_of("2", "Certs | make more", "init")
ETCD = step_of("3", "Etcd | write the manifest", "init")
OWN = step_of("4", "A task of my own", "My play")
NEXT = step_of("5", "Another one", "My play")


@pytest.mark.parametrize(
    ("name", "title", "doing", "row", "phase"),
    [
        ("Certs | make them", "certs", "make them", "certs", True),
        ("Kubelet-start | write its files", "kubelet-start", "write its files", "kubelet-start", True),
        ("CNI | lay it down", "CNI", "lay it down", "CNI", True),
        ("Join | one | two", "join", "one | two", "join", True),
        ("A task of my own", "A task of my own", "A task of my own", "play", False),
        ("cat a|b", "cat a|b", "cat a|b", "play", False),
        (" | nothing before it", " | nothing before it", " | nothing before it", "play", False),
        (f"{'long ' * 9}| x", f"{'long ' * 9}| x", f"{'long ' * 9}| x", "play", False),
        ("", "", "", "play", False),
    ],
)
def test_a_name_tells_the_phase(name: str, title: str, doing: str, row: str, phase: bool) -> None:
    step = step_of("uuid", name, "play")
    assert (step.title, step.doing, step.row, step.phase) == (title, doing, row, phase)


def test_tasks_of_a_phase_belong_together_and_others_do_not() -> None:
    assert CERTS.key == MORE_CERTS.key
    assert len({CERTS.key, ETCD.key, OWN.key, NEXT.key}) == 4


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([OK, SKIPPED], OK),
        ([OK, CHANGED], CHANGED),
        ([CHANGED, IGNORED], IGNORED),
        ([FAILED, CHANGED], FAILED),
        ([FAILED, UNREACHABLE], UNREACHABLE),
    ],
)
def test_what_matters_most(outcomes: list[str], expected: str) -> None:
    assert worst(outcomes) == worst(outcomes[::-1]) == expected


def test_hosts_that_go_together_leave_a_phase_together() -> None:
    run = Progress()
    assert run.play_started(lockstep=True) == ()
    assert run.task_started(CERTS, 0.0) == ()
    run.host_started("cp1", CERTS, 0.0)
    run.host_started("w1", CERTS, 1.0)
    assert run.host_ended("cp1", CERTS, CHANGED, 2.0) == 2.0
    assert list(run.open[CERTS.key].running) == ["w1"]
    assert run.host_ended("w1", CERTS, OK, 4.0) == 3.0
    assert run.task_started(MORE_CERTS, 5.0) == ()
    run.host_started("cp1", MORE_CERTS, 5.0)
    run.host_ended("cp1", MORE_CERTS, SKIPPED, 6.0)
    (over,) = run.task_started(ETCD, 9.0)
    assert (over.step.title, over.seconds, dict(over.outcomes), over.outcome) == ("certs", 6.0, {"cp1": CHANGED, "w1": OK}, CHANGED)
    assert [(host, cell.outcome, cell.seconds) for host, cell in run.rows["certs"].items()] == [("cp1", CHANGED, 3.0), ("w1", OK, 3.0)]
    assert run.hosts == ["cp1", "w1"]


def test_hosts_that_go_each_at_its_own_pace_leave_a_phase_when_the_last_does() -> None:
    run = Progress()
    run.play_started(lockstep=False)
    for host in ("a", "b"):
        assert run.task_started(CERTS, 0.0) == ()
        assert run.host_started(host, CERTS, 0.0) == ()
    run.host_ended("a", CERTS, OK, 1.0)
    assert run.host_started("a", ETCD, 1.0) == ()
    assert set(run.open) == {CERTS.key, ETCD.key}
    run.host_ended("b", CERTS, OK, 3.0)
    (over,) = run.host_started("b", ETCD, 3.0)
    assert (over.step.title, over.seconds) == ("certs", 3.0)
    assert set(run.open) == {ETCD.key}


def test_what_no_host_came_to_is_not_told() -> None:
    run = Progress()
    run.task_started(CERTS, 0.0)
    run.host_started("cp1", CERTS, 0.0)
    assert run.finish() == ()


def test_tasks_without_a_phase_count_for_their_play() -> None:
    run = Progress()
    for step in (OWN, NEXT):
        run.task_started(step, 0.0)
        run.host_started("cp1", step, 0.0)
        run.host_ended("cp1", step, OK, 1.0)
    assert list(run.rows) == ["My play"]
    assert run.rows["My play"]["cp1"].seconds == 2.0


def test_a_result_without_a_start_counts_and_takes_no_time() -> None:
    run = Progress()
    assert run.host_ended("cp1", CERTS, UNREACHABLE, 7.0) == 0.0
    assert run.rows["certs"]["cp1"].outcome == UNREACHABLE


def test_failures_that_were_made_good_are_told_from_others() -> None:
    run = Progress()
    for host in ("good", "bad"):
        run.host_ended(host, CERTS, FAILED, 0.0)
    run.rescue(["good"])
    assert {host: cell.outcome for host, cell in run.rows["certs"].items()} == {"good": RESCUED, "bad": FAILED}


def test_a_note_belongs_to_a_host_and_its_task() -> None:
    run = Progress()
    run.noted("nobody", CERTS.key, "lost")
    run.host_started("cp1", CERTS, 0.0)
    run.noted("cp1", CERTS.key, "try 2 of 3")
    assert run.open[CERTS.key].hosts["cp1"].note == "try 2 of 3"
    run.host_started("cp1", MORE_CERTS, 1.0)
    assert run.open[CERTS.key].hosts["cp1"].note == ""
