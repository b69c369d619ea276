# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services of a host that runs systemd: their state, their logs, a restart that is watched."""

from __future__ import annotations

import calendar
import os
import re
import shutil
import subprocess
import time

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.healthz import answer_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "MainPID",
    "NRestarts",
    "ExecMainStartTimestamp",
    "ExecMainStartTimestampMonotonic",
    "NeedDaemonReload",
)
_ENABLED = ("enabled", "enabled-runtime", "static", "alias", "linked", "linked-runtime", "indirect", "generated")
_PLACES = "/usr/bin:/bin:/usr/sbin:/sbin"
_TIMEOUT = 120
_LOG_LINES = 20
# Frames of a Go program's stack: they would push the message that matters out of sight.
_STACK_FRAME = re.compile(r"\s.*|goroutine \d+ .*|created by .*|[\w./*()\[\]-]+\(.*\)")
_LINES_WITH_STACK = 200

# A kubelet that cannot live with its configuration gives up within this time; waiting for its health is another phase's work.
_WATCHED = 1.0
_POLL = 0.2
# One that serves its health has got past all that; it takes half a second, on a busy host a few.
_WATCHED_FOR_HEALTH = 5.0
_HEALTH_POLL = 0.05
# Asking systemd costs a process, so one whose health is asked for is looked at less often.
_LOOKS = 0.5
# The kernel stamps files with the time of its last tick: a process that starts right after a write could pass for the older one.
_TICKS = 0.05


class Systemd:
    """The service manager of the machine that the module runs on."""

    applies = (RestartService,)

    def state(self, name: str) -> ServiceState:
        """Look at a service; one that is not installed, or masked, is not known."""
        found = self._show(name)
        active = found.get("ActiveState") in ("active", "reloading")
        return ServiceState(
            name=name,
            known=found.get("LoadState") == "loaded",
            active=active,
            enabled=found.get("UnitFileState") in _ENABLED,
            started=started(found, time.time(), time.clock_gettime(time.CLOCK_MONOTONIC)) if active else None,
            restarts=int(found.get("NRestarts") or 0),
        )

    def journal(self, name: str, lines: int = _LOG_LINES, since: float = 0.0) -> tuple[str, ...]:
        """Read the last log lines of a service, those after a time if one is given; none when there is no journal."""
        words = ["--unit", f"{name}.service", "--lines", str(lines), "--since", f"@{int(since)}", "--output", "cat"]
        try:
            done = run_program("journalctl", *words, "--no-pager", "--quiet")
        except Unusable:
            return ()
        return tuple(line for line in done.stdout.splitlines() if line.strip())

    def apply(self, action: Action) -> None:
        """Restart a service and see that it stays up."""
        if not isinstance(action, RestartService):
            raise TypeError(type(action).__name__)
        begun = time.time()
        if action.reload_units and self._show(action.name).get("NeedDaemonReload") == "yes":
            self._must(action.name, begun, "daemon-reload")
        time.sleep(_TICKS)
        self._must(action.name, begun, "restart", f"{action.name}.service")
        self._watch(action.name, begun, action.health_url)

    def _must(self, name: str, begun: float, *words: str) -> None:
        done = run_program("systemctl", *words)
        if done.returncode:
            said = done.stderr.strip() or f"systemctl {words[0]} ended with {done.returncode}"
            raise self._failed(name, begun, f"it cannot be restarted: {said}")

    def _watch(self, name: str, begun: float, health_url: str) -> None:
        """Poll for a short while: another process than the first one means that the first one is gone."""
        end = time.monotonic() + (_WATCHED_FOR_HEALTH if health_url else _WATCHED)
        first = ""
        while True:
            # Asked before the look at the process: one that is still the same afterwards is the one who answered.
            healthy = bool(first) and bool(health_url) and _healthy_within(_LOOKS, health_url)
            found = self._show(name)
            process = found.get("MainPID", "0")
            first = first or process
            if found.get("ActiveState") not in ("active", "reloading") or process != first:
                state = f"{found.get('ActiveState')}, {found.get('SubState')}"
                raise self._failed(name, begun, f"it was restarted and did not stay up ({state})")
            if healthy or time.monotonic() >= end:
                return
            if not health_url:
                time.sleep(_POLL)

    def _failed(self, name: str, begun: float, found: str) -> Unusable:
        lines = [line for line in self.journal(name, _LINES_WITH_STACK, begun) if not _STACK_FRAME.fullmatch(line)]
        logs = "".join(f"\n  {line}" for line in lines[-_LOG_LINES:])
        return Unusable(f"{name}.service", f"{found}; its last log lines:{logs or ' none'}\n", "Mend what they name and run again")

    def _show(self, name: str) -> dict[str, str]:
        done = run_program("systemctl", "show", f"{name}.service", "--property", ",".join(_PROPERTIES), "--no-pager")
        if done.returncode:
            raise Unusable("systemd", f"it does not answer: {done.stderr.strip()}", "This phase needs a host that was booted with systemd")
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def _healthy_within(seconds: float, url: str) -> bool:
    """Ask several times a second until it is well or the time is up."""
    end = time.monotonic() + seconds
    while answer_of(url):
        if time.monotonic() >= end:
            return False
        time.sleep(_HEALTH_POLL)
    return True


def started(properties: dict[str, str], now: float, monotonic: float) -> float | None:
    """Tell when the main process started, in seconds since the epoch.

    systemctl prints whole seconds of the wall clock; the clock that never jumps gives the fraction. Where the two
    disagree, the wall clock was set in between: file times are of that clock, so the whole second counts.
    """
    second = _second(properties.get("ExecMainStartTimestamp", ""))
    ticks = int(properties.get("ExecMainStartTimestampMonotonic") or 0)
    if second is None or not ticks:
        return second
    exact = now - (monotonic - ticks / 1e6)
    return exact if second <= exact < second + 1 else second


def _second(text: str) -> float | None:
    """Read a time such as Mon 2026-11-16 13:35:45 UTC."""
    try:
        return float(calendar.timegm(time.strptime(" ".join(text.split()[1:3]), "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return None


def run_program(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one of systemd's own programs to its end."""
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_PLACES}")
    if path is None:
        raise Unusable(program, "this host has no such program, so it does not run systemd", "This phase needs a host with systemd")
    # Times and messages in one form, whatever the host's settings.
    environment = {"PATH": _PLACES, "LC_ALL": "C", "TZ": "UTC", "SYSTEMD_COLORS": "0"}
    try:
        return subprocess.run(  # noqa: S603
            [path, *words],
            capture_output=True,
            check=False,
            timeout=_TIMEOUT,
            env=environment,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise Unusable(
            program, f"{' '.join(words)} did not end within {_TIMEOUT} s", "See what systemd waits for: systemctl list-jobs"
        ) from None
