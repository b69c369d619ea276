# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at the machine: distribution, kernel, size, and the library that reads certificates."""

from __future__ import annotations

import os
from importlib.util import find_spec

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.machine import MachineState

_RELEASES = ("/etc/os-release", "/usr/lib/os-release")


class Machine:
    """The machine below a root; an empty root is the host itself."""

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")

    def look(self) -> MachineState:
        """Find out what a report tells of it."""
        about = os.uname()
        return MachineState(
            system=self._system(),
            kernel=about.release,
            architecture=about.machine,
            cpus=len(os.sched_getaffinity(0)),
            memory_mb=self._memory_mb(),
            reads_certificates=find_spec("cryptography") is not None,
        )

    def _system(self) -> str:
        for path in _RELEASES:
            pairs = dict(line.partition("=")[::2] for line in self._lines(path))
            if pairs.get("PRETTY_NAME"):
                return pairs["PRETTY_NAME"].strip("\"'")
        return ""

    def _memory_mb(self) -> int:
        for line in self._lines("/proc/meminfo"):
            words = line.split()
            if words[:1] == ["MemTotal:"]:
                return int(words[1]) // 1024
        return 0

    def _lines(self, path: str) -> list[str]:
        try:
            with open(self._root + path, encoding="utf-8", errors="replace") as handle:
                return handle.read().splitlines()
        except OSError:
            return []
