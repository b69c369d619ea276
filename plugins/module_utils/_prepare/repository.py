# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages from a repository: the source and its key, what is installed in which version, and what is held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import APT, DNF, FetchKey, HoldPackages, InstallPackages
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.owned import shown, stamped
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import (
    KUBECTL,
    KUBELET,
    OF_KUBERNETES,
    PINNED,
    Installed,
    package_of,
    wanted_version,
)

APT_SOURCE = "/etc/apt/sources.list.d/kubernetes.sources"
APT_KEY = "/etc/apt/keyrings/kubephase-kubernetes.asc"
DNF_SOURCE = "/etc/yum.repos.d/kubernetes.repo"
SOURCE_FILES = (APT_SOURCE, APT_KEY, DNF_SOURCE)
TRUSTED = "trusted"
_ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
_FORMATS = {APT: "deb", DNF: "rpm"}


def repository_of(docs: Documents, manager: str, options: Mapping[str, Any]) -> str:
    """The address of the repository: as given, or the project's own of the minor."""
    version = docs.known_release.version
    default = docs.known_release.package_repository.format(major=version.major, minor=version.minor, format=_FORMATS[manager])
    return str(options.get("repository") or default)


def from_repository(docs: Documents, seen: Installed, absent: Mapping[str, str], options: Mapping[str, Any], always: bool) -> list[Change]:
    """Plan what brings what is absent; with always, source, key and hold are kept as wanted even where nothing is."""
    manager = seen.system.manager
    if not manager:
        raise Unusable(
            "operating system",
            f"{seen.system.name or 'this one'} has neither apt nor dnf, so that {', '.join(absent) or 'nothing'} cannot be installed here",
            "Use Debian, Ubuntu or a relative of Fedora, install it yourself (source: none), or bring an offline bundle",
        )
    things = list(absent)
    if KUBELET in absent and KUBECTL not in absent and seen.packages.get(package_of(KUBECTL, manager)):
        things.append(KUBECTL)  # the two are of one version
    packages = tuple(dict.fromkeys(package_of(thing, manager) for thing in things))
    needs_source = always or any(package in OF_KUBERNETES for package in packages)
    repository = repository_of(docs, manager, options) if needs_source else ""
    changes = _source(seen, manager, repository, options) if needs_source else []
    if packages:
        changes.append(_install(docs, seen, manager, packages, repository, absent))
    return changes + _hold(seen, packages, manager, always)


def _install(
    docs: Documents, seen: Installed, manager: str, packages: tuple[str, ...], repository: str, absent: Mapping[str, str]
) -> Change:
    # What a package is called after its upstream version is the packager's.
    pattern = f"{wanted_version(docs).replace('-', '~')}-*"
    versions = {package: pattern for package in packages if package in PINNED}
    before = "".join(f"{name} {seen.packages[name].version}\n" for name in packages if name in seen.packages)
    after = "".join(f"{name} {versions.get(name, '')}".rstrip() + "\n" for name in packages)
    reason = "; ".join(f"{thing}: {why}" for thing, why in absent.items())
    return Change("packages", reason, before, after, InstallPackages(manager, packages, versions, repository))


def _hold(seen: Installed, packages: tuple[str, ...], manager: str, always: bool) -> list[Change]:
    """dnf leaves the packages alone by a line of the source file; apt is told."""
    if manager != APT:
        return []
    candidates = [name for name in PINNED if name in packages or (always and name in seen.packages)]
    unheld = tuple(name for name in candidates if name not in seen.packages or not seen.packages[name].held)
    if not unheld:
        return []
    reason = "an upgrade of the host would upgrade them along with it"
    return [Change("held packages", reason, "", "".join(f"{name}\n" for name in unheld), HoldPackages(unheld))]


def _source(seen: Installed, manager: str, repository: str, options: Mapping[str, Any]) -> list[Change]:
    key = str(options.get("repository_key") or "").strip()
    if key and key != TRUSTED and not key.startswith(_ARMOUR):
        raise Unusable(
            "repository_key",
            "it is not an armoured public key",
            f"Give the text that begins with {_ARMOUR} (gpg --armor --export makes it), or the word {TRUSTED}",
        )
    if manager == DNF:
        return _written(seen, DNF_SOURCE, _dnf_source(repository, key))
    changes = []
    if key and key != TRUSTED:
        changes += _written(seen, APT_KEY, f"{key}\n", stamp=False)
    elif not key and APT_KEY not in seen.files:
        url = f"{repository.rstrip('/')}/Release.key"
        changes.append(Change(APT_KEY, "it does not exist", "", f"from {url}\n", FetchKey(url, APT_KEY)))
    return changes + _written(seen, APT_SOURCE, _apt_source(repository, key, options))


def _apt_source(repository: str, key: str, options: Mapping[str, Any]) -> str:
    suite = str(options.get("repository_suite") or "/")
    components = " ".join(options.get("repository_components") or ())
    lines = ["Types: deb", f"URIs: {repository}", f"Suites: {suite}"]
    lines += [f"Components: {components}"] if components else []
    lines += ["Trusted: yes"] if key == TRUSTED else [f"Signed-By: {APT_KEY}"]
    return "".join(f"{line}\n" for line in lines)


def _dnf_source(repository: str, key: str) -> str:
    """The key is fetched by dnf itself, from beside the repository's list, unless the repository is trusted as it is."""
    check = ["gpgcheck=0"] if key == TRUSTED else ["gpgcheck=1", f"gpgkey={repository.rstrip('/')}/repodata/repomd.xml.key"]
    lines = ["[kubernetes]", "name=Kubernetes", f"baseurl={repository}", "enabled=1", *check, f"exclude={' '.join(OF_KUBERNETES)}"]
    return "".join(f"{line}\n" for line in lines)


def _written(seen: Installed, path: str, text: str, stamp: bool = True) -> list[Change]:
    found, content = seen.files.get(path), stamped(text) if stamp else text.encode()
    if found is not None and found.content == content:
        return []
    reason = "it does not exist" if found is None else "it differs from what is wanted"
    before = "" if found is None else shown(found.content)
    return [Change(path, reason, before, shown(content), WriteFile(path, content, 0o644))]
