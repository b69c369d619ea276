# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine below a node, as reports speak of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineState:
    """What a host says of itself; an empty value could not be read."""

    system: str = ""
    kernel: str = ""
    architecture: str = ""
    cpus: int = 0
    memory_mb: int = 0
    # Whether the library is there without which certificates cannot be looked into.
    reads_certificates: bool = True
