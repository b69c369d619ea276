# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run has come to: which phase is under way, on which host, since when, and how each ended; no clock of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SKIPPED, OK, CHANGED, IGNORED, RESCUED, FAILED, UNREACHABLE = OUTCOMES = (
    "skipped",
    "ok",
    "changed",
    "ignored",
    "rescued",
    "failed",
    "unreachable",
)
_RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}
_PREFIXED = re.compile(r"([^|]{1,40}?) \| (.+)", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A task as a reader sees it: a part of a phase, or on its own."""

    title: str
    doing: str
    row: str
    phase: bool
    # Tasks with the same key belong together.
    key: str


def step_of(uuid: str, name: str, place: str) -> Step:
    """Read a task's name: what stands before a bar is its phase, and a task without one counts for its place, a play or a role."""
    found = _PREFIXED.fullmatch(name)
    if found is None:
        return Step(name, name, place, False, uuid)
    phase = found[1][0].lower() + found[1][1:] if found[1][1:] == found[1][1:].lower() else found[1]
    return Step(phase, found[2], phase, True, f"| {phase}")


def worst(outcomes: list[str]) -> str:
    """Give the outcome that matters most of several."""
    return max(outcomes, key=_RANK.__getitem__)


@dataclass(frozen=True)
class Finished:
    """A phase, or a task on its own, that is over on every host that was in it."""

    step: Step
    seconds: float
    outcomes: Mapping[str, str]

    @property
    def outcome(self) -> str:
        """What matters most of how it ended."""
        return worst(list(self.outcomes.values()))


@dataclass
class Part:
    """The part of one host in a phase that is under way."""

    outcome: str | None = None
    # Since when the host is at a task; None when it is not.
    since: float | None = None
    note: str = ""
    limit: float | None = None


@dataclass
class Visit:
    """A phase that is under way."""

    step: Step
    started: float
    ended: float
    hosts: dict[str, Part] = field(default_factory=dict)
    announced: bool = False

    @property
    def running(self) -> dict[str, Part]:
        """The hosts that are at a task."""
        return {host: part for host, part in self.hosts.items() if part.since is not None}

    @property
    def finished(self) -> Finished:
        """What came of it."""
        return Finished(
            self.step, self.ended - self.started, {host: part.outcome for host, part in self.hosts.items() if part.outcome is not None}
        )


@dataclass
class Cell:
    """What came of a phase on a host in the whole run."""

    outcome: str
    seconds: float


class Progress:
    """The state of a run; every method is told what time it is."""

    def __init__(self) -> None:
        self.open: dict[str, Visit] = {}
        self.rows: dict[str, dict[str, Cell]] = {}
        # Which rows are phases; the others are plays and roles.
        self.phases: set[str] = set()
        self.hosts: list[str] = []
        self._lockstep = True

    def play_started(self, lockstep: bool) -> tuple[Finished, ...]:
        """Leave the last play; with lockstep, hosts go from task to task together."""
        self._lockstep = lockstep
        return self._close(list(self.open))

    def task_started(self, step: Step, now: float) -> tuple[Finished, ...]:
        """Come to the next task; where hosts go together, all have left every other phase."""
        if not self._lockstep:
            return ()
        closed = self._close([key for key in self.open if key != step.key])
        self._visit(step, now)
        return closed

    def host_started(self, host: str, step: Step, now: float, limit: float | None = None) -> tuple[Finished, ...]:
        """Let a host begin with a task; what it was in before is over when no other host is left in it."""
        left = [key for key, visit in self.open.items() if key != step.key and host in visit.hosts] if not self._lockstep else []
        closed = self._close([key for key in left if self._abandoned(key, host)])
        visit = self._visit(step, now)
        part = visit.hosts.setdefault(host, Part())
        part.since, part.note, part.limit = now, "", limit
        if host not in self.hosts:
            self.hosts.append(host)
        return closed

    def noted(self, host: str, key: str, note: str) -> None:
        """Keep what a host's task has come to, such as its third try."""
        if key in self.open and host in self.open[key].hosts:
            self.open[key].hosts[host].note = note

    def host_ended(self, host: str, step: Step, outcome: str, now: float) -> float:
        """Let a host be through with a task; tells how long that took."""
        visit = self._visit(step, now)
        part = visit.hosts.setdefault(host, Part())
        taken = now - part.since if part.since is not None else 0.0
        part.outcome = outcome if part.outcome is None else worst([part.outcome, outcome])
        part.since, visit.ended = None, now
        self.phases |= {step.row} if step.phase else set()
        cell = self.rows.setdefault(step.row, {}).setdefault(host, Cell(outcome, 0.0))
        cell.outcome = worst([cell.outcome, outcome])
        cell.seconds += taken
        if host not in self.hosts:
            self.hosts.append(host)
        return taken

    def finish(self) -> tuple[Finished, ...]:
        """Leave everything that is under way."""
        return self._close(list(self.open))

    def rescue(self, hosts: list[str]) -> None:
        """Failures of these hosts were made good, as the totals of the run say."""
        for cells in self.rows.values():
            for host in hosts:
                if host in cells and cells[host].outcome == FAILED:
                    cells[host].outcome = RESCUED

    def _visit(self, step: Step, now: float) -> Visit:
        visit = self.open.setdefault(step.key, Visit(step, now, now))
        visit.step = step
        return visit

    def _abandoned(self, key: str, leaving: str) -> bool:
        """Say whether a host is the last one in a phase: all others are elsewhere by now."""
        visit = self.open[key]
        elsewhere = {host for other, found in self.open.items() if other != key for host in found.hosts}
        return all(host == leaving or host in elsewhere for host in visit.hosts)

    def _close(self, keys: list[str]) -> tuple[Finished, ...]:
        closed = [self.open.pop(key).finished for key in keys]
        return tuple(finished for finished in closed if finished.outcomes)
