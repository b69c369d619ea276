# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages of a host as phases see them, and what a plan may ask of its package manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

APT = "apt"
DNF = "dnf"


@dataclass(frozen=True)
class System:
    """The operating system: its name for people, its package manager or nothing, and its architecture in Kubernetes' words."""

    name: str
    manager: str = ""
    architecture: str = ""


@dataclass(frozen=True)
class PackageState:
    """An installed package."""

    version: str
    held: bool = False


@dataclass(frozen=True)
class InstallPackages(Action):
    """Let the package manager install packages; one with a version gets exactly that release, whatever it replaces.

    ``repository`` is the source that the versions come from, named when it does not answer or does not have them.
    """

    manager: str
    packages: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    repository: str = ""


@dataclass(frozen=True)
class InstallPackageFiles(Action):
    """Install package files that lie on the host, and fetch nothing."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class HoldPackages(Action):
    """Keep packages from being upgraded along with others."""

    packages: tuple[str, ...]


@dataclass(frozen=True)
class FetchKey(Action):
    """Fetch the key that signs a repository, and keep it."""

    url: str
    path: str


@dataclass(frozen=True)
class RequireLibraries(Action):
    """See that the Python which runs the modules finds these libraries by now."""

    changes_something = False

    names: tuple[str, ...]
