# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firewall of a host, where it has one that is managed, and what a plan may ask of it."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

FIREWALLD = "firewalld"
UFW = "ufw"


@dataclass(frozen=True)
class Port:
    """A port, or a range from first to last, that others must reach; purpose says what for."""

    first: int
    protocol: str = "tcp"
    purpose: str = ""
    last: int = 0

    @property
    def end(self) -> int:
        """The last port of the range, which may be the only one."""
        return self.last or self.first

    @property
    def text(self) -> str:
        """Write it as people and firewalld do."""
        return f"{self.first}-{self.last}/{self.protocol}" if self.last else f"{self.first}/{self.protocol}"

    def covers(self, other: Port) -> bool:
        """Tell whether every port of the other is one of these."""
        return self.protocol == other.protocol and self.first <= other.first and other.end <= self.end


@dataclass(frozen=True)
class FirewallState:
    """A firewall that is active: its program, and the ports that it lets through now and after the next boot."""

    program: str
    opened: tuple[Port, ...] = ()


@dataclass(frozen=True)
class OpenPorts(Action):
    """Let ports through a firewall, now and from then on."""

    program: str
    ports: tuple[Port, ...]
