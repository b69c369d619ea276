# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides what of a run is told, and when: what is over, what has begun, that it still goes on; printing is left to others."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Callable, Protocol

from ansible_collections.kubephase.cluster.plugins.plugin_utils import progress_lines as lines
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import OK, SKIPPED, Finished, Progress, Step

# A phase that takes longer is announced before its first host is through.
_ANNOUNCE_SECONDS = 1.0


class Place(Protocol):
    """Where a run is shown."""

    @property
    def drawing(self) -> bool:
        """Whether what is under way is drawn, and need not be told."""

    def settle(self) -> None:
        """Let what was written be seen."""


@dataclass(frozen=True)
class Wishes:
    """What somebody wants to be told of."""

    ok: bool = True
    skipped: bool = True
    each_skipped: bool = False
    interval: float = 15.0

    def wants(self, outcome: str) -> bool:
        """Say whether a host that ended so has a line of its own."""
        if outcome == SKIPPED:
            return self.skipped and self.each_skipped
        return self.ok or outcome != OK


class Teller:
    """Tells a run, line by line."""

    def __init__(self, put: Callable[[str, str, bool], None], place: Place, now: Callable[[], float]) -> None:
        self.progress = Progress()
        # Held while the state is changed or read, and never while anything is printed: the display's own lock comes first.
        self.state = threading.Lock()
        self.wishes = Wishes()
        self.look = lines.style(unicode=False)
        self._put = put
        self._place = place
        self._now = now
        self._began = self._spoken = now()
        self._heading = ""
        self._skipped: list[str] = []

    def begin(self, look: lines.Style, wishes: Wishes) -> None:
        """Count the time from here."""
        self.look, self.wishes = look, wishes
        self._began = self._spoken = self._now()

    def play(self, heading: str) -> None:
        """Leave a play; the next, if any, is announced when it has something to show."""
        self._leave_play()
        self._heading = heading

    def nobody(self) -> None:
        """Say that a play is for no host."""
        with self.state:
            name, self._heading = self._heading, ""
        self.say([lines.passed_line(name, "no hosts", self.look)])

    def finished(self, closed: Iterable[Finished]) -> None:
        """Tell of phases that are over in a line each; those that nobody had to run share one."""
        for each in closed:
            if each.outcome == SKIPPED:
                self._skipped += [each.step.title] if self.wishes.skipped else []
            # Where nothing is drawn, each host has had its line, which is enough for a task on its own.
            elif (each.step.phase or self._place.drawing) and (self.wishes.ok or each.outcome != OK):
                self._flush_skipped()
                self.announce_play()
                self.say([lines.finished_line(each, self.look)])

    def all_finished(self) -> None:
        """Leave everything that is under way."""
        with self.state:
            closed = self.progress.finish()
        self.finished(closed)
        self._leave_play()

    def announce_play(self) -> None:
        """Print the heading of a play, once."""
        with self.state:
            name, self._heading = self._heading, ""
        if name:
            line = lines.heading(name, self.look)
            self.print([line.text], line.tone)

    def announce(self, step: Step) -> None:
        """Where nothing is drawn, say that a phase has begun, once."""
        with self.state:
            visit = self.progress.open.get(step.key)
            first = visit is not None and not visit.announced
            if visit is not None:
                visit.announced = True
        self._flush_skipped()
        self.announce_play()
        if first and not self._place.drawing:
            self.print([f"> {step.title}"], lines.HEADING)

    def say(self, said: Iterable[lines.Line]) -> None:
        """Print lines, and let them be seen."""
        for line in said:
            self.print([line.text], line.tone)
        self.settle()

    def print(self, texts: Sequence[str], tone: str, stderr: bool = False) -> None:
        """Print a text of several lines; where nothing is drawn, with the time."""
        text = "\n".join(texts)
        if not self._place.drawing and tone != lines.PLAIN:
            blank = len(text) - len(text.lstrip("\n"))
            text = f"{text[:blank]}{lines.stamp(self._now() - self._began)} {text[blank:]}"
        self._put(text, tone, stderr)
        self._spoken = self._now()

    def settle(self) -> None:
        """Let what was printed be seen."""
        self._spoken = self._now()
        self._place.settle()

    def frame(self, columns: int, rows: int) -> list[lines.Line]:
        """Give what is to be drawn now."""
        with self.state:
            return lines.frame(self.progress, self._now(), self._began, columns, rows, self.look)

    def look_around(self) -> None:
        """Announce what takes longer and, where nothing is drawn, give a sign of life."""
        now = self._now()
        with self.state:
            due = now - self._spoken >= self.wishes.interval and not self._place.drawing
            unannounced = [visit for visit in self.progress.open.values() if visit.running and not visit.announced]
            long = [visit.step for visit in unannounced if due or now - visit.started > _ANNOUNCE_SECONDS]
            alive = lines.sign_of_life(self.progress, now, self.look) if due else []
        for step in long:
            self.announce(step)
        if long or alive:
            self.say(alive)

    def table(self, columns: int, paint: Callable[[str, str], str]) -> list[str]:
        """Give the table of the whole run."""
        with self.state:
            return lines.table(self.progress, self._now() - self._began, columns, self.look, paint)

    def last_words(self) -> None:
        """Say what a run that was interrupted was at."""
        with self.state:
            left = lines.sign_of_life(self.progress, self._now(), self.look, "stopped at")
        self.say(left)

    def _flush_skipped(self) -> None:
        with self.state:
            titles, self._skipped = self._skipped, []
        if titles:
            self.announce_play()
            self.say([lines.skipped_line(titles, self.look)])

    def _leave_play(self) -> None:
        """A play in which nobody had to do anything is one line."""
        with self.state:
            name, titles = self._heading, self._skipped
            if name and titles:
                self._heading, self._skipped = "", []
        if name and titles:
            self.say([lines.passed_line(name, SKIPPED, self.look)])
        self._flush_skipped()
