# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts to be prepared: documents from a few words, a ready host, and programs that stand in for a machine's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import APT, PackageState, System
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import Installed

SOCKET = "unix:///run/containerd/containerd.sock"
PAUSE = "registry.k8s.io/pause:3.10.2"
RUNNING = ServiceState("containerd", known=True, active=True, enabled=True, started=2_000_000_000.0)
KUBELET = ServiceState("kubelet", known=True, active=False, enabled=True)
DEBIAN = System("Debian GNU/Linux 12 (bookworm)", APT, "amd64")


def docs(version: str = "v1.37.1", becomes: str = "init", socket: str = SOCKET, address: str = "192.0.2.10", **kinds: Any) -> Documents:
    """Documents of the host n1 by short names: cluster, kubelet, proxy."""
    node = {"criSocket": socket, **({"name": kinds.pop("name")} if "name" in kinds else {})}
    given = {
        "ClusterConfiguration": {"kubernetesVersion": version, **kinds.get("cluster", {})},
        ("InitConfiguration" if becomes == "init" else "JoinConfiguration"): {"nodeRegistration": node},
        "KubeletConfiguration": dict(kinds.get("kubelet", {})),
        "KubeProxyConfiguration": dict(kinds.get("proxy", {})),
    }
    return resolve(given, NodeFacts("n1", address, "", (SOCKET,)), becomes=becomes)


def installed(**changes: Any) -> Installed:
    """A host that has everything, changed in places."""
    programs = {name: f"/usr/bin/{name}" for name in ("kubectl", "crictl", "containerd", "losetup", "mount", "cp")}
    ready: dict[str, Any] = {
        "system": DEBIAN,
        "kubelet_version": "v1.37.1",
        "kubelet": KUBELET,
        "programs": programs,
        "plugins": ("bridge", "host-local", "loopback", "portmap"),
        "libraries": {"yaml": True, "cryptography": True},
        "drop_in": True,
    }
    return Installed(**{**ready, **changes})


def bare(**changes: Any) -> Installed:
    """A host that has nothing but its system."""
    nothing: dict[str, Any] = {
        "kubelet_version": "",
        "kubelet": ServiceState("kubelet", known=False, active=False, enabled=False),
        "programs": {name: f"/usr/bin/{name}" for name in ("losetup", "mount", "cp")},
        "plugins": (),
        "libraries": {},
        "drop_in": False,
    }
    return installed(**{**nothing, **changes})


def held(version: str) -> dict[str, PackageState]:
    """kubelet and kubectl as packages that are held."""
    return {name: PackageState(version, held=True) for name in ("kubelet", "kubectl")}


def targets(plan: Plan) -> list[str]:
    """What a plan changes, in its order."""
    return [change.target for change in plan.real_changes]


def refusals(call: Any, *arguments: Any) -> list[str]:
    """Every finding with which a call refuses."""
    with pytest.raises((Unusable, ManyUnusable)) as refused:
        call(*arguments)
    problem = refused.value
    return [str(each) for each in (problem.findings if isinstance(problem, ManyUnusable) else (problem,))]


class Programs:
    """A directory that is all of PATH; what its programs were asked is noted."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
        self._place = place / "programs"
        self._place.mkdir()
        monkeypatch.setenv("PATH", str(self._place))
        monkeypatch.setattr(module, "PLACES", "/usr/bin:/bin")

    def have(self, name: str, script: str = "", status: int = 0) -> None:
        path = self._place / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>{self._place}/asked\n{script}\nexit {status}\n')
        path.chmod(0o755)

    def asked(self, name: str = "") -> list[str]:
        noted = self._place / "asked"
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [line for line in lines if line.startswith(name)]


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Options laid over each other."""
    return {name: value for part in parts for name, value in part.items()}
