# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the table: what a gate and its backports mean, and which rows cannot be written."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import (
    Always,
    BadRow,
    Before,
    Derived,
    Each,
    Row,
    Since,
    Steps,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import UnsupportedVersion, Version

BACKPORTED = Since("1.33.12", "1.34.8", "1.35.5", "1.36.1")
DROPPED = Before("1.33.12", "1.34.8")
STEPS = Steps(("1.22.0", "a"), ("1.22.17", "b"), ("1.23.0", "a"), ("1.31.4", "c"))

READINGS: list[tuple[Row[Any], str, Any]] = [
    (BACKPORTED, "1.22.0", False),
    (BACKPORTED, "1.32.99", False),
    (BACKPORTED, "1.33.11", False),
    (BACKPORTED, "1.33.12", True),
    (BACKPORTED, "1.33.13", True),
    (BACKPORTED, "1.34.0", False),
    (BACKPORTED, "1.34.7", False),
    (BACKPORTED, "1.34.8", True),
    (BACKPORTED, "1.36.0", False),
    (BACKPORTED, "1.36.1", True),
    (BACKPORTED, "1.37.0", True),
    (DROPPED, "1.22.0", True),
    (DROPPED, "1.33.11", True),
    (DROPPED, "1.33.12", False),
    (DROPPED, "1.34.7", True),
    (DROPPED, "1.34.8", False),
    (DROPPED, "1.35.0", False),
    (STEPS, "1.22.0", "a"),
    (STEPS, "1.22.16", "a"),
    (STEPS, "1.22.17", "b"),
    (STEPS, "1.22.18", "b"),
    (STEPS, "1.23.0", "a"),
    (STEPS, "1.31.3", "a"),
    (STEPS, "1.31.4", "c"),
    (STEPS, "1.37.1", "c"),
    (Always(3), "1.22.0", 3),
    (Each({"one": STEPS, "two": Always("d")}), "1.22.17", {"one": "b", "two": "d"}),
    (Derived(STEPS, lambda value, version: f"{value}{version.minor}"), "1.31.4", "c31"),
]

IMPOSSIBLE: list[tuple[str, Callable[[], Row[Any]]]] = [
    ("listed twice", lambda: Since("1.33.12", "1.33.12")),
    ("listed twice", lambda: Before("1.33.12", "1.33.12")),
    ("listed twice", lambda: Steps(("1.22.0", "a"), ("1.24.0", "b"), ("1.24.0", "c"))),
    ("listed after", lambda: Since("1.34.8", "1.33.12")),
    ("listed after", lambda: Steps(("1.22.0", "a"), ("1.24.0", "b"), ("1.23.0", "c"))),
    ("one patch in each minor", lambda: Since("1.33.4", "1.33.12")),
    ("one patch in each minor", lambda: Since("1.33.12", "1.35.5")),
    ("the first step is v1.23.0", lambda: Steps(("1.23.0", "a"), ("1.24.0", "b"))),
    ("the first step is v1.22.1", lambda: Steps(("1.22.1", "a"))),
    ("v1.24.0 changes nothing", lambda: Steps(("1.22.0", "a"), ("1.24.0", "a"))),
    ("at least one release", lambda: Since()),
    ("at least one release", lambda: Steps()),
]


@pytest.mark.parametrize(("row", "version", "expected"), READINGS)
def test_a_row_has_its_value_in_a_release(row: Row[Any], version: str, expected: Any) -> None:
    assert row.at(Version.parse(version)) == expected


@pytest.mark.parametrize(("why", "make"), IMPOSSIBLE)
def test_a_row_that_contradicts_itself_is_rejected(why: str, make: Callable[[], Row[Any]]) -> None:
    with pytest.raises(BadRow, match=why):
        make()


def test_a_row_names_exact_releases() -> None:
    with pytest.raises(UnsupportedVersion):
        Since("1.33")


@pytest.mark.parametrize(
    ("row", "boundaries"),
    [
        (BACKPORTED, ["v1.33.12", "v1.34.8", "v1.35.5", "v1.36.1"]),
        (STEPS, ["v1.22.17", "v1.23.0", "v1.31.4"]),
        (Always(1), []),
        (Each({"one": STEPS, "two": Since("1.23.0")}), ["v1.22.17", "v1.23.0", "v1.31.4"]),
        (Derived(STEPS, lambda value, version: value), ["v1.22.17", "v1.23.0", "v1.31.4"]),
    ],
)
def test_a_row_names_its_boundaries(row: Row[Any], boundaries: list[str]) -> None:
    assert [str(boundary) for boundary in row.boundaries()] == boundaries
