# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What phases work with: the resolved documents of one host, and what only that host knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    ClusterConfiguration,
    InitConfiguration,
    JoinConfiguration,
    NodeRegistration,
    Timeouts,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release

INIT = "init"
WORKER = "worker"
CONTROL_PLANE = "control_plane"
BECOMES = (INIT, WORKER, CONTROL_PLANE)


@dataclass(frozen=True)
class NodeFacts:
    """What only the host knows; an empty value was not looked for, cri_sockets None likewise."""

    hostname: str = ""
    advertise_address: str = ""
    kubelet_version: str = ""
    cri_sockets: tuple[str, ...] | None = None
    loopback_address: str = ""


@dataclass(frozen=True)
class Node:
    """This host as the cluster sees it."""

    name: str = ""
    advertise_address: str = ""
    bind_port: int = 6443
    cri_socket: str = ""


@dataclass(frozen=True)
class Documents:
    """All documents of one host with defaults in place; release is None when no version is known yet."""

    release: Release | None
    cluster: ClusterConfiguration
    init: InitConfiguration
    join: JoinConfiguration | None
    kubelet: Mapping[str, Any] = field(default_factory=dict)
    kube_proxy: Mapping[str, Any] = field(default_factory=dict)
    node: Node = field(default_factory=Node)
    warnings: tuple[str, ...] = ()
    dry_run: bool = False
    # The first control plane, or what a host joins as; who joins has a JoinConfiguration, with controlPlane if it becomes one.
    becomes: str = INIT

    @property
    def joining(self) -> bool:
        """Whether this host is a node by joining, be it still to come or done."""
        return self.becomes != INIT

    @property
    def _own(self) -> InitConfiguration | JoinConfiguration:
        return self.join if self.joining and self.join is not None else self.init

    @property
    def registration(self) -> NodeRegistration:
        """The settings by which this host registers."""
        return self._own.node_registration

    @property
    def timeouts(self) -> Timeouts:
        """How long this host waits."""
        return self._own.timeouts

    @property
    def patches_directory(self) -> str:
        """The directory of patches on this host; empty when there is none."""
        return self._own.patches.directory

    @property
    def skip_phases(self) -> tuple[str, ...]:
        """What this host leaves out."""
        return self._own.skip_phases

    @property
    def known_release(self) -> Release:
        """The release, for code that runs only once it is known."""
        if self.release is None:
            raise LookupError("no Kubernetes release is known for these documents")
        return self.release

    @property
    def external_etcd(self) -> bool:
        """Whether somebody else runs etcd."""
        return self.cluster.etcd.external is not None
