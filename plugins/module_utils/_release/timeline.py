# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the release table: how one fact changes from patch release to patch release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Generic, Protocol, TypeVar, overload

from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import OLDEST, Version

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class BadRow(ValueError):
    """A row of the table that contradicts itself: listed twice, out of order or with a gap."""


class Dated(Protocol):
    """What a row needs to know of the object it is asked through."""

    @property
    def version(self) -> Version:
        """The release whose fact is wanted."""


class Row(Generic[T_co]):
    """A fact that is read like an attribute: through a release it is the value, through the class the row itself."""

    def at(self, version: Version) -> T_co:
        """Tell the value in this release."""
        raise NotImplementedError

    def boundaries(self) -> tuple[Version, ...]:
        """List the releases at which the value may change."""
        raise NotImplementedError

    @overload
    def __get__(self, release: None, owner: type) -> Row[T_co]: ...

    @overload
    def __get__(self, release: Dated, owner: type) -> T_co: ...

    def __get__(self, release: Dated | None, owner: type) -> Any:
        """Resolve the fact for the release."""
        return self if release is None else self.at(release.version)


class Always(Row[T_co]):
    """The same in every release so far."""

    def __init__(self, value: T_co) -> None:
        self._value = value

    def at(self, version: Version) -> T_co:
        """Tell the one value."""
        return self._value

    def boundaries(self) -> tuple[Version, ...]:
        """Name no boundary."""
        return ()


class Steps(Row[T_co]):
    """A value from each listed release up to the next listed one; the first step is the oldest release."""

    def __init__(self, *steps: tuple[str, T_co]) -> None:
        self._starts = _ascending(start for start, _value in steps)
        self._values = tuple(value for _start, value in steps)
        if self._starts[0] != Version(1, OLDEST, 0):
            raise BadRow(f"the first step is {self._starts[0]}, so older releases would have no value")
        for start, before, after in zip(self._starts[1:], self._values, self._values[1:]):
            if before == after:
                raise BadRow(f"the step at {start} changes nothing")

    def at(self, version: Version) -> T_co:
        """Tell the value of the last step at or before the release."""
        reached = sum(1 for start in self._starts if start <= version)
        return self._values[reached - 1]

    def boundaries(self) -> tuple[Version, ...]:
        """List the steps after the first."""
        return self._starts[1:]


class Since(Row[bool]):
    """True from the listed patch of each listed minor, and in every later minor: a change and its backports."""

    def __init__(self, *firsts: str) -> None:
        self._firsts = _ascending(firsts)
        minors = [first.minor for first in self._firsts]
        if minors != list(range(minors[0], minors[0] + len(minors))):
            raise BadRow(f"a gate needs one patch in each minor from its first to its last, not {', '.join(firsts)}")
        self._by_minor = {first.minor: first for first in self._firsts}

    def at(self, version: Version) -> bool:
        """Tell whether the release has it."""
        first = self._by_minor.get(version.minor)
        return version >= first if first else version > self._firsts[-1]

    def boundaries(self) -> tuple[Version, ...]:
        """List the first patches."""
        return self._firsts


class Before(Since):
    """True up to the listed patch of each listed minor, exclusive, and false in every later minor."""

    def at(self, version: Version) -> bool:
        """Tell whether the release still has it."""
        return not super().at(version)


class Each(Row[Mapping[str, T]]):
    """Several facts under names of their own."""

    def __init__(self, rows: Mapping[str, Row[T]]) -> None:
        self._rows = rows

    def at(self, version: Version) -> Mapping[str, T]:
        """Resolve every one of them."""
        return {name: row.at(version) for name, row in self._rows.items()}

    def boundaries(self) -> tuple[Version, ...]:
        """List the boundaries of all of them."""
        return tuple(sorted({boundary for row in self._rows.values() for boundary in row.boundaries()}))


class Derived(Row[T_co]):
    """A fact computed from another row, so that it is tabled once."""

    def __init__(self, row: Row[Any], function: Callable[[Any, Version], T_co]) -> None:
        self._row = row
        self._function = function

    def at(self, version: Version) -> T_co:
        """Compute it from the other row's value."""
        return self._function(self._row.at(version), version)

    def boundaries(self) -> tuple[Version, ...]:
        """List the boundaries of the row it comes from."""
        return self._row.boundaries()


def _ascending(texts: Any) -> tuple[Version, ...]:
    versions = tuple(Version.parse(text) for text in texts)
    if not versions:
        raise BadRow("a row needs at least one release")
    for earlier, later in zip(versions, versions[1:]):
        if earlier == later:
            raise BadRow(f"{later} is listed twice")
        if earlier > later:
            raise BadRow(f"{later} is listed after {earlier}")
    return versions
