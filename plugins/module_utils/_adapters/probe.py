# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at a host before anything is written: /proc and /sys, and a process only where they do not tell."""

from __future__ import annotations

import errno
import gzip
import mmap
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.listeners import listeners
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Cgroups, HostState, Questions
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState

# What the kubelet's unit would find, which a shell that Ansible opens may lack.
_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"
# States for which `systemctl is-enabled` succeeds.
_ENABLED = {"enabled", "enabled-runtime", "static", "alias", "indirect", "generated", "transient"}
_KERNEL_CONFIGS = (
    "/proc/config.gz",
    "/boot/config-{kernel}",
    "/usr/src/linux-{kernel}/.config",
    "/usr/src/linux/.config",
    "/usr/lib/modules/{kernel}/config",
    "/usr/lib/ostree-boot/config-{kernel}",
    "/usr/lib/kernel/config-{kernel}",
    "/usr/src/linux-headers-{kernel}/.config",
    "/lib/modules/{kernel}/build/.config",
)
_LOOKUP_SECONDS = 4


class Probe:
    """The host below a root; an empty root is the host itself."""

    def __init__(self, root: str = "", services: str = "systemctl") -> None:
        self._root = root.rstrip("/")
        self._systemctl = services

    def look(self, questions: Questions) -> HostState:
        """Find out everything at once."""
        lookup = _Lookup(questions.node_name)
        kernel = os.uname().release
        return HostState(
            privileged=os.geteuid() == 0,
            cpus=len(os.sched_getaffinity(0)),
            memory_mb=self._memory_mb(),
            kernel=kernel,
            kernel_config=self._kernel_config(kernel),
            cgroups=self._cgroups(),
            swaps=tuple(line.split()[0] for line in self._lines("/proc/swaps")[1:] if line.split()),
            default_route=self._has_default_route(),
            listeners=listeners(questions.ports, self._root),
            own_addresses={address: _is_own(address) for address in questions.addresses},
            executables={name: _which(name) for name in questions.executables},
            sysctls={path: self._text(path) for path in questions.sysctls},
            services=self._services(questions.services),
            name_addresses=lookup.addresses(),
            name_problem=lookup.problem,
            proxies={name.lower(): value for name, value in os.environ.items() if name.lower().endswith("_proxy") and value},
            file_dates=dict(self._dates(questions.dated_files)),
        )

    def entries(self, directory: str) -> tuple[str, ...] | None:
        """List what a directory holds; None when there is no such thing, the thing itself when it is no directory."""
        try:
            return tuple(sorted(os.listdir(self._root + directory)))
        except FileNotFoundError:
            return None
        except OSError:
            return (os.path.basename(directory),)

    def holds(self, path: str, text: bytes) -> bool:
        """Say whether a file, which may be large, has these bytes in it."""
        try:
            with open(self._root + path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(text) >= 0
        except (OSError, ValueError):
            return False  # not there, or empty

    def _text(self, path: str) -> str | None:
        try:
            with open(self._root + path, encoding="utf-8", errors="replace") as handle:
                return handle.read()
        except OSError:
            return None

    def _lines(self, path: str) -> list[str]:
        return (self._text(path) or "").splitlines()

    def _memory_mb(self) -> int:
        for line in self._lines("/proc/meminfo"):
            name, _colon, value = line.partition(":")
            if name == "MemTotal":
                return int(value.split()[0]) // 1024
        return 0

    def _kernel_config(self, kernel: str) -> Mapping[str, str] | None:
        """Read the options that the kernel was built with; kubeadm would load a module to see them, which is no reading."""
        for place in _KERNEL_CONFIGS:
            path = self._root + place.format(kernel=kernel)
            with suppress(OSError, EOFError):
                with open(path, "rb") as handle:
                    content = handle.read()
                plain = gzip.decompress(content) if path.endswith(".gz") else content
                pairs = (line.partition("=") for line in plain.decode(errors="replace").splitlines() if line.startswith("CONFIG_"))
                return {name[len("CONFIG_") :]: value[:1] for name, _equals, value in pairs}
        return None

    def _cgroups(self) -> Cgroups:
        place, unified = self._cgroup_mount()
        if not place:
            return Cgroups()
        if not unified:
            rows = (line.split() for line in self._lines("/proc/cgroups") if not line.startswith("#"))
            return Cgroups(1, tuple(row[0] for row in rows if len(row) >= 4 and row[3] != "0"))
        # The kernel lists neither of these: devices are always there, the freezer shows in a group that is not the root.
        implicit = ("devices", "freezer") if self._can_freeze(place) else ("devices",)
        return Cgroups(2, (*implicit, *(self._text(f"{place}/cgroup.controllers") or "").split()))

    def _cgroup_mount(self) -> tuple[str, bool]:
        """Find the hierarchy as kubeadm's validator does: the default place first, then any of version 2, then any of version 1."""
        first_of_v1 = ""
        for line in self._lines("/proc/mounts"):
            fields = line.split()
            if "cgroup" not in line or len(fields) < 3:
                continue
            place, kind = fields[1], fields[2]
            if place == "/sys/fs/cgroup":
                if kind == "tmpfs":
                    return place, not os.path.isdir(f"{self._root}{place}/memory")
                return place, kind == "cgroup2"
            if kind == "cgroup2":
                return place, True
            if kind == "cgroup":
                first_of_v1 = first_of_v1 or place
        return first_of_v1, False

    def _can_freeze(self, place: str) -> bool:
        try:
            groups = [entry.path for entry in os.scandir(self._root + place) if entry.is_dir()]
        except OSError:
            return False
        return any(os.path.exists(os.path.join(group, "cgroup.freeze")) for group in groups)

    def _has_default_route(self) -> bool:
        for line in self._lines("/proc/net/route")[1:]:
            fields = line.split()
            if len(fields) > 7 and fields[1] == fields[7] == "00000000":
                return True
        for line in self._lines("/proc/net/ipv6_route"):
            fields = line.split()
            # A route over the loopback interface is the kernel's way to say that there is none.
            if len(fields) > 9 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
                return True
        return False

    def _services(self, names: Iterable[str]) -> Mapping[str, ServiceState] | None:
        wanted = list(names)
        program = _which(self._systemctl)
        if not program:
            return None
        command = [program, "show", "--property=Id,LoadState,ActiveState,UnitFileState", *(f"{name}.service" for name in wanted)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=30)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return None
        blocks = done.stdout.decode(errors="replace").strip().split("\n\n")
        if done.returncode or len(blocks) != len(wanted):
            return None
        return {name: _service(name, block) for name, block in zip(wanted, blocks)}

    def _dates(self, paths: Iterable[str]) -> Iterable[tuple[str, float]]:
        for path in paths:
            with suppress(OSError):
                yield path, os.stat(self._root + path).st_mtime


class _Lookup:
    """Looks a name up in the background: a resolver that does not answer must not hold everything else up."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[str] = []
        self.problem = "" if name else "the node has no name"
        self._thread = threading.Thread(target=self._ask, daemon=True)
        if name:
            self._thread.start()

    def addresses(self) -> tuple[str, ...]:
        if self._name:
            self._thread.join(_LOOKUP_SECONDS)
            if self._thread.is_alive():
                self.problem = f"the resolver did not answer within {_LOOKUP_SECONDS} seconds"
        return tuple(self._found)

    def _ask(self) -> None:
        try:
            self._found = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(self._name, None, type=socket.SOCK_STREAM)})
        except (OSError, UnicodeError) as error:
            self.problem = (error.strerror if isinstance(error, OSError) else None) or "it is no name that can be looked up"


def _service(name: str, block: str) -> ServiceState:
    values = dict(line.partition("=")[::2] for line in block.splitlines())
    return ServiceState(
        name=name,
        known=values.get("LoadState") not in ("not-found", None),
        active=values.get("ActiveState") in ("active", "activating"),
        enabled=values.get("UnitFileState") in _ENABLED,
    )


def _which(name: str) -> str:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_PLACES}") or ""


def _is_own(address: str) -> bool:
    """Say whether this host has an address: a socket can be bound to no other."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as attempt:
            attempt.bind((address, 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True
