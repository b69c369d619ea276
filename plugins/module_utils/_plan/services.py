# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Services of the host, and what a plan may ask to be done to them."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class ServiceState:
    """A systemd service as it was found; started is the start of its main process in seconds since the epoch."""

    name: str
    known: bool
    active: bool
    enabled: bool
    started: float | None = None
    restarts: int = 0


@dataclass(frozen=True)
class RestartService(Action):
    """Start a service, or restart it where it runs, and see that it stays up.

    With a URL, one that answers there is known to be up, and need not be watched any longer.
    """

    name: str
    reload_units: bool = False
    health_url: str = ""


@dataclass(frozen=True)
class EnableService(Action):
    """Have a service start with every boot; it is not started now."""

    name: str
