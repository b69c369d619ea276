# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the running kubelet has what is on disk, judged by its start and the times of the files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from datetime import datetime

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import SERVICE
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState

# The kernel stamps files with the time of its last tick, so a file is up to this much younger than it looks.
_TICK = 0.02
# Clocks of hosts in step differ by less; the time of the run is known to the second only.
_AHEAD = 2.0

FUTURE = "its time lies in the future, so that nobody could tell whether the kubelet has read it"


def must_be_installed(service: ServiceState) -> None:
    """Refuse to go on without a kubelet."""
    if not service.known:
        raise Unusable(
            f"{service.name}.service",
            "this host has no such unit, or it is masked",
            "Install the kubelet of this release (package kubelet), or unmask its unit, and run again",
        )


def in_the_future(file: FileState, now: datetime) -> bool:
    """Tell a file whose time nobody can compare with anything: the clock was ahead when it was written."""
    return file.mtime > now.timestamp() + _AHEAD


def newer(service: ServiceState, files: Iterable[FileState]) -> list[str]:
    """List the files that were written after the process started, or that could have been."""
    since = service.started
    return [] if since is None else [file.path for file in files if file.mtime + _TICK >= since]


def restart(reason: str, running: bool, health_url: str) -> Change:
    """Ask for the kubelet to be started with what is on disk."""
    return Change(
        target=f"{SERVICE}.service",
        reason=reason,
        before=f"state: {'running with older files' if running else 'not running'}\n",
        after="state: running with the files on disk\n",
        action=RestartService(SERVICE, reload_units=True, health_url=health_url),
    )


def named(paths: Iterable[str]) -> str:
    """Name files in a sentence."""
    return " and ".join(posixpath.basename(path) for path in paths)
