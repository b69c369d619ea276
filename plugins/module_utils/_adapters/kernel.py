# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel: its modules, its settings, its swap and its clock."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import last_words_of, run_to_end
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.kernel import KernelState, LoadModule, SetSysctl, SwapOff

# What a module brings shows that it is there, be it built in and listed nowhere.
_SIGNS = {"br_netfilter": "/proc/sys/net/bridge", "nf_conntrack": "/proc/sys/net/netfilter/nf_conntrack_max"}
_FILE_SYSTEMS = ("overlay",)
# The kernel's word for a clock that nobody keeps.
_TIME_ERROR = 5
_TIMEX_BYTES = 512


class Kernel:
    """The kernel below a root; an empty root is the host's own."""

    applies = (LoadModule, SetSysctl, SwapOff)

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")

    def look(self, modules: Sequence[str], settings: Sequence[str]) -> KernelState:
        """Find out everything at once, without a process."""
        known = self._known_modules()
        return KernelState(
            modules={name: name in known or self._shows(name) for name in modules},
            settings={name: self._setting(name) for name in settings},
            container=b"container=" in self._bytes("/proc/1/environ"),
            clock_synchronised=_synchronised(),
        )

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, LoadModule):
            self._load(action.name)
        elif isinstance(action, SetSysctl):
            self._set(action)
        elif isinstance(action, SwapOff):
            done = run_to_end("swapoff", action.device, seconds=600)
            if done.returncode:
                raise Unusable(f"swap {action.device}", last_words_of(done), "Free memory so that it can be emptied, and run again")

    def _known_modules(self) -> set[str]:
        loaded = {line.split()[0] for line in self._bytes("/proc/modules").decode(errors="replace").splitlines() if line.strip()}
        builtin = self._bytes(f"/lib/modules/{os.uname().release}/modules.builtin").decode(errors="replace").splitlines()
        return loaded | {os.path.basename(line).partition(".")[0].replace("-", "_") for line in builtin}

    def _shows(self, name: str) -> bool:
        if name in _FILE_SYSTEMS:
            kinds = self._bytes("/proc/filesystems").decode(errors="replace").split()
            return name in kinds
        places = (f"/sys/module/{name}", _SIGNS.get(name, ""))
        return any(place and os.path.exists(self._root + place) for place in places)

    def _setting(self, name: str) -> str | None:
        path = self._root + _path(name)
        return self._bytes(_path(name)).decode(errors="replace").strip() if os.path.exists(path) else None

    def _load(self, name: str) -> None:
        done = run_to_end("modprobe", name)
        if done.returncode:
            raise Unusable(
                f"kernel module {name}",
                f"it cannot be loaded: {last_words_of(done)}",
                "Install the modules of the running kernel (and boot into it after an upgrade); in a container, load it on the machine",
            )

    def _set(self, action: SetSysctl) -> None:
        try:
            with open(self._root + _path(action.name), "w", encoding="ascii") as handle:
                handle.write(f"{action.value}\n")
        except OSError as error:
            found = f"the kernel refuses the value {action.value}: {error.strerror or error}"
            raise Unusable(action.name, found, "In a container, set it on the machine; else see why /proc/sys is closed") from error

    def _bytes(self, path: str) -> bytes:
        try:
            with open(self._root + path, "rb") as handle:
                return handle.read()
        except OSError:
            return b""


def _path(name: str) -> str:
    return f"/proc/sys/{name.replace('.', '/')}"


def _synchronised() -> bool | None:
    """Ask the kernel whether its clock is kept, as timedatectl does, without a process."""
    try:
        # All zero asks for the state and sets nothing; the structure is smaller than this everywhere.
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else state != _TIME_ERROR
