# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program that a systemd timer runs: its files and its units, there or gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import (
    FileState,
    RemoveDirectory,
    RemoveFile,
    WriteFile,
    tightened,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import DisableTimer, EnableTimer, ReloadUnits, TimerState
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import unit_paths

_UNWANTED = "it is not wanted"


def service_unit(description: str, command: str, seconds: int, settings: Sequence[str]) -> bytes:
    """Write the unit of a program that runs, does one turn, and ends."""
    return _unit(
        "[Unit]",
        f"Description={description}",
        "Documentation=https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStart={command}",
        "StateDirectory=kubephase",
        "StateDirectoryMode=0755",
        f"TimeoutStartSec={seconds}",
        # Without it systemd tells of every run, and what was decided is lost among that.
        "LogLevelMax=notice",
        "NoNewPrivileges=yes",
        "ProtectHome=read-only",
        "PrivateTmp=yes",
        *settings,
    )


def timer_unit(description: str, seconds: int, spread: int = 0) -> bytes:
    """Write the unit of a timer; with a spread, hosts do not all come at once."""
    return _unit(
        "[Unit]",
        f"Description={description}",
        "",
        "[Timer]",
        "OnActiveSec=1",
        f"OnUnitInactiveSec={seconds}",
        "AccuracySec=1",
        *([f"RandomizedDelaySec={spread}"] if spread else []),
        "",
        "[Install]",
        "WantedBy=timers.target",
    )


def _unit(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def file_changes(found: FileState | None, path: str, content: bytes, mode: int) -> list[Change]:
    """Write a file that is missing or differs; narrow one that others may write."""
    if found is not None and found.content == content:
        narrowed = tightened(found, mode)
        return [narrowed] if narrowed else []
    before = "" if found is None else shown(path, found.content)
    reason = "it does not exist" if found is None else "it differs from what is wanted"
    return [Change(path, reason, before, shown(path, content), WriteFile(path, content, mode))]


def shown(path: str, content: bytes) -> str:
    """Show a file in a diff; a program is only named."""
    return f"a program of {len(content)} bytes\n" if path.endswith(".pyz") else content.decode(errors="replace")


def timer_changes(name: str, state: TimerState, units_written: bool) -> list[Change]:
    """Have the timer run, with the units that are then on disk."""
    if state.active and state.enabled and not units_written:
        return []
    reason = "its units have changed" if units_written and state.active else "it does not run"
    before = f"active: {'yes' if state.active else 'no'}\n"
    return [Change(f"{name}.timer", reason, before, "active: yes\n", EnableTimer(name, restart=units_written))]


def removals(
    name: str, state: TimerState, files: Mapping[str, FileState | None], directories: Sequence[str], hidden: Collection[str] = ()
) -> list[Change]:
    """Stop the timer, remove the files, and the directories in which nothing else is left."""
    changes = []
    if state.active or state.enabled:
        changes.append(Change(f"{name}.timer", _UNWANTED, "active: yes\n", "active: no\n", DisableTimer(name)))
    present = {path: found for path, found in files.items() if found is not None}
    changes += [
        Change(path, _UNWANTED, "" if path in hidden else shown(path, found.content), "", RemoveFile(path))
        for path, found in present.items()
    ]
    changes += [Change(path, "nothing is left in it", "directory\n", "", RemoveDirectory(path)) for path in directories]
    if any(path in present for path in unit_paths(name)):
        changes.append(Change("systemd", "units are gone", "", "", ReloadUnits()))
    return changes
