# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a run is shown: a terminal in which lines are drawn again, or anything else; and the thread that looks at it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_region import Region, Stream

_LOOK_SECONDS = 0.1


def is_terminal() -> bool:
    """Whether standard output is a terminal that knows how to move its cursor."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def is_unicode() -> bool:
    """Whether standard output can show more than ASCII."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"


def size() -> tuple[int, int]:
    """Columns and rows of the terminal as they are now."""
    try:
        found = os.get_terminal_size(_terminal())
    except (OSError, ValueError):
        return 80, 24
    return found.columns or 80, found.lines or 24


def _terminal() -> int:
    return sys.__stdout__.fileno() if sys.__stdout__ else 1


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(_terminal()) == os.getpgrp()
    except OSError:
        return True


class Stage:
    """Draws while it may, looks around otherwise, and leaves the terminal as it was however the run ends."""

    def __init__(
        self,
        write: Callable[[str], None],
        frame: Callable[[int, int], Sequence[tuple[str, int]]],
    ) -> None:
        # Writes by way of the display, whose lock keeps prompts and new processes apart from what is drawn.
        self._write = write
        self._frame = frame
        self._look_around: Callable[[], None] = lambda: None
        self._last_words: Callable[[], None] = lambda: None
        self._process = os.getpid()
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None
        self._streams: tuple[Any, Any] | None = None
        self._region: Region | None = None

    @property
    def drawing(self) -> bool:
        """Whether lines are drawn again and again."""
        return self._region is not None

    def start(self, drawing: bool, look_around: Callable[[], None], last_words: Callable[[], None]) -> None:
        """Begin to draw, or to look around, and prepare for an end that nobody announces."""
        self._look_around, self._last_words = look_around, last_words
        self._streams = (sys.stdout, sys.stderr) if drawing else None
        self.resume()
        self._ticker = threading.Thread(target=self._keep_looking, name="kubephase-progress", daemon=True)
        self._ticker.start()
        atexit.register(self._leave)

    def resume(self) -> None:
        """Draw again, if that was begun and not given up."""
        if self._streams is None or self._region is not None:
            return
        out, err = self._streams
        self._region = Region(self._lines, size, time.monotonic)
        sys.stdout = Stream(out, out, self._region)
        if err.isatty():
            sys.stderr = Stream(err, out, self._region)

    def pause(self, for_good: bool = False) -> None:
        """Take away what is drawn, for example because somebody is asked something."""
        if self._region is None or self._streams is None:
            return
        region, self._region = self._region, None
        # With nothing to draw any more this takes away what is there.
        region.at_once = True
        self._write("")
        sys.stdout, sys.stderr = self._streams
        self._streams = None if for_good else self._streams

    def end(self) -> None:
        """Show nothing more."""
        self.pause(for_good=True)
        self._over.set()

    def settle(self) -> None:
        """Let what was just written be seen, with what is drawn below it."""
        region = self._region
        if region is not None:
            region.at_once = True
            # Of many lines in a row not each needs a drawing of its own; the thread comes soon enough.
            if not region.fresh(_LOOK_SECONDS):
                self._write("")
            return
        try:
            sys.stdout.flush()
        except OSError:
            # Whoever read this has gone.
            pass

    def _lines(self, columns: int, rows: int) -> Sequence[tuple[str, int]]:
        return self._frame(columns, rows) if self.drawing else []

    def _keep_looking(self) -> None:
        try:
            while not self._over.wait(_LOOK_SECONDS):
                self._look_around()
                if self.drawing and _in_foreground():
                    self._write("")
        except (OSError, ValueError):
            # The terminal was closed: there is nobody to show anything to.
            pass

    def _leave(self) -> None:
        """Come to an end that nobody announced, such as an interrupt; in a process that was forked this is not ours to do."""
        if os.getpid() != self._process:
            return
        announced = self._over.is_set()
        self.end()
        if self._ticker is not None:
            # A thread that writes while Python shuts down would bring it down.
            self._ticker.join(2)
        if not announced:
            self._last_words()
