# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules of the standing approver that need no server, and the files that rotations switch."""

from __future__ import annotations

import base64
import json
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import RemoveDirectory, SwitchLink
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.standing import (
    LEASE_SECONDS,
    Memory,
    Rules,
    lease_spec,
    token_times,
)

NOW = datetime(2027, 1, 1, tzinfo=timezone.utc)


def lease(holder: str = "", version: str = "7") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": holder} if holder else {}}


@pytest.mark.parametrize(
    ("found", "memory", "clock", "mine"),
    [
        (lease(), Memory(), 0, True),
        (lease("cp1"), Memory(), 0, True),
        (lease("cp2"), Memory(), 10**6, False),
        (lease("cp2"), Memory(version="7", since=0.0), LEASE_SECONDS - 1, False),
        (lease("cp2"), Memory(version="7", since=0.0), LEASE_SECONDS, True),
        (lease("cp2"), Memory(version="6", since=0.0), 10**6, False),
    ],
)
def test_whose_turn_it_is(found: Any, memory: Memory, clock: float, mine: bool) -> None:
    assert Rules().is_mine(found, "cp1", memory, clock) is mine


def test_a_clock_of_another_boot_says_nothing() -> None:
    written = Rules().remembered(Memory("boot-1", "7", 100.0, ("uid",), {"approved": 3}))
    assert Rules().memory(written, "boot-1") == Memory("boot-1", "7", 100.0, ("uid",), {"approved": 3})
    assert Rules().memory(written, "boot-2") == Memory("boot-2", "", 0.0, ("uid",), {"approved": 3})
    assert Rules().memory(b"spoiled", "boot-1") == Memory("boot-1")


def test_a_lease_changes_hands_only_with_its_holder() -> None:
    taken = lease_spec(lease("cp2"), "cp1", NOW)
    assert (taken["holderIdentity"], taken["leaseTransitions"], taken["renewTime"]) == ("cp1", 1, "2027-01-01T00:00:00.000000Z")
    assert lease_spec({"spec": taken}, "cp1", NOW) == taken


def token(**claims: Any) -> str:
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b"{}", json.dumps(claims).encode(), b"x"))


@pytest.mark.parametrize(
    ("given", "times"),
    [(token(iat=1, exp=9), (1.0, 9.0)), (token(exp=9), (0.0, 0.0)), ("abc", (0.0, 0.0)), ("", (0.0, 0.0)), ("a.%.c", (0.0, 0.0))],
)
def test_how_long_a_token_lives(given: str, times: tuple[float, float]) -> None:
    assert token_times(given) == times


@pytest.mark.parametrize(("now", "stale"), [(4, False), (5, True), (9, True)])
def test_a_token_is_renewed_after_half_of_its_life(now: float, stale: bool) -> None:
    assert Rules().is_stale(token(iat=1, exp=9), now) is stale
    assert Rules().is_stale("no token", now)


@pytest.mark.parametrize("content", [None, b"", b"[]", b"spoiled"])
def test_settings_that_cannot_be_read(content: bytes | None) -> None:
    with pytest.raises(Unusable, match="not a JSON object"):
        Rules().settings("/settings", content)


def test_a_policy_that_cannot_be_meant_is_refused_by_the_program_too() -> None:
    with pytest.raises(ManyUnusable):
        Rules().settings("/settings", b'{"nodes": {"a": {"ip_addresses": ["x"]}}}')


def test_a_link_is_switched_and_never_missing(tmp_path: Path) -> None:
    files = Files(str(tmp_path))
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        (tmp_path / "by").unlink(missing_ok=True)
        os.symlink("stale", tmp_path / "by")
        files.apply(SwitchLink("/current", f"/{name}", "/by"))
        assert (tmp_path / "current").read_text() == name
        assert not (tmp_path / "by").is_symlink()


def test_a_directory_that_others_use_stays(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used/file").touch()
    (tmp_path / "empty").mkdir()
    for name in ("used", "empty", "gone"):
        Files(str(tmp_path)).apply(RemoveDirectory(f"/{name}"))
    assert [path.name for path in tmp_path.iterdir()] == ["used"]
