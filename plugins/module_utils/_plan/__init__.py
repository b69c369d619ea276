# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The contract between phases and the runner: a plan is data, and one interpreter applies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar


class Unusable(Exception):
    """Something on the host that a person must mend: where it is, what was found, what to do."""

    def __init__(self, where: str, found: str, fix: str) -> None:
        super().__init__(f"{where}: {found}. {fix}")
        self.where = where
        self.found = found
        self.fix = fix


class ManyUnusable(Exception):
    """Every finding of one look at the host, reported together, with the facts of a phase that has some to show."""

    def __init__(self, findings: tuple[Unusable, ...], facts: Mapping[str, Any] | None = None) -> None:
        super().__init__("\n".join(str(finding) for finding in findings))
        self.findings = findings
        self.facts = dict(facts or {})


@dataclass(frozen=True)
class Action:
    """What the interpreter carries out; the adapter that lists its type in ``applies`` knows how.

    One that only waits changes nothing, and is not reported as a change.
    """

    changes_something: ClassVar[bool] = True


@dataclass(frozen=True)
class Change:
    """One thing that differs from what the documents ask for; before and after are free of secrets."""

    target: str
    reason: str
    before: str
    after: str
    action: Action


@dataclass(frozen=True)
class Plan:
    """What a phase would do, the facts it returns and what a person should be warned of."""

    changes: tuple[Change, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def real_changes(self) -> tuple[Change, ...]:
        """What is different afterwards; a wait is not."""
        return tuple(change for change in self.changes if change.action.changes_something)


Observed = TypeVar("Observed")


class Phase(Protocol[Observed]):
    """A phase reads the world, then plans without touching it."""

    name: str

    def read(self, docs: Any, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at the host; reading only."""

    def plan(self, docs: Any, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Turn documents and observations into changes; pure."""
