# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A play under way: watched, waited for, or killed with everything that belongs to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

from live.node import ROOT
from live.playbook import Playbook, Report, rows

_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


class Running:
    """A playbook that was started in a session of its own, as from another controller."""

    def __init__(self, playbook: Playbook, *arguments: str) -> None:
        self._place = tempfile.TemporaryDirectory()
        self.record, self._output = Path(self._place.name, "record"), Path(self._place.name, "output")
        with self._output.open("w") as stream:
            self._play = subprocess.Popen(
                playbook.command(*arguments),
                cwd=ROOT,
                env=playbook.surroundings(self.record),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self._play.poll() is not None

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """What its tasks have reported so far."""
        return rows(self.record)

    @property
    def tags_begun(self) -> set[str]:
        """The tags of every task that has begun."""
        return {tag for row in self.rows for tag in row["tags"]}

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Leave no play behind; when a test has failed, show how far this one came."""
        if kind is not None:
            print(self.output[-4000:])
        self.kill()

    def until(self, reached: Callable[[], bool], seconds: float = 240) -> None:
        """Wait for a moment of the play; one that ends before has missed it."""
        deadline = time.monotonic() + seconds
        while not reached():
            if self.ended or time.monotonic() > deadline:
                raise AssertionError(f"the moment did not come:\n{self.output[-4000:]}")
            time.sleep(0.02)

    def until_task(self, module: str) -> None:
        """Wait until a task of a module begins."""
        self.until(lambda: any(row["module"] == module and row["state"] == "started" for row in self.rows))

    def end(self, seconds: float = 400) -> Report:
        """Wait for its end."""
        try:
            self._play.wait(seconds)
        except subprocess.TimeoutExpired:
            said = self.output[-4000:]
            self.kill()
            raise AssertionError(f"the play has not come to an end after {seconds:.0f} s:\n{said}") from None
        return Report(self._play.returncode, self.output, self.rows)

    def kill(self) -> None:
        """End it, and every process that it has started here, without a chance to clean up."""
        if not self.ended:
            os.killpg(self._play.pid, signal.SIGKILL)
        self._play.wait()


def changed(report: Report) -> dict[str, int]:
    """How many changes the recap counts for each host that has any."""
    return {host: int(changes) for host, _, changes, _, _ in _RECAP.findall(report.output) if int(changes)}


def lost(report: Report) -> set[str]:
    """The hosts that the recap counts as failed or unreachable."""
    return {host for host, _, _, unreachable, failed in _RECAP.findall(report.output) if int(unreachable) + int(failed)}


def said(report: Report, host: str) -> str:
    """What the failed or unreachable tasks of a host said."""
    found = (row for row in report.rows if row["host"] == host and row["state"] in ("failed", "unreachable"))
    return "\n".join(str(row.get("msg", "")) for row in found)


def summed_up(report: Report, word: str) -> set[str]:
    """The hosts that the summary of a join names after a word, such as Failed."""
    lines = [line for row in report.rows if row["task"].endswith("Summary | what came of it") for line in row.get("msg", ())]
    names = {line.partition(": ")[2].partition(";")[0] for line in lines if line.startswith(f"{word}: ")}
    return {name for line in names for name in line.split(", ")} - {"nobody"}
