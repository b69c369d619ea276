# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The timer on nodes: what it is made of, when it goes, what a turn of it tells and counts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.program import Programs
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import DisableTimer, EnableTimer, ReloadUnits, TimerState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.unattended import turn
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import ROTATION, ROTATOR
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation_timer import RotationTimerPhase, program, told

SETTINGS = "/etc/kubernetes/kubephase-serving-rotation.json"
FIGURES = "/var/lib/kubephase/serving-rotation.prom"
DOCUMENTS = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}


@dataclass
class Timers:
    """A service manager that remembers what it was told."""

    on: bool = False
    calls: list[Action] = field(default_factory=list)
    applies = (EnableTimer, DisableTimer, ReloadUnits)

    def state(self, name: str) -> TimerState:
        return TimerState(self.on, self.on)

    def apply(self, action: Action) -> None:
        self.calls.append(action)
        self.on = isinstance(action, EnableTimer) if not isinstance(action, ReloadUnits) else self.on


def install(root: Path, timers: Timers, manager: str = "collection", check: bool = False, **given: Any) -> Outcome:
    options = {
        "becomes": "worker",
        "manager": manager,
        "algorithm": "ECDSA-P256",
        "cluster_configuration": DOCUMENTS["ClusterConfiguration"],
        "lifetime": None,
        "timeout": timedelta(minutes=2),
        "interval": timedelta(minutes=5),
        **given,
    }
    world = World(files=Files(str(root)), programs=Programs(), timers=timers, host=Host())
    return execute(RotationTimerPhase(turn), world, DOCUMENTS, options, check)


def here(root: Path) -> list[str]:
    return [path for path in ROTATOR if (root / path[1:]).exists()]


def test_all_of_it_comes_once_and_goes_again(tmp_path: Path) -> None:
    timers = Timers()
    assert install(tmp_path, timers, check=True).plan.facts["timer"] is True
    assert (here(tmp_path), timers.calls) == ([], [])
    assert install(tmp_path, timers).changed
    assert here(tmp_path) == [path for path in ROTATOR if path != FIGURES]
    assert timers.calls == [EnableTimer(ROTATION, restart=True)]
    assert (tmp_path / SETTINGS[1:]).stat().st_mode & 0o777 == 0o600
    assert not install(tmp_path, timers).changed
    assert install(tmp_path, timers, "self-signed").changed
    assert (here(tmp_path), list((tmp_path / "usr/local/lib").iterdir())) == ([], [])
    assert timers.calls[1:] == [DisableTimer(ROTATION), ReloadUnits()]
    assert not install(tmp_path, timers, "kubelet").changed


def test_directories_that_others_use_stay(tmp_path: Path) -> None:
    timers = Timers()
    install(tmp_path, timers)
    other = tmp_path / "usr/local/lib/kubephase/serving-approver.pyz"
    other.touch()
    install(tmp_path, timers, "kubelet")
    assert other.exists()


def test_a_timer_that_never_rests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="interval"):
        install(tmp_path, Timers(), interval=timedelta(seconds=1))


def test_the_program_is_whole(tmp_path: Path) -> None:
    """What it imports of ours is inside; without its settings it says so and ends."""
    (tmp_path / "rotation.pyz").write_bytes(Programs().packed(*_below(program(turn.__module__), tmp_path)))
    done = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "rotation.pyz")], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"<3>{SETTINGS}: it is missing")
    assert "kubelet_server_expiration_renew_errors 1" in (tmp_path / FIGURES[1:]).read_text()


def _below(made: tuple[tuple[str, ...], str], root: Path) -> tuple[tuple[str, ...], str]:
    entries, main = made
    assert "Files()" in main
    return entries, main.replace("Files()", f"Files({str(root)!r})")


class Told:
    """A phase that does as it is told, and remembers its options."""

    name = "told"

    def __init__(self, problem: str = "", lived: float | None = None) -> None:
        self._problem, self._lived = problem, lived
        self.options: Any = {}

    def read(self, docs: Any, world: Any, options: Any) -> None:
        self.options = options
        if self._problem:
            raise Unusable("somewhere", self._problem, "mend it")

    def plan(self, docs: Any, seen: None, options: Any) -> Plan:
        found = {"ttl_seconds": "100", "rotation_seconds": self._lived, "renew_errors": 1}
        change = (Change("a.pem", "its life nears the end", "", "", EnableTimer("x")),) if self._lived else ()
        return Plan(change, {"figures": found}, ("mind the gap",))


def run(root: Path, phase: Told) -> tuple[int, str]:
    said: list[str] = []
    world = World(files=Files(str(root)), host=Host(), timers=Timers())
    return turn(phase, world, SETTINGS, FIGURES, told, said.append), "".join(said)


def test_a_turn_takes_the_options_and_tells_the_journal(tmp_path: Path) -> None:
    install(tmp_path, Timers(), lifetime=timedelta(hours=1))
    phase = Told(lived=120.0)
    assert run(tmp_path, phase) == (0, "<4>mind the gap\n<5>a.pem: its life nears the end\n")
    assert (phase.options["manager"], phase.options["timeout"], phase.options["lifetime"]) == (
        "collection",
        timedelta(minutes=2),
        timedelta(hours=1),
    )


def test_figures_add_up_over_turns(tmp_path: Path) -> None:
    install(tmp_path, Timers())
    for phase in (Told(lived=120.0), Told(), Told("no answer")):
        run(tmp_path, phase)
    lines = (tmp_path / FIGURES[1:]).read_text().splitlines()
    assert "kubelet_server_expiration_renew_errors 3" in lines
    assert 'kubelet_certificate_manager_server_rotation_seconds_bucket{le="3600"} 1' in lines
    assert "kubelet_certificate_manager_server_rotation_seconds_count 1" in lines
    assert "kubelet_certificate_manager_server_ttl_seconds 100" in lines


@pytest.mark.parametrize("content", ["", "no JSON", "[]", json.dumps({"options": {}})])
def test_settings_that_are_broken_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / SETTINGS[1:]).write_text(content)
    code, said = run(tmp_path, Told())
    assert code == 1
    assert SETTINGS in said
