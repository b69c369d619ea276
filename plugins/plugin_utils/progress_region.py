# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A few lines at the bottom of a terminal that are drawn anew, and give way to whatever else is written there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Callable

# Somebody who has just written may be about to ask something.
_QUIET_SECONDS = 0.15
# After a longer pause the process was stopped, and what is above the cursor is somebody else's.
_STOPPED_SECONDS = 3.0


def rows_taken(widths: Sequence[int], columns: int) -> int:
    """Count the rows of lines that were drawn, in a terminal that may have become narrower and has wrapped them."""
    return sum(max(1, -(-wide // max(columns, 1))) for wide in widths)


class Region:
    """Lines below everything else; the cursor rests under them, and is never hidden, so that a kill leaves the terminal usable."""

    def __init__(
        self, lines: Callable[[int, int], Sequence[tuple[str, int]]], size: Callable[[], tuple[int, int]], now: Callable[[], float]
    ) -> None:
        self._lines = lines
        self._size = size
        self._now = now
        self._drawn: list[int] = []
        self._painted = 0.0
        self._disturbed = -_QUIET_SECONDS
        self._broken_line = False
        # Set when the next look need not wait for a prompt: what was just written was ours.
        self.at_once = False

    def fresh(self, seconds: float) -> bool:
        """Say whether something was drawn within so many seconds."""
        return self._now() - self._painted < seconds

    def gone(self) -> str:
        """What takes the lines away and leaves the cursor where they began."""
        if not self._drawn or not self.fresh(_STOPPED_SECONDS):
            self._drawn = []
            return ""
        up = rows_taken(self._drawn, self._size()[0])
        self._drawn = []
        return f"\r\x1b[{up}A\x1b[J"

    def written(self, text: str) -> None:
        """Take note of what somebody else has written; a line without an end is not to be drawn on."""
        self._broken_line = not text.endswith("\n")
        self._disturbed = self._now()

    def again(self) -> str:
        """What draws the lines as they are now over those that are there."""
        now = self._now()
        if self._broken_line or (now - self._disturbed < _QUIET_SECONDS and not self.at_once):
            return ""
        self.at_once = False
        columns, rows = self._size()
        lines = self._lines(max(columns - 1, 1), max(rows // 2, 3))
        if not self.fresh(_STOPPED_SECONDS):
            self._drawn = []
        back = f"\r\x1b[{rows_taken(self._drawn, columns)}A" if self._drawn else "\r"
        self._drawn, self._painted = [wide for _text, wide in lines], now
        return back + "".join(f"{text}\x1b[K\n" for text, _wide in lines) + "\x1b[J"


class Stream:
    """Stands in for standard output or standard error: before anything is written, the region gives way."""

    def __init__(self, real: Any, terminal: Any, region: Region) -> None:
        self._real = real
        self._terminal = terminal
        self._region = region
        self._process = os.getpid()

    def write(self, text: str) -> int:
        """Write a text; an empty one is a tick, which comes this way because the display holds its lock around every write."""
        if os.getpid() != self._process:
            return int(self._real.write(text))
        if not text:
            self._draw(self._region.again())
            return 0
        self._draw(self._region.gone())
        count = self._real.write(text)
        self._region.written(text)
        return int(count)

    def writelines(self, texts: Sequence[str]) -> None:
        """Write several texts."""
        for text in texts:
            self.write(text)

    def clear(self) -> None:
        """Take the region away."""
        self._draw(self._region.gone())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _draw(self, codes: str) -> None:
        if codes:
            self._terminal.write(codes)
            self._terminal.flush()
