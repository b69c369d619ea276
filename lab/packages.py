# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian packages: those of a release, laid out as the Kubernetes project lays out its own, and those of the distribution."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.bare import ensure_bare_image
from lab.cache import Artifact, Store, content_of
from lab.command import run
from lab.errors import LabError
from lab.images import FILES
from lab.node_image import copy
from lab.podman import LIMITS, podman
from lab.recipes import CNI_PLUGINS, CRICTL, PACKAGE_REVISION, Release
from lab.toolchain import architecture

UNIT = "usr/lib/systemd/system/kubelet.service"
DROP_IN = "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"

# Enabled and not started, as a package that cannot run before kubeadm or its like has been there.
_ENABLE = """\
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  deb-systemd-helper unmask kubelet.service >/dev/null || true
  deb-systemd-helper enable kubelet.service >/dev/null || true
  [ ! -d /run/systemd/system ] || systemctl daemon-reload >/dev/null || true
fi
"""


@dataclass(frozen=True)
class Package:
    """A package: programs by their path in it, other files by their text, and the script that ends its installation."""

    name: str
    version: str
    summary: str
    programs: Mapping[str, Path] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    depends: str = ""
    configuration: tuple[str, ...] = ()
    after: str = ""

    @property
    def full_version(self) -> str:
        """Give the version with the revision that the Kubernetes project's packages have."""
        return f"{self.version}-{PACKAGE_REVISION}"

    def file_name(self, machine: str) -> str:
        """Name the package's file."""
        return f"{self.name}_{self.full_version}_{machine}.deb"

    def control(self, machine: str) -> str:
        """Spell the package's control file."""
        depends = f"Depends: {self.depends}\n" if self.depends else ""
        return (
            f"Package: {self.name}\nVersion: {self.full_version}\nArchitecture: {machine}\n"
            f"Maintainer: The kubephase authors <lab@kubephase.invalid>\n{depends}Section: net\nPriority: optional\n"
            f"Description: {self.summary}\n"
        )


def packages_of(of: Release, programs: Mapping[str, Path]) -> tuple[Package, ...]:
    """List the packages of a release; programs are directories of what was built, by name.

    The drop-in comes with kubeadm and not with the kubelet, and directories hold a hidden file that keeps them: both as in
    the Kubernetes project's packages, so that whoever prepares a node meets here what it will meet there.
    """
    plugins = {f"opt/cni/bin/{plugin.name}": plugin for plugin in sorted(programs["cni-plugins"].iterdir())}

    def program(name: str) -> Mapping[str, Path]:
        return {f"usr/bin/{name}": programs[name] / name}

    kubelet = Package(
        "kubelet",
        of.version,
        "Node agent for Kubernetes clusters",
        program("kubelet"),
        {
            UNIT: (FILES / "kubelet.service").read_text(),
            "etc/default/kubelet": "KUBELET_EXTRA_ARGS=\n",
            "etc/kubernetes/manifests/.kubelet-keep": "",
            "var/lib/kubelet/.kubelet-keep": "",
        },
        depends="kubernetes-cni (>= 1.2.0), mount, util-linux",
        configuration=("/etc/default/kubelet",),
        after=_ENABLE,
    )
    return (
        kubelet,
        Package("kubectl", of.version, "Command-line client of Kubernetes", program("kubectl")),
        Package(
            "kubeadm",
            of.version,
            "Bootstrapping of Kubernetes clusters",
            program("kubeadm"),
            {DROP_IN: (FILES / "10-kubeadm.conf").read_text()},
        ),
        Package("cri-tools", CRICTL, "Command-line client of container runtimes", program("crictl")),
        Package("kubernetes-cni", CNI_PLUGINS, "Plugins of pod networks", plugins, {"etc/cni/net.d/.kubernetes-cni-keep": ""}),
    )


def write(package: Package, target: Path, scratch: Path) -> Path:
    """Build a package into a directory and say where it is."""
    root = scratch / package.name
    for place, source in package.programs.items():
        copy(source, root / place)
    for place, text in package.texts.items():
        _put(root / place, text, 0o644)
    _put(root / "DEBIAN/control", package.control(architecture()), 0o644)
    if package.configuration:
        _put(root / "DEBIAN/conffiles", "".join(f"{place}\n" for place in package.configuration), 0o644)
    if package.after:
        _put(root / "DEBIAN/postinst", package.after, 0o755)
    written = target / package.file_name(architecture())
    # Little compression: the way is short, and every node unpacks it.
    run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z1", "--build", str(root), str(written)])
    shutil.rmtree(root)
    return written


def _put(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def distribution_artifact(store: Store, base: Artifact, bare: Artifact, name: str, packages: tuple[str, ...]) -> Artifact:
    """Describe packages of the distribution that a bare node lacks, with all that they depend on and it lacks as well."""

    def make(target: Path) -> None:
        image = ensure_bare_image(store, base, bare)
        scratch = store.scratch(name)
        status = scratch / "status"
        status.write_text(podman("run", "--rm", *LIMITS, "--network", "none", image, "cat", "/var/lib/dpkg/status"))
        (target / "partial").mkdir()
        download = [
            "apt-get", "-q", "-y", "--no-install-recommends", "--download-only",
            # Asked of the machine's apt, as if the machine had what a bare node has.
            "-o", f"Dir::State::status={status}", "-o", f"Dir::Cache::archives={target}/",
            "-o", "Dir::State::extended_states=/dev/null", "-o", "Debug::NoLocking=true", "-o", "APT::Sandbox::User=root",
            "install", *packages,
        ]  # fmt: skip
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        try:
            run(download, env=quiet, log=store.log(name))
        except LabError:
            # Lists that are missing or old name what is no longer there.
            run(["apt-get", "-q", "-o", "DPkg::Lock::Timeout=600", "update"], env=quiet)
            run(download, env=quiet, log=store.log(name))
        shutil.rmtree(target / "partial")
        for left in target.iterdir():
            if left.suffix != ".deb":
                left.unlink()

    inputs = {"bare": bare.digest, "base": base.digest, "packages": list(packages), "code": content_of(Path(__file__))}
    return Artifact(name, inputs, make)
