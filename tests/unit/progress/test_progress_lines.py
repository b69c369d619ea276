# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run in words: lines, what is drawn, the table."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils import progress_lines as lines
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import (
    CHANGED,
    FAILED,
    OK,
    SKIPPED,
    UNREACHABLE,
    Finished,
    Progress,
    step_of,
)

LOOK = lines.style(unicode=True)
WAIT = step_of("1", "Wait | until it is healthy", "init")
CERTS = step_of("2", "Certs | make them", "init")
OWN = step_of("3", "A task of my own", "My play")


def run_with(*told: tuple[str, str, str, float]) -> Progress:
    """A run in which hosts have been through phases: phase, host, outcome, seconds."""
    run = Progress()
    for phase, host, outcome, taken in told:
        step = step_of(phase, f"{phase} | x", "play")
        run.host_started(host, step, 0.0)
        run.host_ended(host, step, outcome, taken)
    return run


@pytest.mark.parametrize(
    ("taken", "expected"), [(0, "0.0s"), (1.44, "1.4s"), (59.94, "59.9s"), (60, "1m00s"), (125, "2m05s"), (3600, "1h00m"), (7384, "2h03m")]
)
def test_durations(taken: float, expected: str) -> None:
    assert lines.duration(taken) == expected


@pytest.mark.parametrize(("taken", "expected"), [(0.9, "0s"), (59.9, "59s"), (61, "1m01s"), (240, "4m")])
def test_clocks(taken: float, expected: str) -> None:
    assert lines.clock(taken) == expected


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("short", 10, "short"),
        ("exactly10!", 10, "exactly10!"),
        ("eleven char", 10, "eleven ch…"),
        ("漢字漢字漢", 10, "漢字漢字漢"),
        ("漢字漢字漢字", 10, "漢字漢字…"),
        ("a\x1b[2Jb\nc\td", 40, "a [2Jb c d"),
        ("word", 1, "…"),
        ("word", 0, ""),
    ],
)
def test_a_line_fits_and_does_not_move_the_cursor(text: str, columns: int, expected: str) -> None:
    assert lines.clip(text, columns) == expected
    assert lines.width(lines.clip(text, columns)) <= columns


@pytest.mark.parametrize(
    ("step", "outcomes", "expected"),
    [
        (CERTS, {"cp1": CHANGED}, "✓    1.5s  certs                     changed cp1"),
        (CERTS, {"cp1": OK, "w1": FAILED}, "✗    1.5s  certs                     failed w1 · ok cp1"),
        (CERTS, {"cp1": UNREACHABLE, "w1": SKIPPED}, "✗    1.5s  certs                     unreachable cp1 · skipped w1"),
        (OWN, {"cp1": OK}, "✓    1.5s  A task of my own  ok cp1"),
        (OWN, {f"w{number}": OK for number in range(7)}, "✓    1.5s  A task of my own  ok 7 hosts"),
    ],
)
def test_one_line_for_what_is_over(step: lines.Step, outcomes: dict[str, str], expected: str) -> None:
    line = lines.finished_line(Finished(step, 1.5, outcomes), LOOK)
    assert line.text == expected
    assert line.tone == Finished(step, 1.5, outcomes).outcome


def test_in_check_mode_nothing_was_changed() -> None:
    look = lines.style(unicode=True, checking=True)
    assert "would change cp1" in lines.finished_line(Finished(CERTS, 1.5, {"cp1": CHANGED}), look).text
    assert lines.heading("Init", look).text == "\nInit · check mode"
    assert "would change 2.0s" in "\n".join(lines.table(run_with(("certs", "cp1", CHANGED, 2.0)), 2.0, 80, look, plain))


def test_signs_that_every_terminal_has() -> None:
    look = lines.style(unicode=False)
    run = run_with(("certs", "cp1", FAILED, 2.0))
    told = [lines.finished_line(Finished(CERTS, 1.5, {"cp1": FAILED, "w1": OK}), look).text]
    told += [line.text for line in lines.frame(run, 3.0, 0.0, 12, 10, look)] + lines.table(run, 2.0, 80, look, plain)
    assert all(text.isascii() for text in told)


def test_what_is_under_way_is_drawn() -> None:
    run = Progress()
    run.host_started("cp1", WAIT, 0.0, 240.0)
    run.host_started("worker", WAIT, 1.0)
    run.host_started("w2", WAIT, 1.0)
    run.noted("worker", WAIT.key, "try 2 of 5")
    run.host_ended("w2", WAIT, CHANGED, 5.0)
    drawn = lines.frame(run, 10.0, 0.0, 79, 12, LOOK)
    assert [line.text[2:] if index == 0 else line.text for index, line in enumerate(drawn)] == [
        "wait: until it is healthy",
        "    cp1     10s · gives up after 4m",
        "    worker  9s · try 2 of 5",
        "    done: changed w2",
        "  10s in all · changed 1",
    ]
    assert lines.frame(run, 241.0, 0.0, 79, 12, LOOK)[1].tone == lines.LATE


def test_a_deadline_is_not_worth_telling_at_once() -> None:
    run = Progress()
    run.host_started("cp1", WAIT, 0.0, 240.0)
    assert "gives up" not in lines.frame(run, 2.9, 0.0, 79, 12, LOOK)[1].text
    assert "gives up" in lines.frame(run, 3.0, 0.0, 79, 12, LOOK)[1].text


@pytest.mark.parametrize(("columns", "rows"), [(79, 12), (20, 4), (10, 3), (1, 1)])
def test_what_is_drawn_fits(columns: int, rows: int) -> None:
    run = Progress()
    for number in range(50):
        run.host_started(f"host-with-a-long-name-{number}", WAIT, 0.0, 240.0)
    drawn = lines.frame(run, 10.0, 0.0, columns, rows, LOOK)
    assert len(drawn) <= max(rows, 2)
    assert all(lines.width(line.text) <= columns for line in drawn)


def test_a_sign_of_life_names_who_and_how_long() -> None:
    run = Progress()
    assert lines.sign_of_life(run, 0.0, LOOK) == []
    for number in range(8):
        run.host_started(f"w{number}", WAIT, 0.0, 240.0)
    for number in range(7):
        run.host_ended(f"w{number}", WAIT, OK, 1.0)
    (line,) = lines.sign_of_life(run, 20.0, LOOK)
    assert line.text == "    still at it: wait: until it is healthy on w7 (20s · gives up after 4m)"


def test_a_failure_is_told_in_full() -> None:
    said = "first\n  indented\n\nlast\n"
    assert lines.failure("cp1", "certs", "make them", said, unreachable=False, ignored=False) == [
        "FAILED cp1, certs: make them",
        "    first",
        "      indented",
        "",
        "    last",
    ]
    assert lines.failure("cp1", "x", "x", "", unreachable=True, ignored=True) == ["UNREACHABLE (ignored) cp1, x"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("one", ["    cp1: one"]),
        ("", ["    cp1: "]),
        ("a\nb", ["    cp1:", "      a", "      b"]),
        (["a", 2], ["    cp1:", "      a", "      2"]),
        ({"a": 1}, ["    cp1: {'a': 1}"]),
    ],
)
def test_a_message(said: object, expected: list[str]) -> None:
    assert lines.message("cp1", said) == expected


def plain(text: str, tone: str) -> str:
    return text


def test_the_table() -> None:
    run = run_with(
        ("preflight", "cp1", OK, 0.4),
        ("certs", "cp1", CHANGED, 1.5),
        ("addon", "cp1", SKIPPED, 0.1),
        ("preflight", "w1", FAILED, 61.0),
        ("certs", "w1", SKIPPED, 0.1),
    )
    run.host_ended("cp1", step_of("uuid", "A task of my own", "A play in which nothing was done"), SKIPPED, 1.0)
    assert lines.table(run, 63.0, 80, LOOK, plain) == [
        "",
        "took 1m03s  cp1           w1",
        "preflight   ok 0.4s       failed 1m01s",
        "certs       changed 1.5s  skipped",
        "in all      1.9s          1m01s",
        "",
        "skipped everywhere: addon",
    ]


def test_hosts_that_do_not_fit_beside_each_other_come_below() -> None:
    run = run_with(*[("certs", f"cp{number}", CHANGED, 1.0) for number in range(7)])
    told = lines.table(run, 7.0, 40, LOOK, plain)
    assert all(lines.width(line) <= 40 for line in told)
    assert [line.split() for line in told if line.startswith("certs")] == [["certs", *["changed", "1.0s"] * 2]] * 3 + [
        ["certs", "changed", "1.0s"]
    ]
    assert [name for line in told if line.startswith("took") for name in line.split()[2:]] == run.hosts


def test_colours_do_not_move_columns() -> None:
    run = run_with(("certs", "cp1", CHANGED, 1.0), ("certs", "w1", OK, 1.0), ("etcd", "w1", OK, 1.0))
    painted = lines.table(run, 7.0, 80, LOOK, lambda text, tone: f"<{tone}>{text}</>")
    for tone in (CHANGED, OK, lines.HEADING, lines.QUIET):
        painted = [line.replace(f"<{tone}>", "").replace("</>", "") for line in painted]
    assert [line.rstrip() for line in painted] == lines.table(run, 7.0, 80, LOOK, plain)


def test_no_table_without_hosts() -> None:
    assert lines.table(Progress(), 1.0, 80, LOOK, plain) == []
