# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standing approver as a plan speaks of it: its token, and the timer that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class Way:
    """Where an API server is, and by whose certificate it is known."""

    server: str
    authority: str = field(repr=False)


@dataclass(frozen=True)
class TimerState:
    """A systemd timer as it was found."""

    active: bool
    enabled: bool


@dataclass(frozen=True)
class MintApproverToken(Action):
    """Have a token made for a ServiceAccount, and write the kubeconfig that carries it."""

    path: str
    namespace: str
    account: str
    seconds: int
    way: Way
    render: Callable[[Way, str], bytes] = field(repr=False, compare=False)


@dataclass(frozen=True)
class EnableTimer(Action):
    """Have a timer run now and after every boot; anew where its unit has changed."""

    name: str
    restart: bool = False


@dataclass(frozen=True)
class DisableTimer(Action):
    """Stop a timer and what it runs, now and after every boot."""

    name: str


@dataclass(frozen=True)
class ReloadUnits(Action):
    """Let systemd forget units whose files are gone."""

    changes_something = False
