# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host as a phase may find it before the first write: its size, its kernel, who listens where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState


@dataclass(frozen=True)
class Process:
    """A running process; its command line may hold somebody's secret and is never shown."""

    pid: int
    program: str
    arguments: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Listener:
    """A TCP port that somebody listens on; the process is None when it cannot be seen."""

    port: int
    address: str
    process: Process | None = None


@dataclass(frozen=True)
class Cgroups:
    """The control group hierarchy in use, version 0 when there is none, and its controllers."""

    version: int = 0
    controllers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Questions:
    """What to look at; everything else of a host state is looked at always."""

    ports: tuple[int, ...] = ()
    addresses: tuple[str, ...] = ()
    executables: tuple[str, ...] = ()
    sysctls: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    dated_files: tuple[str, ...] = ()
    node_name: str = ""


@dataclass(frozen=True)
class HostState:
    """What one look at a host found; a mapping has an entry for each thing that was asked for."""

    privileged: bool = True
    cpus: int = 0
    memory_mb: int = 0
    kernel: str = ""
    kernel_config: Mapping[str, str] | None = None
    cgroups: Cgroups = Cgroups()
    swaps: tuple[str, ...] = ()
    default_route: bool = False
    listeners: tuple[Listener, ...] = ()
    # Whether a socket could be bound to the address, whatever the port.
    own_addresses: Mapping[str, bool] = field(default_factory=dict)
    # Path of each executable, empty when it is nowhere.
    executables: Mapping[str, str] = field(default_factory=dict)
    # Content of each file below /proc/sys, None when there is none.
    sysctls: Mapping[str, str | None] = field(default_factory=dict)
    # None where no systemd could be asked.
    services: Mapping[str, ServiceState] | None = None
    # Addresses of the node's name, and what the resolver said when it gave none.
    name_addresses: tuple[str, ...] = ()
    name_problem: str = ""
    # Variables of the environment whose name ends in _proxy, in lower case; they may hold passwords.
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    # When each of the dated files was last written, in seconds since the epoch.
    file_dates: Mapping[str, float] = field(default_factory=dict)
