# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages of a host: which system it is, what is installed, and apt or dnf to install more."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import apt, dnf
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import which
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import (
    APT,
    DNF,
    FetchKey,
    HoldPackages,
    InstallPackageFiles,
    InstallPackages,
    PackageState,
    RequireLibraries,
    System,
)

# The machine's word: Kubernetes'.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64"}
_LONGEST_KEY = 1 << 20
_FETCH_SECONDS = 30


class Packages:
    """The packages of the machine that the module runs on."""

    applies = (InstallPackages, InstallPackageFiles, HoldPackages, FetchKey, RequireLibraries)

    def __init__(self, files: Files, root: str = "") -> None:
        self._files = files
        self._root = root.rstrip("/")

    def system(self) -> System:
        """Tell which system this is; what it descends from decides on its package manager."""
        release = self._os_release()
        families = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
        manager = ""
        if families & {"debian", "ubuntu"} and which("apt-get"):
            manager = APT
        elif families & {"rhel", "fedora", "centos"} and which("dnf"):
            manager = DNF
        machine = os.uname().machine
        return System(release.get("PRETTY_NAME", ""), manager, _ARCHITECTURES.get(machine, machine))

    def which(self, program: str) -> str:
        """Find a program, as the kubelet would."""
        return which(program)

    def has_library(self, name: str) -> bool:
        """Tell whether the Python that runs this finds a library."""
        return importlib.util.find_spec(name) is not None

    def installed(self, manager: str, names: Iterable[str]) -> dict[str, PackageState]:
        """Tell which of some packages are installed."""
        return apt.installed(names) if manager == APT else dnf.installed(names)

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, InstallPackages):
            apt.install(action) if action.manager == APT else dnf.install(action)
        elif isinstance(action, InstallPackageFiles):
            apt.install_files(action.paths)
        elif isinstance(action, HoldPackages):
            apt.hold(action.packages)
        elif isinstance(action, FetchKey):
            self._files.write([WriteFile(action.path, _fetched(action.url), 0o644)])
        elif isinstance(action, RequireLibraries):
            self._require(action.names)

    def _require(self, names: Iterable[str]) -> None:
        importlib.invalidate_caches()
        lacking = [name for name in names if not self.has_library(name)]
        if lacking:
            raise Unusable(
                f"Python library {', '.join(lacking)}",
                f"its package is installed, and {sys.executable} does not find it",
                "Set ansible_python_interpreter to the distribution's Python, for example /usr/bin/python3",
            )

    def _os_release(self) -> dict[str, str]:
        for path in ("/etc/os-release", "/usr/lib/os-release"):
            found = self._files.read(path)
            if found is not None:
                lines = (line.partition("=") for line in found.content.decode(errors="replace").splitlines())
                return {name.strip(): value.strip().strip("\"'") for name, equals, value in lines if equals}
        return {}


def _fetched(url: str) -> bytes:
    fix = "See that the host reaches it (name, proxy, firewall), or give the key as kubephase_package_key"
    if not url.startswith(("https://", "http://")):
        raise Unusable(url, "it is no address that a key could be fetched from", fix)
    try:
        with urllib.request.build_opener().open(url, timeout=_FETCH_SECONDS) as answer:
            content: bytes = answer.read(_LONGEST_KEY)
    except (OSError, ValueError) as error:
        reason = error if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        raise Unusable(url, f"the key of the repository cannot be fetched: {reason}", fix) from error
    if b"BEGIN PGP PUBLIC KEY BLOCK" not in content:
        raise Unusable(url, "what it serves is no armoured public key", fix)
    return content
