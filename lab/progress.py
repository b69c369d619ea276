# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One line a step, and a sign of life while a step runs long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

HEARTBEAT_SECONDS = 15.0


class Progress:
    """Counts the steps of one command and says how far it is, on standard error."""

    def __init__(self, total: int, stream: TextIO = sys.stderr, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._total = total
        self._begun = 0
        self._stream = stream
        self._heartbeat = heartbeat
        self._lock = threading.Lock()

    @contextmanager
    def step(self, title: str, done: str = "done") -> Iterator[None]:
        """Announce the end of a step with the time it took, and its heartbeat until then."""
        label = self._label(title)
        started = time.monotonic()
        over = threading.Event()
        beat = threading.Thread(target=self._beat, args=(label, started, over), daemon=True)
        beat.start()
        end = f"{done} in"
        try:
            yield
        except BaseException:
            end = "FAILED after"
            raise
        finally:
            # No sign of life may follow the end.
            over.set()
            beat.join()
            self._say(f"{label} … {end} {seconds(time.monotonic() - started)}")

    def cached(self, title: str) -> None:
        """Count a step that has nothing to do."""
        self._say(f"{self._label(title)} … cached")

    def note(self, text: str) -> None:
        """Say something that is not a step."""
        self._say(text)

    def _label(self, title: str) -> str:
        with self._lock:
            self._begun += 1
            width = len(str(self._total))
            return f"[{self._begun:>{width}}/{self._total}] {title}"

    def _beat(self, label: str, started: float, over: threading.Event) -> None:
        while not over.wait(self._heartbeat):
            self._say(f"{label} … still running, {seconds(time.monotonic() - started)}")

    def _say(self, line: str) -> None:
        with self._lock:
            print(line, file=self._stream, flush=True)


def seconds(duration: float) -> str:
    """Show a duration with a decimal only while it matters."""
    return f"{duration:.1f} s" if duration < 10 else f"{duration:.0f} s"
