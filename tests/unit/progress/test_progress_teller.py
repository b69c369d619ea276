# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told, and when, where nothing is drawn and where something is."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_lines import style
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import CHANGED, OK, SKIPPED, Step, step_of
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_teller import Teller, Wishes


class Room:
    """A teller with a clock that a test sets, and all that it has told."""

    def __init__(self, drawing: bool = False, wishes: Wishes | None = None) -> None:
        self.now, self.drawing, self.told = 0.0, drawing, []  # type: ignore[var-annotated]
        self.teller = Teller(lambda text, tone, stderr: self.told.append(text), self, lambda: self.now)
        self.teller.begin(style(unicode=False), wishes or Wishes())

    def settle(self) -> None:
        """Nothing is held back here."""

    def begin(self, name: str, *hosts: str) -> Step:
        step = step_of(name, name, "play")
        self.teller.finished(self.teller.progress.task_started(step, self.now))
        for host in hosts:
            self.teller.progress.host_started(host, step, self.now, 240.0)
        return step

    def run(self, name: str, outcome: str, *hosts: str) -> None:
        step = self.begin(name, *hosts)
        self.now += 0.5
        for host in hosts:
            self.teller.progress.host_ended(host, step, outcome, self.now)


def test_skipped_phases_share_a_line() -> None:
    room = Room(drawing=True)
    room.teller.play("Init")
    room.run("Certs | x", CHANGED, "cp1")
    room.run("Etcd | x", SKIPPED, "cp1")
    room.run("Addon | x", SKIPPED, "cp1")
    room.run("Mark | x", OK, "cp1")
    room.teller.all_finished()
    assert [line.split() for line in room.told] == [
        ["Init"],
        ["+", "0.5s", "certs", "changed", "cp1"],
        ["-", "skipped:", "etcd,", "addon"],
        ["+", "0.5s", "mark", "ok", "cp1"],
    ]


def test_a_play_without_work_is_one_line() -> None:
    room = Room()
    room.teller.play("Init")
    room.run("Certs | x", SKIPPED, "cp1")
    room.run("Keep it", SKIPPED, "cp1")
    room.teller.finished(room.teller.progress.play_started(lockstep=True))
    room.teller.play("Join")
    room.teller.nobody()
    room.teller.all_finished()
    assert room.told == ["[0:01] - Init: skipped", "[0:01] - Join: no hosts"]


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [(Wishes(), ["certs", "skipped:", "mark"]), (Wishes(skipped=False), ["certs", "mark"]), (Wishes(ok=False), ["certs", "skipped:"])],
)
def test_wishes(wishes: Wishes, expected: list[str]) -> None:
    room = Room(drawing=True, wishes=wishes)
    room.run("Certs | x", CHANGED, "cp1")
    room.run("Etcd | x", SKIPPED, "cp1")
    room.run("Mark | x", OK, "cp1")
    room.teller.all_finished()
    assert [word for line in room.told for word in line.split() if word in ("certs", "skipped:", "mark")] == expected


@pytest.mark.parametrize(
    ("wishes", "outcome", "expected"),
    [
        (Wishes(), OK, True),
        (Wishes(ok=False), OK, False),
        (Wishes(ok=False), CHANGED, True),
        (Wishes(), SKIPPED, False),
        (Wishes(each_skipped=True), SKIPPED, True),
        (Wishes(skipped=False, each_skipped=True), SKIPPED, False),
    ],
)
def test_who_has_a_line(wishes: Wishes, outcome: str, expected: bool) -> None:
    assert wishes.wants(outcome) is expected


def test_what_takes_longer_is_announced_once() -> None:
    room = Room()
    room.teller.play("Init")
    room.begin("Wait | x", "cp1")
    room.now = 0.9
    room.teller.look_around()
    assert room.told == []
    room.now = 1.1
    room.teller.look_around()
    room.teller.look_around()
    assert room.told == ["\n[0:01] Init", "[0:01] > wait"]


def test_a_sign_of_life_comes_after_silence() -> None:
    room = Room()
    room.begin("Wait | x", "cp1")
    for second in range(60):
        room.now = second + 0.5
        room.teller.look_around()
    alive = [line for line in room.told if "still at it" in line]
    assert [line.partition("]")[0] for line in alive] == ["[0:16", "[0:31", "[0:46"]
    assert alive[0].endswith("still at it: wait: x on cp1 (16s | gives up after 4m)")


def test_where_something_is_drawn_nobody_needs_a_sign_of_life() -> None:
    room = Room(drawing=True)
    room.teller.play("Init")
    room.begin("Wait | x", "cp1")
    room.now = 100.0
    room.teller.look_around()
    assert room.told == ["\nInit"]
    assert [line.text for line in room.teller.frame(79, 10)][1:] == ["    cp1  1m40s | gives up after 4m", "  1m40s in all"]


def test_an_interrupted_run_says_what_it_was_at() -> None:
    room = Room()
    room.begin("Wait | x", "cp1")
    room.now = 7.0
    room.teller.last_words()
    assert room.told == ["[0:07]     stopped at: wait: x on cp1 (7s | gives up after 4m)"]
