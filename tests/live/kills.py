# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends a play, and the module that it runs on the node, without a chance to clean up."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

from live.node import ROOT, Node
from live.playbook import Playbook, rows

_REAL = "/usr/local/lib/real"
# A module comes to the node through standard input of a Python without arguments.
_KILL_MODULE = "for p in $(pgrep -xf /usr/bin/python3); do kill -9 $p; done"


def when_phase(phase: str, *states: str) -> Callable[[Path, Node], bool]:
    """Tell when a phase's task has come to one of some states."""

    def reached(record: Path, node: Node) -> bool:
        return any(phase in row["tags"] and row["state"] in states for row in rows(record))

    return reached


def when_on_node(script: str) -> Callable[[Path, Node], bool]:
    """Tell when a script succeeds on the node; it is asked there again and again, and takes the module down at once."""

    def reached(record: Path, node: Node) -> bool:
        node.run(f"n=0; until {script}; do n=$((n+1)); test $n -lt 30000; sleep 0.01; done; {_KILL_MODULE}")
        return True

    return reached


def play_and_kill(playbook: Playbook, reached: Callable[[Path, Node], bool], seconds: float = 180) -> str:
    """Start the playbook and kill it, with everything that belongs to it, when a moment is reached."""
    with tempfile.TemporaryDirectory() as place:
        record, output = Path(place, "record"), Path(place, "output")
        with output.open("w") as stream:
            play = subprocess.Popen(
                playbook.command(),
                cwd=ROOT,
                env=playbook.surroundings(record),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                deadline = time.monotonic() + seconds
                while not reached(record, playbook.node):
                    if play.poll() is not None or time.monotonic() > deadline:
                        raise AssertionError(f"the moment to kill did not come:\n{output.read_text()[-4000:]}")
                    time.sleep(0.02)
                if play.poll() == 0:
                    raise AssertionError("the play had ended before it could be killed")
            finally:
                if play.poll() is None:
                    os.killpg(play.pid, signal.SIGKILL)
                play.wait()
                playbook.node.run(_KILL_MODULE)
        return output.read_text()


class RestartKills:
    """Within it, whoever on the node asks systemd for a restart is killed before systemd hears of it."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __enter__(self) -> None:
        wrapper = f"""\
#!/bin/sh
case " $* " in *" restart "*) touch /run/restart-killed; kill -9 $PPID; exit 1;; esac
exec {_REAL}/systemctl "$@"
"""
        self._node.run(f"mkdir -p {_REAL} && cp /usr/bin/systemctl {_REAL}/systemctl && rm -f /run/restart-killed")
        self._node.run(
            f"cat > {_REAL}/wrapper && chmod 0755 {_REAL}/wrapper && mount --bind {_REAL}/wrapper /usr/bin/systemctl", wrapper.encode()
        )

    def __exit__(self, *_: object) -> None:
        self._node.run("umount /usr/bin/systemctl")
