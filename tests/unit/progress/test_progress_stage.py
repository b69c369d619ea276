# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a run is shown: what is put in the place of the standard streams, and taken out again."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

import pytest
from integration.terminal import Screen

from ansible_collections.kubephase.cluster.plugins.plugin_utils import progress_stage
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_stage import Stage


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def put_in(monkeypatch: pytest.MonkeyPatch) -> tuple[Tty, Tty]:
    """Put streams of a test in the place of the standard ones; not in a fixture, since pytest changes them after those."""
    out, err = Tty(), Tty()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(progress_stage, "_in_foreground", lambda: True)
    monkeypatch.setattr("atexit.register", lambda called: None)
    return out, err


def stage(drawing: bool = True) -> Stage:
    found = Stage(lambda text: print(text, end=""), lambda columns, rows: [("phase", 5), ("  host", 6)])
    found.start(drawing, lambda: None, lambda: None)
    return found


def shown(out: io.StringIO) -> list[str]:
    screen = Screen()
    screen.feed(out.getvalue().replace("\n", "\r\n"))
    return screen.shown()


def until(reached: Callable[[], bool]) -> None:
    """Wait for the thread that draws: on a busy machine it may come late."""
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


DRAWN = ["phase", "  host", ""]


def test_what_was_drawn_is_gone_at_the_end_even_if_somebody_has_just_written(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = out, err = put_in(monkeypatch)
    found = stage()
    until(lambda: shown(out) == DRAWN)
    print("said")
    found.settle()
    print("a warning", file=sys.stderr)
    until(lambda: shown(out) == ["said", *DRAWN])
    print("and this")
    found.end()
    assert shown(out) == ["said", "and this", ""]
    assert err.getvalue() == "a warning\n"
    assert (sys.stdout, sys.stderr) == streams


def test_a_pause_takes_all_away_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _err = put_in(monkeypatch)
    found = stage()
    until(lambda: shown(out) == DRAWN)
    sys.stdout.write("")
    found.pause()
    assert not found.drawing
    assert sys.stdout is out
    before = out.getvalue()
    time.sleep(0.3)
    assert out.getvalue() == before
    assert shown(out) == [""]
    found.resume()
    until(lambda: shown(out) == DRAWN)
    found.pause(for_good=True)
    found.resume()
    assert not found.drawing
    found.end()


def test_errors_that_go_elsewhere_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(monkeypatch)
    elsewhere = io.StringIO()
    monkeypatch.setattr(sys, "stderr", elsewhere)
    found = stage()
    assert sys.stderr is elsewhere
    found.end()


def test_a_terminal_that_was_closed_ends_the_drawing_quietly(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    out, _err = put_in(monkeypatch)
    found = stage()
    out.close()
    assert found._ticker is not None
    found._ticker.join(30)
    assert not found._ticker.is_alive()
    assert "Traceback" not in "".join(capfd.readouterr())
