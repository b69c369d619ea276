# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of a host, run to their end: what they printed, and one error for those that cannot be run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

# What root's own shell would find, which one that Ansible opens may lack.
PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"
_SHOWN = 600


def which(program: str) -> str:
    """Find a program; nothing when the host does not have it."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{PLACES}") or ""


def run_to_end(
    program: str, *words: str, seconds: int = 120, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program with messages in one language, and give what it said."""
    path = which(program)
    if not path:
        raise Unusable(program, "this host has no such program", "Install it, and run again")
    try:
        return subprocess.run(  # noqa: S603
            [path, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=seconds,
            env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{PLACES}", "LC_ALL": "C", **(environment or {})},
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise Unusable(program, f"{' '.join(words)[:80]} did not end within {seconds} s", "See what it waits for, and run again") from None
    except OSError as error:
        raise Unusable(program, f"it cannot be run: {error.strerror or error}", "Mend that, and run again") from error


def last_words_of(done: subprocess.CompletedProcess[str]) -> str:
    """Tell what a program that failed said last."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return "; ".join(lines)[-_SHOWN:] or f"it ended with {done.returncode}"
