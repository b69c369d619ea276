# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel of a host as phases see it, and what a plan may ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class KernelState:
    """What one look found: which of the modules are there, and the settings, None for one that the kernel does not have."""

    modules: Mapping[str, bool] = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    # In a container kernel, clock and swap are the machine's.
    container: bool = False
    # None where the kernel does not tell whether its clock follows another.
    clock_synchronised: bool | None = None


@dataclass(frozen=True)
class LoadModule(Action):
    """Load a kernel module."""

    name: str


@dataclass(frozen=True)
class SetSysctl(Action):
    """Give a kernel setting its value now."""

    name: str
    value: str


@dataclass(frozen=True)
class SwapOff(Action):
    """Turn one swap device or file off now."""

    device: str
