# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Timers of a host that runs systemd."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import run_program
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import DisableTimer, EnableTimer, ReloadUnits, TimerState


class Timers:
    """The timers of the machine that the module runs on."""

    applies = (EnableTimer, DisableTimer, ReloadUnits)

    def state(self, name: str) -> TimerState:
        """Look at a timer; one that is not installed is neither active nor enabled."""
        done = run_program("systemctl", "show", f"{name}.timer", "--property", "ActiveState,UnitFileState", "--no-pager")
        found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        return TimerState(active=found.get("ActiveState") == "active", enabled=found.get("UnitFileState") == "enabled")

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, EnableTimer):
            _must("daemon-reload")
            _must("enable", f"{action.name}.timer")
            _must("restart" if action.restart else "start", f"{action.name}.timer")
        elif isinstance(action, DisableTimer):
            # The unit may be gone, with its links left.
            run_program("systemctl", "disable", "--now", f"{action.name}.timer")
            run_program("systemctl", "stop", f"{action.name}.service")
        elif isinstance(action, ReloadUnits):
            _must("daemon-reload")


def _must(*words: str) -> None:
    done = run_program("systemctl", *words)
    if done.returncode:
        said = done.stderr.strip() or f"it ended with {done.returncode}"
        raise Unusable(f"systemctl {' '.join(words)}", said, "Mend what it names, and run again")
