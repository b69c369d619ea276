# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starting other programs, with their output kept for the error message."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.errors import LabError

TAIL_LINES = 15


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> str:
    """Run a program to its end and return what it printed; raise with the last lines when it fails."""
    done = attempt(argv, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        raise LabError(failure(argv, done, log))
    return done.stdout


def attempt(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program whose failure is an answer, not an error."""
    given = None if env is None else {**os.environ, **env}
    try:
        return subprocess.run(
            list(argv),
            cwd=cwd,
            env=given,
            input=stdin if stdin is not None else "",
            text=True,
            errors="replace",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as missing:
        raise LabError(f"{argv[0]} is not installed") from missing
    except subprocess.TimeoutExpired as late:
        raise LabError(f"`{' '.join(argv)}` did not finish within {timeout:.0f} s") from late


def failure(argv: Sequence[str], done: subprocess.CompletedProcess[str], log: Path | None) -> str:
    """Put a failed command, its last words and the place of the rest into one message."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-TAIL_LINES:]
    where = f" (all of it in {log})" if log is not None else ""
    shown = " ".join(argv)
    shown = shown if len(shown) < 200 else shown[:200] + " …"
    return f"`{shown}` ended with {done.returncode}{where}:\n  " + "\n  ".join(said)
