# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""dnf, for relatives of Fedora."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import last_words_of, run_to_end
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import InstallPackages, PackageState

_SECONDS = 1800
# The source leaves its packages out of every upgrade, and so has to be told to give them here.
_UNHELD = "--disableexcludes=kubernetes"


def installed(names: Iterable[str]) -> dict[str, PackageState]:
    """Ask rpm, in one process."""
    form = "%{NAME}\t%{VERSION}-%{RELEASE}\n"
    rows = (line.split("\t") for line in run_to_end("rpm", "--query", "--queryformat", form, *names).stdout.splitlines())
    return {row[0]: PackageState(row[1], held=True) for row in rows if len(row) == 2}


def install(action: InstallPackages) -> None:
    """Install packages, those with a version as they are named there."""
    wanted = [f"{name}-{action.versions[name]}" if name in action.versions else name for name in action.packages]
    done = run_to_end("dnf", "install", "-y", "--setopt=install_weak_deps=False", _UNHELD, *wanted, seconds=_SECONDS)
    if done.returncode:
        fix = f"See that {action.repository or 'the repositories'} answers and has these versions, and run again"
        raise Unusable("dnf install", last_words_of(done), fix)
