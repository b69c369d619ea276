# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks components for their health, once or until they are well; no library is needed but the standard one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Callable
from urllib.parse import urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_credentials
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import NoAnswer, Transport
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.healthz import answer_of, judged
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.last_words import last_words
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health, HealthCheck, WaitForControlPlane

_LOG_LINES = 12
_KUBELET = "kubelet"
# By then the kubelet has looked at the manifests even where nothing tells it of a change; one that was only touched
# gets no new container, so that there is nothing to wait for any longer.
_NOTICED_SECONDS = 22.0
_NANOSECONDS = 10**9

# Asks a component and says what is wrong with its answer, or nothing.
Ask = Callable[[], str]


class HealthChecks:
    """The health endpoints of this node; cri and systemd, where given, tell more of what does not get well."""

    applies = (WaitForControlPlane,)

    def __init__(self, files: Any, cri: Any = None, systemd: Any = None) -> None:
        self._files = files
        self._cri = cri
        self._systemd = systemd

    def look(self, checks: Sequence[HealthCheck], cri_socket: str = "") -> tuple[Health, ...]:
        """Ask each once; what is in the way of asking is what was found."""

        def ask(check: HealthCheck) -> Health:
            start = time.monotonic()
            try:
                found = self._asker(check, cri_socket)()
            except Unusable as problem:
                found = problem.found
            return Health(check.name, check.url, not found, time.monotonic() - start, found)

        return tuple(_together(ask, checks))

    def apply(self, action: Action) -> dict[str, Any]:
        """Wait, stage by stage; what is not healthy in time fails, with what is known of it."""
        reached: list[Health] = []
        if isinstance(action, WaitForControlPlane):
            for stage in sorted({check.stage for check in action.checks}):
                checks = [check for check in action.checks if check.stage == stage]
                found = self._wait(checks, action.poll_seconds, action.cri_socket)
                failed = [(check, health) for check, health in zip(checks, found) if not health.healthy]
                if any(check.required for check, _health in failed):
                    raise ManyUnusable(tuple(self._explained(check, health, action.cri_socket) for check, health in failed))
                reached += found
        return {"components": [{"name": each.name, "url": each.url, "healthy": each.healthy, "seconds": each.seconds} for each in reached]}

    def _wait(self, checks: Sequence[HealthCheck], pause: float, cri_socket: str) -> list[Health]:
        """Ask all at the same time until those that are required are well; each has its own deadline."""
        start = time.monotonic()
        waiting = [check.name for check in checks if check.required]
        enough = Event()

        def ask(check: HealthCheck) -> Health:
            try:
                found = self._until_well(self._asker(check, cri_socket), start + check.seconds, pause, enough)
            finally:
                if check.required:
                    waiting.remove(check.name)
                if not waiting:
                    enough.set()
            return Health(check.name, check.url, not found, round(time.monotonic() - start, 3), found)

        return _together(ask, checks)

    @staticmethod
    def _until_well(ask: Ask, deadline: float, pause: float, enough: Event) -> str:
        while True:
            found = ask()
            # Enough is set once all that is required has been settled: the rest need not be waited for.
            if not found or time.monotonic() + pause >= deadline or enough.wait(pause):
                return found

    def _asker(self, check: HealthCheck, cri_socket: str) -> Ask:
        ask = self._endpoint(check)
        return lambda: ask() or self._outdated(check, cri_socket)

    def _outdated(self, check: HealthCheck, cri_socket: str) -> str:
        """Say that it is not yet the container that the manifest asks for who answers, or nothing."""
        if self._cri is None or not 0 <= time.time() - check.written < _NOTICED_SECONDS:
            return ""
        try:
            containers = self._cri.containers(cri_socket, check.name)
        except Unusable:
            return ""
        if not containers or containers[0].created / _NANOSECONDS >= check.written:
            return ""
        return "it still runs from before its manifest was written"

    def _endpoint(self, check: HealthCheck) -> Ask:
        if not check.kubeconfig:
            return lambda: answer_of(check.url)
        where = urlsplit(check.url)
        credentials = api_credentials.load(self._files, check.kubeconfig)
        transport = Transport(credentials, check.kubeconfig, f"{where.scheme}://{where.netloc}")

        def ask() -> str:
            try:
                return judged(transport.send("GET", where.path).status)
            except NoAnswer as silence:
                return str(silence)
            except Unusable as stranger:
                # A certificate that was issued anew a moment ago is not served yet.
                return stranger.found

        return ask

    def _explained(self, check: HealthCheck, health: Health, cri_socket: str) -> Unusable:
        found = f"{check.name} is not healthy after {check.seconds:.0f} s: {health.found}"
        more = self._kubelet_lines() if check.name == _KUBELET else last_words(self._cri, cri_socket, check.name)
        fix = "Mend what its last lines complain about, and run again" if more else "Look at its log, mend it and run again"
        return Unusable(check.url, "\n  ".join([found, *more]), fix)

    def _kubelet_lines(self) -> list[str]:
        if self._systemd is None:
            return []
        try:
            return [f"kubelet: {line}" for line in self._systemd.journal(_KUBELET, _LOG_LINES)]
        except Unusable as problem:
            return [problem.found]


def _together(ask: Callable[[HealthCheck], Health], checks: Sequence[HealthCheck]) -> list[Health]:
    if not checks:
        return []
    with ThreadPoolExecutor(len(checks)) as pool:
        return list(pool.map(ask, checks))
