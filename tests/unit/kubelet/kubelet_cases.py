# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with a kubelet for the tests of this room: real files, a service manager that remembers, documents from a few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from unit.world import Host, StandingClock

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

SOCKET = "unix:///var/run/containerd/containerd.sock"


@dataclass
class Services:
    """A service manager whose kubelet starts when it is told to, at a time that a test may choose."""

    known: bool = True
    started: float | None = None
    resolved: bool = False
    restarts: list[RestartService] = field(default_factory=list)
    applies = (RestartService,)

    def state(self, name: str) -> ServiceState:
        if name == "systemd-resolved":
            return ServiceState(name, known=True, active=self.resolved, enabled=True)
        return ServiceState(name, self.known, active=self.started is not None, enabled=True, started=self.started)

    def apply(self, action: Action) -> None:
        assert isinstance(action, RestartService)
        self.restarts.append(action)
        self.started = datetime.now(timezone.utc).timestamp() + 0.05


def documents(version: str = "v1.37.1", **kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Documents by short names: cluster, init, join, kubelet."""
    named = {"cluster": "ClusterConfiguration", "init": "InitConfiguration", "join": "JoinConfiguration", "kubelet": "KubeletConfiguration"}
    found = {named[kind]: dict(body) for kind, body in kinds.items()}
    found["ClusterConfiguration"] = {"kubernetesVersion": version, **found.get("ClusterConfiguration", {})}
    return found


def docs(version: str = "v1.37.1", becomes: str | None = None, **kinds: Mapping[str, Any]) -> Documents:
    """The same, resolved for the host cp1."""
    return resolve(documents(version, **kinds), NodeFacts("cp1", "192.0.2.10", cri_sockets=(SOCKET,)), becomes=becomes)


def run(
    phase: Any,
    root: Path,
    services: Any,
    check: bool = False,
    now: datetime | None = None,
    host: Host | None = None,
    becomes: str = "init",
    adapters: Mapping[str, Any] | None = None,
    **kinds: Any,
) -> Outcome:
    """Run a phase of this room below root."""
    clock = StandingClock(now) if now else Clock()
    world = World(files=Files(str(root)), systemd=services, clock=clock, host=host or Host(), **(adapters or {}))
    return execute(phase, world, documents(**kinds), {"becomes": becomes}, check)
