# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The timer on a node by which the collection rotates the serving certificate when no play runs: there, or gone."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import TimerState
from ansible_collections.kubephase.cluster.plugins.module_utils._serving import figures
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import (
    ROTATION,
    ROTATION_FIGURES,
    ROTATION_PROGRAM,
    ROTATION_SETTINGS,
    ROTATOR,
    unit_paths,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.timer import (
    file_changes,
    removals,
    service_unit,
    timer_changes,
    timer_unit,
)

_BY_COLLECTION = "collection"
_DIRECTORIES = (posixpath.dirname(ROTATION_PROGRAM), posixpath.dirname(ROTATION_FIGURES))
_SERVICE, _TIMER = unit_paths(ROTATION)
_SHORTEST = 30
# What the program is told of the options that the module had; the documents among them hold no secrets.
_GIVEN = (
    "becomes",
    "advertise_interface",
    "cluster_configuration",
    "init_configuration",
    "join_configuration",
    "kubelet_configuration",
    "manager",
    "algorithm",
)
_PERIODS = ("lifetime", "timeout")

_ROOM = "ansible_collections.kubephase.cluster.plugins.module_utils"
_USED = {
    "_adapters.clock": "Clock",
    "_adapters.files": "Files",
    "_adapters.host": "Host",
    "_adapters.serving_request": "NodeRequests, ServingRequests",
    "_adapters.systemd": "Systemd",
    "_runner.interpreter": "World",
    "_serving.node": "KubeletServingCertPhase",
    "_serving.rotation_timer": "told",
}


def program(turn: str) -> tuple[tuple[str, ...], str]:
    """Say which of our modules the program is made of, and how it starts; ``turn`` is the module whose function turn runs a phase."""
    used = {**{f"{_ROOM}.{name}": names for name, names in _USED.items()}, turn: "turn"}
    imports = "".join(f"from {name} import {names}\n" for name, names in used.items())
    return tuple(used), imports + _MAIN


_MAIN = f"""
files = Files()
api = NodeRequests(files)
world = World(files=files, node_api=api, serving=ServingRequests(files, api), systemd=Systemd(), clock=Clock(), host=Host())
raise SystemExit(turn(KubeletServingCertPhase(), world, {ROTATION_SETTINGS!r}, {ROTATION_FIGURES!r}, told))
"""


@dataclass(frozen=True)
class Observed:
    """What there is of the timer, and what it would be made of here."""

    files: Mapping[str, FileState | None]
    timer: TimerState
    program: bytes = field(default=b"", repr=False)
    interpreter: str = ""
    # Of our directories, those in which there is nothing of anybody else's.
    directories: tuple[str, ...] = ()


class RotationTimerPhase:
    """The timer as read and plan."""

    name = "serving-rotation"

    def __init__(self, turn: Callable[..., int]) -> None:
        self._turn = turn.__module__

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at files and timer; pack the program where it is wanted."""
        wanted = options["manager"] == _BY_COLLECTION
        return Observed(
            files={path: world.files.read(path) for path in ROTATOR},
            timer=world.timers.state(ROTATION),
            program=world.programs.packed(*program(self._turn)) if wanted else b"",
            interpreter=world.programs.interpreter(),
            directories=tuple(each for each in _DIRECTORIES if world.files.exists(each) and set(world.files.below(each)) <= set(ROTATOR)),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Have the timer run where the collection is the manager; remove it where another is."""
        if options["manager"] != _BY_COLLECTION:
            return Plan(tuple(removals(ROTATION, seen.timer, seen.files, seen.directories)), {"timer": False})
        seconds = int(options["interval"].total_seconds())
        if seconds < _SHORTEST:
            raise Unusable("interval", f"{seconds} s between two runs", f"Choose {_SHORTEST} s or more")
        wanted = {
            ROTATION_PROGRAM: (seen.program, 0o755),
            ROTATION_SETTINGS: (_settings(options), 0o600),
            _SERVICE: (_service(seen.interpreter, options["timeout"].total_seconds()), 0o644),
            _TIMER: (timer_unit("Turns of the rotation of the kubelet's serving certificate", seconds, seconds // 5), 0o644),
        }
        files = [change for path, (content, mode) in wanted.items() for change in file_changes(seen.files[path], path, content, mode)]
        written = {change.target for change in files}
        # The timer last: what it runs must be whole.
        timer = timer_changes(ROTATION, seen.timer, bool({_SERVICE, _TIMER} & written))
        return Plan((*files, *timer), {"timer": True})


def told(before: bytes | None, facts: Mapping[str, Any] | None) -> bytes:
    """Write the figures after a turn, with the counts of the turns before; a turn without facts has failed."""
    lines = before.decode(errors="replace").splitlines() if before else []
    lifetimes, errors = figures.read_back(lines)
    if facts is None:
        ttl = next((line.rpartition(" ")[2] for line in lines if line.startswith(f"{figures.TTL} ")), "+Inf")
        return figures.text(float(ttl), lifetimes, errors + 1).encode()
    found = facts["figures"]
    if found["rotation_seconds"] is not None:
        lifetimes = lifetimes.with_one(found["rotation_seconds"])
    return figures.text(float(found["ttl_seconds"]), lifetimes, errors + int(found["renew_errors"])).encode()


def _settings(options: Mapping[str, Any]) -> bytes:
    given = {name: options[name] for name in _GIVEN if options.get(name) is not None}
    periods = {name: options[name].total_seconds() for name in _PERIODS if options.get(name) is not None}
    return json.dumps({"options": given, "seconds": periods}, indent=2, sort_keys=True).encode() + b"\n"


def _service(interpreter: str, seconds: float) -> bytes:
    # It writes the kubelet's files and may restart the kubelet; /etc and /usr are none of its business.
    command = f"{interpreter} -I {ROTATION_PROGRAM}"
    return service_unit("Rotation of the kubelet's serving certificate", command, int(seconds) + 120, ["ProtectSystem=full"])
