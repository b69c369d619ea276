# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What could not be read, gathered instead of failing: a report of a broken cluster is worth more than none."""

from __future__ import annotations

from typing import Callable, TypeVar

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

Found = TypeVar("Found")


class Unread:
    """The parts that could not be read, each with the reason."""

    def __init__(self) -> None:
        self._found: list[dict[str, str]] = []

    def note(self, part: str, where: str, reason: str) -> None:
        """Take down one."""
        self._found.append({"part": part, "where": where, "reason": reason})

    def attempt(self, part: str, look: Callable[[], Found], otherwise: Found) -> Found:
        """Look; what is in the way is taken down, and the other value stands for what could not be seen."""
        try:
            return look()
        except Unusable as problem:
            self.note(part, problem.where, problem.found)
        except ManyUnusable as problems:
            for each in problems.findings:
                self.note(part, each.where, each.found)
        return otherwise

    @property
    def facts(self) -> tuple[dict[str, str], ...]:
        """All that was taken down."""
        return tuple(self._found)
