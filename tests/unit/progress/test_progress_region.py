# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lines that are drawn again: they give way to others, and never take away what is not theirs."""

from __future__ import annotations

import io
import os

import pytest
from integration.terminal import Screen

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_region import Region, Stream, rows_taken


class Around:
    """A clock and a window that a test sets, and what is to be drawn."""

    def __init__(self) -> None:
        self.now, self.size = 100.0, (40, 12)
        self.lines = ["phase", "  host 1s"]
        self.region = Region(lambda columns, rows: [(line, len(line)) for line in self.lines], lambda: self.size, lambda: self.now)
        self.written = io.StringIO()
        self.out = Stream(self.written, self.written, self.region)
        self.err = Stream(self.written, self.written, self.region)

    def tick(self) -> None:
        self.now += 0.2
        self.out.write("")

    def screen(self) -> list[str]:
        screen = Screen(*self.size)
        # As a terminal does with the end of a line.
        screen.feed(self.written.getvalue().replace("\n", "\r\n"))
        return screen.shown()


@pytest.mark.parametrize(("widths", "columns", "rows"), [([], 80, 0), ([0, 80, 79], 80, 3), ([80], 40, 2), ([81, 10], 40, 4), ([5], 0, 5)])
def test_rows_that_lines_take(widths: list[int], columns: int, rows: int) -> None:
    assert rows_taken(widths, columns) == rows


def test_lines_are_drawn_over_the_last_ones() -> None:
    around = Around()
    around.tick()
    around.lines = ["phase", "  host 2s", "  other 1s"]
    around.tick()
    around.lines = ["last"]
    around.tick()
    assert around.screen() == ["last", ""]


def test_what_others_write_stands_above() -> None:
    around = Around()
    around.tick()
    around.out.write("a line\n")
    assert around.screen() == ["a line", ""]
    around.tick()
    around.err.write("[WARNING]: careful\n")
    around.tick()
    around.tick()
    assert around.screen() == ["a line", "[WARNING]: careful", "phase", "  host 1s", ""]


def test_a_line_without_an_end_is_not_drawn_on() -> None:
    around = Around()
    around.out.write("password: ")
    for _look in range(5):
        around.tick()
    assert around.screen() == ["password:"]
    around.out.write("\n")
    around.tick()
    assert around.screen() == ["password:", "phase", "  host 1s", ""]


def test_who_has_just_written_may_ask_something() -> None:
    around = Around()
    around.out.write("Press enter\n")
    around.now += 0.1
    around.out.write("")
    assert around.screen() == ["Press enter", ""]
    around.region.at_once = True
    around.out.write("")
    assert around.screen() == ["Press enter", "phase", "  host 1s", ""]


def test_after_a_stop_nothing_above_is_taken_away() -> None:
    around = Around()
    around.tick()
    around.written.write("$ fg\r\n")
    around.now += 60
    around.out.write("")
    assert around.screen()[-4:] == ["$ fg", "phase", "  host 1s", ""]
    around.now += 60
    around.out.write("said\n")
    assert "$ fg" in around.screen()


def test_a_window_that_became_narrower_has_wrapped_the_lines() -> None:
    around = Around()
    around.lines = ["x" * 39, "y" * 10]
    around.tick()
    around.size = (20, 12)
    around.lines = ["x" * 19, "y" * 10]
    around.tick()
    assert around.written.getvalue().rpartition("\r")[2].startswith("\x1b[3A")


def test_another_process_writes_and_draws_nothing() -> None:
    around = Around()
    around.tick()
    before = around.written.getvalue()
    around.out._process = os.getpid() + 1
    around.tick()
    around.out.write("x\n")
    assert around.written.getvalue() == before + "x\n"


def test_the_rest_of_a_stream_is_as_it_was() -> None:
    around = Around()
    assert around.out.isatty() is False
    around.out.writelines(["a\n", "b\n"])
    assert around.screen() == ["a", "b", ""]
