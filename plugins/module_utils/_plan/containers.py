# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime as phases see it, and what a plan may ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class RuntimeState:
    """What a container runtime says of itself; empty values are unknown."""

    # Path of crictl; without it only the socket can be tried.
    client: str = ""
    # Why the runtime is of no use, or nothing.
    problem: str = ""
    sandbox_image: str = ""
    # systemd or cgroupfs.
    cgroup_driver: str = ""
    # Whether it tells its cgroup driver to the kubelet (CRI method RuntimeConfig); None when that was not asked.
    tells_config: bool | None = None
    # Tags and digests of the images that are there.
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContainerState:
    """A container of a pod, as the runtime lists it."""

    identity: str
    name: str
    state: str
    attempt: int = 0
    created: int = 0
    pod: str = ""


@dataclass(frozen=True)
class PullImages(Action):
    """Pull images, one after the other or all at once; with required unset a failure is let pass.

    ``checks`` are those that were made before, to be told of again with the one that a failed pull is.
    """

    socket: str
    images: tuple[str, ...]
    serial: bool = True
    tries: int = 5
    required: bool = True
    checks: tuple[Mapping[str, str], ...] = field(default=(), repr=False, compare=False)
