# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whole runs on a host made of real files: a check writes nothing and foretells the run, and the second run does nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from unit.prepare.prepare_cases import DEBIAN, SOCKET
from unit.world import Host, changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundle_files import BundleFiles
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kernel import Kernel
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import HostState, Questions
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import ImportImages
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import (
    HoldPackages,
    InstallPackages,
    PackageState,
    RequireLibraries,
    System,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import EnableService, RestartService, ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import BundleImagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.container_runtime import ContainerRuntimePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.host_setup import HostSetupPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import NodePackagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.survey import PrepareSurvey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

NAMES = ("kubectl", "crictl", "containerd", "losetup", "mount", "cp")


@dataclass
class Machine:
    """What would be processes on a host: package manager, service manager, runtime; each remembers what was asked of it."""

    has: set[str] = field(default_factory=lambda: {"losetup", "mount", "cp"})
    held: set[str] = field(default_factory=set)
    enabled: set[str] = field(default_factory=set)
    started: dict[str, float] = field(default_factory=dict)
    there: tuple[str, ...] = ()
    root: bool = True
    kubelet: str = ""
    applies = (InstallPackages, HoldPackages, RequireLibraries, EnableService, RestartService, ImportImages)

    def apply(self, action: Action) -> None:
        if isinstance(action, InstallPackages):
            things = {"cri-tools": "crictl", "python3-yaml": "yaml", "python3-cryptography": "cryptography"}
            self.has |= {things.get(name, name) for name in action.packages}
            self.kubelet = "v1.37.1"
        elif isinstance(action, HoldPackages):
            self.held |= set(action.packages)
        elif isinstance(action, EnableService):
            self.enabled.add(action.name)
        elif isinstance(action, RestartService):
            self.started[action.name] = 4_000_000_000.0
        elif isinstance(action, ImportImages):
            self.there += tuple(name for _path, names in action.archives.values() for name in names)

    def system(self) -> System:
        return DEBIAN

    def which(self, name: str) -> str:
        return f"/usr/bin/{name}" if name in self.has else ""

    def has_library(self, name: str) -> bool:
        return name in self.has

    def installed(self, manager: str, names: Iterable[str]) -> dict[str, PackageState]:
        return {name: PackageState("1", name in self.held) for name in names if name in self.has}

    def state(self, name: str) -> ServiceState:
        known = name in self.has
        return ServiceState(name, known, name in self.started, name in self.enabled, self.started.get(name))

    def version(self) -> str:
        return "1.6.20" if "containerd" in self.has else ""

    def is_pristine(self, path: str, content: bytes) -> bool:
        return False

    def images(self, address: str) -> tuple[str, ...] | None:
        return self.there

    def is_root(self) -> bool:
        return self.root

    def look(self, questions: Questions) -> HostState:
        return HostState(name_addresses=("192.0.2.10",), services={})


def world(root: Path, machine: Machine) -> World:
    files = Files(str(root))
    return World(
        files=files,
        kernel=Kernel(str(root)),
        bundle_files=BundleFiles(str(root)),
        packages=machine,
        systemd=machine,
        containerd=machine,
        account=machine,
        probe=machine,
        firewall=machine,
        host=Host(kubelet=machine.kubelet),
    )


DOCUMENTS = {
    "ClusterConfiguration": {"kubernetesVersion": "v1.37.1"},
    "InitConfiguration": {"nodeRegistration": {"criSocket": SOCKET}},
}
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
OPTIONS: dict[str, Any] = {"source": "auto", "repository_key": KEY, "swap": "auto", "firewall": "list", "parts": ["packages"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A kernel with every module and no setting right."""
    for path, text in {
        "proc/modules": "overlay 1 0 - Live 0x0\nbr_netfilter 1 0 - Live 0x0\n",
        "proc/sys/net/ipv4/ip_forward": "0\n",
        "proc/sys/net/bridge/bridge-nf-call-iptables": "0\n",
        "proc/sys/net/bridge/bridge-nf-call-ip6tables": "1\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def run(phase: Any, root: Path, machine: Machine, check: bool = False, **options: Any) -> Outcome:
    return execute(phase, world(root, machine), DOCUMENTS, {**OPTIONS, **options}, check)


@pytest.mark.parametrize("phase", [HostSetupPhase(), ContainerRuntimePhase(), NodePackagesPhase()], ids=["host", "runtime", "packages"])
def test_check_then_run_then_nothing(root: Path, phase: Any) -> None:
    machine = Machine()
    if isinstance(phase, ContainerRuntimePhase):
        machine.has.add("containerd")
    before = snapshot(root)
    foretold = run(phase, root, machine, check=True)
    assert snapshot(root) == before
    assert foretold.changed
    done = run(phase, root, machine)
    assert changes(done) == changes(foretold)
    after = snapshot(root)
    assert after != before
    # Plugins come out of a package that nobody has here.
    if isinstance(phase, NodePackagesPhase):
        for name in ("bridge", "host-local", "loopback", "portmap"):
            path = root / "opt/cni/bin" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        after = snapshot(root)
    again = run(phase, root, machine)
    assert changes(again) == []
    assert snapshot(root) == after


def test_a_check_of_a_bare_host_does_not_stumble_over_what_is_not_there_yet(root: Path) -> None:
    survey = PrepareSurvey(NodePackagesPhase(), HostSetupPhase(), ContainerRuntimePhase(), BundleImagesPhase())
    made = run(survey, root, Machine())
    assert made.facts["pending"] == ["packages", "host-setup", "container-runtime"]
    assert run(ContainerRuntimePhase(), root, Machine(), check=True).changed
    assert run(ContainerRuntimePhase(), root, Machine(), check=True).plan.real_changes


def bundle(place: Path) -> tuple[str, Path]:
    """A bundle of real files, staged as the controller would."""
    staged = place / "staged"
    staged.mkdir()
    files = {}
    for path in (
        "bin/kubelet",
        "bin/kubectl",
        "bin/crictl",
        "cni/bridge",
        "cni/host-local",
        "cni/loopback",
        "cni/portmap",
        "images/pause.tar",
    ):
        content = f"program {path}".encode()
        (staged / path.replace("/", "__")).write_bytes(content)
        files[path] = hashlib.sha256(content).hexdigest()
    images = {"images/pause.tar": ["registry.k8s.io/pause:3.10.2"]}
    return json.dumps({"kubernetes": "1.37.1", "architecture": "amd64", "files": files, "images": images}), staged


def test_offline_from_nothing_to_nothing_to_do(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    listed, staged = bundle(tmp_path_factory.mktemp("bundle"))
    machine = Machine(has={"losetup", "mount", "cp", "containerd", "yaml", "cryptography"})
    phases = (NodePackagesPhase(), BundleImagesPhase())
    options = {"bundle_list": listed, "staged": str(staged), "parts": ["packages", "images"]}
    foretold = run(phases, root, machine, check=True, **options)
    assert foretold.facts["lacking"][0] == "bin/crictl"
    assert foretold.facts["lacking_images"] == ["images/pause.tar"]
    done = run(phases, root, machine, **options)
    assert changes(done) == changes(foretold)
    assert (root / "usr/bin/kubelet").read_bytes() == b"program bin/kubelet"
    assert (root / "usr/bin/kubelet").stat().st_mode & 0o777 == 0o755
    machine.has |= {"kubelet", "kubectl", "crictl"}
    machine.kubelet = "v1.37.1"
    assert changes(run(phases, root, machine, **options)) == []
    # Somebody's file in the place of ours, and a program that is gone.
    (root / "usr/bin/crictl").write_text("another")
    (root / "opt/cni/bin/portmap").unlink()
    assert run(phases, root, machine, check=True, **options).facts["lacking"] == ["bin/crictl", "cni/portmap"]
