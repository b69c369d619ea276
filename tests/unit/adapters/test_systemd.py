# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The systemd adapter against programs that answer as systemctl and journalctl do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd, started
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState

RUNNING = "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nMainPID=7\nNRestarts=2\n"
WAITING = "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nUnitFileState=enabled\nMainPID=0\nNRestarts=3\n"
ABSENT = "LoadState=not-found\nActiveState=inactive\nSubState=dead\nUnitFileState=\nMainPID=0\n"
MASKED = "LoadState=masked\nActiveState=inactive\nSubState=dead\nUnitFileState=masked\nMainPID=0\n"

# Each file named next replaces what is shown, once; an error is what every order but show ends with.
SYSTEMCTL = """
echo "$*" >>@/asked
case $1 in
show) cat @/show; [ -e @/next ] && mv @/next @/show ;;
*) cat @/error >&2 2>/dev/null && exit 1 ;;
esac
exit 0
"""


class Machine:
    """A directory of programs first in PATH; what they print lies in files, and what they were asked is noted."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._place = place
        monkeypatch.setenv("PATH", str(place))
        self.show(RUNNING)
        self.program("journalctl", 'echo "journalctl $*" >>@/asked\ncat @/journal 2>/dev/null')
        self.program("systemctl", SYSTEMCTL)

    def program(self, name: str, script: str) -> None:
        path = self._place / name
        path.write_text("#!/bin/sh\n" + script.replace("@", str(self._place)) + "\n")
        path.chmod(0o755)

    def show(self, text: str, name: str = "show") -> None:
        (self._place / name).write_text(text)

    def without(self, name: str) -> None:
        (self._place / name).unlink()

    @property
    def asked(self) -> list[str]:
        noted = self._place / "asked"
        return [line for line in noted.read_text().splitlines() if not line.startswith("show ")] if noted.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(systemd, "_PLACES", "/usr/bin:/bin")
    monkeypatch.setattr(systemd, "_WATCHED", 0.3)
    monkeypatch.setattr(systemd, "_POLL", 0.05)
    monkeypatch.setattr(systemd, "_WATCHED_FOR_HEALTH", 0.6)
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (RUNNING, ServiceState("kubelet", known=True, active=True, enabled=True, restarts=2)),
        (WAITING, ServiceState("kubelet", known=True, active=False, enabled=True, restarts=3)),
        (ABSENT, ServiceState("kubelet", known=False, active=False, enabled=False)),
        (MASKED, ServiceState("kubelet", known=False, active=False, enabled=False)),
    ],
)
def test_state(machine: Machine, text: str, state: ServiceState) -> None:
    machine.show(text)
    assert Systemd().state("kubelet") == state


def test_a_process_that_is_gone_has_no_start(machine: Machine) -> None:
    machine.show(WAITING + "ExecMainStartTimestamp=Mon 2026-11-16 13:35:45 UTC\nExecMainStartTimestampMonotonic=5\n")
    assert Systemd().state("kubelet").started is None


def test_the_start_of_a_real_process(machine: Machine) -> None:
    now, ticks = time.time(), time.clock_gettime(time.CLOCK_MONOTONIC)
    stamp = time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(now - 60))
    machine.show(f"{RUNNING}ExecMainStartTimestamp={stamp}\nExecMainStartTimestampMonotonic={int((ticks - 60) * 1e6)}\n")
    found = Systemd().state("kubelet").started
    assert found is not None
    assert abs(found - (now - 60)) < 0.01 or found == int(now - 60)  # the latter on the edge of a second


SECOND = 1_700_000_000


@pytest.mark.parametrize(
    ("stamp", "ticks", "expected"),
    [
        # 100 seconds ago by both clocks; the fraction comes from the one that never jumps.
        ("Tue 2023-11-14 22:13:20 UTC", "400500000", SECOND + 0.5),
        ("Tue 2023-11-14 22:13:20 UTC", "400999000", SECOND + 0.999),
        # The wall clock was set since: an hour ahead, an hour back, or by a second.
        ("Tue 2023-11-14 21:13:20 UTC", "400500000", SECOND - 3600),
        ("Tue 2023-11-14 23:13:20 UTC", "400500000", SECOND + 3600),
        ("Tue 2023-11-14 22:13:19 UTC", "400500000", SECOND - 1),
        ("Tue 2023-11-14 22:13:20 UTC", "0", SECOND),
        ("Tue 2023-11-14 22:13:20 UTC", "", SECOND),
        ("", "400500000", None),
        ("n/a", "0", None),
    ],
)
def test_a_start_within_its_second(stamp: str, ticks: str, expected: float | None) -> None:
    found = started({"ExecMainStartTimestamp": stamp, "ExecMainStartTimestampMonotonic": ticks}, SECOND + 100.0, 500.0)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-6))


@pytest.mark.parametrize(
    ("reload_units", "stale", "asked"),
    [
        (False, "yes", ["restart kubelet.service"]),
        (True, "yes", ["daemon-reload", "restart kubelet.service"]),
        (True, "no", ["restart kubelet.service"]),
    ],
)
def test_a_restart_that_stays_up(machine: Machine, reload_units: bool, stale: str, asked: list[str]) -> None:
    machine.show(f"{RUNNING}NeedDaemonReload={stale}\n")
    Systemd().apply(RestartService("kubelet", reload_units))
    assert machine.asked == asked


@pytest.mark.parametrize("then", [WAITING, RUNNING.replace("MainPID=7", "MainPID=8")], ids=["down", "another process"])
def test_a_service_that_falls_fails_with_its_last_log_lines(machine: Machine, then: str) -> None:
    machine.show(then, "next")
    machine.show("".join(f"line {number}\n" for number in range(60)) + "\n  indented: canary\n", "journal")
    with pytest.raises(Unusable) as failure:
        Systemd().apply(RestartService("kubelet"))
    text = str(failure.value)
    assert "kubelet.service: it was restarted and did not stay up" in text
    assert (text.count("line "), "line 40" in text, "line 59" in text, "canary" in text) == (20, True, True, False)


@contextmanager
def healthz(status: int) -> Iterator[str]:
    """A kubelet's health endpoint on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *words: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/healthz"
    finally:
        server.shutdown()
        server.server_close()


def restart_seconds(url: str) -> float:
    begun = time.monotonic()
    Systemd().apply(RestartService("kubelet", health_url=url))
    return time.monotonic() - begun


def test_a_kubelet_that_serves_its_health_is_watched_no_longer(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "_WATCHED_FOR_HEALTH", 60)
    with healthz(200) as url:
        assert restart_seconds(url) < 60
    assert restart_seconds("") >= 0.3


def test_one_that_does_not_get_healthy_is_left_to_another_phase(machine: Machine) -> None:
    with healthz(500) as url:
        assert restart_seconds(url) >= 0.6
    assert restart_seconds(url) >= 0.6  # nobody listens there any more


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("state", [WAITING, ABSENT], ids=["down", "gone"])
def test_one_that_falls_fails_whoever_answers_in_its_place(machine: Machine, status: int, state: str) -> None:
    machine.show(state)
    machine.show("Failed to run kubelet: canary\n", "journal")
    with healthz(status) as url, pytest.raises(Unusable, match=r"it was restarted and did not stay up(.|\n)*canary"):
        restart_seconds(url)


def test_one_that_falls_before_it_is_healthy_fails(machine: Machine) -> None:
    machine.show(RUNNING.replace("MainPID=7", "MainPID=8"), "next")
    with healthz(500) as url, pytest.raises(Unusable, match="it was restarted and did not stay up"):
        restart_seconds(url)


def test_the_message_of_a_panic_is_not_buried_under_its_stack(machine: Machine) -> None:
    frames = "goroutine 1 [running]:\nmain.(*thing).Do(0xc000, {0x1, 0x2})\n\tmain.go:1 +0x1\ncreated by main.main in goroutine 1\n" * 30
    machine.show(WAITING)
    machine.show(f"panic: unrecognized feature gate: NoSuchGate\n{frames}kubelet.service: Failed with result 'exit-code'.\n", "journal")
    with pytest.raises(Unusable) as failure:
        Systemd().apply(RestartService("kubelet"))
    assert "\n  panic: unrecognized feature gate: NoSuchGate\n  kubelet.service: Failed with result 'exit-code'.\n" in str(failure.value)


def test_a_restart_that_systemd_refuses(machine: Machine) -> None:
    machine.show("Unit kubelet.service is masked.\n", "error")
    with pytest.raises(Unusable, match=r"it cannot be restarted: Unit kubelet\.service is masked\.; its last log lines: none"):
        Systemd().apply(RestartService("kubelet"))


def test_a_host_without_systemd_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "_PLACES", "")
    machine.without("systemctl")
    with pytest.raises(Unusable, match=r"systemctl: this host has no such program, so it does not run systemd"):
        Systemd().state("kubelet")


def test_systemd_that_is_not_the_first_process_is_told(machine: Machine) -> None:
    machine.program("systemctl", "echo 'System has not been booted with systemd as init system' >&2; exit 1")
    with pytest.raises(Unusable, match="it does not answer: System has not been booted with systemd"):
        Systemd().state("kubelet")


def test_journal(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.show("one\n\ntwo\n", "journal")
    assert Systemd().journal("kubelet", 5) == ("one", "two")
    machine.without("journalctl")
    monkeypatch.setattr(systemd, "_PLACES", "")
    assert Systemd().journal("kubelet") == ()
