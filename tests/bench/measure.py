# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a command on the node and notes how long it took and how much memory it had at its peak."""

from __future__ import annotations

import json
import os
import sys
import time


def measure(command: list[str]) -> tuple[int, dict[str, float]]:
    """Run a command with our own input and output; its status, and what it used."""
    started = time.monotonic()
    child = os.posix_spawn(command[0], command, os.environ)
    _pid, status, used = os.wait4(child, 0)
    taken = time.monotonic() - started
    figures = {"seconds": taken, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}
    return os.waitstatus_to_exitcode(status), figures


def main(log: str, label: str, *command: str) -> int:
    """Append one line to the log."""
    code, figures = measure(list(command))
    with open(log, "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"label": label, **figures}) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
