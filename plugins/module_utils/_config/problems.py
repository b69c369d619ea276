# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with the documents: every problem names its place, what was found and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SHOWN = 80
# A token or a certificate key in a field that is not meant for one is still a secret.
_LIKE_A_SECRET = re.compile(
    r"(?<![a-zA-Z0-9])[a-zA-Z0-9]{6}\.[a-zA-Z0-9]{16}(?![a-zA-Z0-9])|(?<![:0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])"
)


@dataclass(frozen=True)
class Problem:
    """One thing that a person must mend before anything is done."""

    where: str
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        line = f"{self.where}: found {self.found}; expected {self.expected}"
        return f"{line}. {self.hint}" if self.hint else line


class InvalidDocuments(ValueError):
    """Every problem of all documents, raised once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Findings:
    """Collects problems and warnings while the documents are read and judged."""

    def __init__(self, source: str = "", origins: dict[str, str] | None = None) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._paths: list[str] = []
        self._source = source
        self._origins = {} if origins is None else origins

    def within(self, source: str) -> Findings:
        """The same collection, for places in another source."""
        view = Findings(source, self._origins)
        view.problems, view.warnings, view._paths = self.problems, self.warnings, self._paths
        return view

    def problem(self, path: str, found: str, expected: str, hint: str = "") -> None:
        """Note a problem, unless its place, or one that holds it, was reported already."""
        if any(_inside(path, known) or _inside(known, path) for known in self._paths if known != path):
            return
        entry = Problem(self._where(path), found, expected, hint)
        if entry not in self.problems:
            self.problems.append(entry)
            self._paths.append(path)

    def warn(self, path: str, text: str) -> None:
        """Note something that a person should know, though the run may go on."""
        line = f"{self._where(path)}: {text}"
        if line not in self.warnings:
            self.warnings.append(line)

    def _where(self, path: str) -> str:
        source = self._source or self._origin(path)
        if not source:
            return path
        return f"{source}: {path}" if path else source

    def _origin(self, path: str) -> str:
        while path:
            if path in self._origins:
                return self._origins[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return ""


def _inside(path: str, holder: str) -> bool:
    return path.startswith(holder) and path[len(holder) : len(holder) + 1] in (".", "[")


def shown(value: object) -> str:
    """A value as it may stand in a message: its repr, cut short."""
    if isinstance(value, str):
        if _LIKE_A_SECRET.search(value):
            return shape(value)
        text = repr(str.__str__(value[: _SHOWN + 1]))
    elif isinstance(value, (bool, float, type(None))):
        text = repr(value)
    elif isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        text = repr(value) if value.bit_length() <= 256 else "a number of more than 70 digits"
    else:
        return shape(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def shape(value: object) -> str:
    """What kind of value it is, for places where the value itself must not be shown."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)} items"
    return f"a value of type {type(value).__name__}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or an empty text."""
    import difflib

    candidates = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower()[:200], list(candidates), n=1, cutoff=0.6)
    return candidates[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or an empty text."""
    close = nearest(name, known)
    return f"Did you mean {close}?" if close else ""
