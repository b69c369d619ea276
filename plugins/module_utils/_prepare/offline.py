# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of an offline bundle: which a host lacks, where they go, and what follows from them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import InstallFile, VerifyStaged
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import APT, InstallPackageFiles
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import PACKAGES, PLUGINS, PROGRAMS, Bundle, parse, unfit
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import PLUGIN_DIRECTORY
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.kubelet_unit import PROGRAM
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import (
    CONTAINERD,
    CRICTL,
    KUBECTL,
    KUBELET,
    Installed,
    package_of,
    wanted_version,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import PLUGINS as PLUGINS_OF_NODE

_PLACES = {PROGRAMS: "/usr/bin", PLUGINS: PLUGIN_DIRECTORY}
# What another runtime's packages would fight with.
_RUNTIME = ("containerd", "runc")
_MODE = 0o755


def bundle_of(options: Mapping[str, Any]) -> Bundle | None:
    """Read the list of the bundle that the controller has sent along; None where there is none."""
    text = options.get("bundle_list")
    return parse(str(text).encode(), _where(options)) if text else None


def places_of(bundle: Bundle) -> dict[str, str]:
    """Tell where each program and plugin of a bundle goes, by its path in it."""
    return {path: posixpath.join(place, name) for kind, place in _PLACES.items() for name, path in bundle.below(kind).items()}


def staged_at(options: Mapping[str, Any], path: str) -> str:
    """Tell where a file of the bundle lies on the host once it was brought."""
    return f"{options.get('staged') or ''}/{staged_name(path)}"


def staged_name(path: str) -> str:
    """Give a file of the bundle one name in one directory; packages keep their ending, by which apt knows them."""
    return path.replace("/", "__")


def must_fit(docs: Documents, bundle: Bundle, architecture: str, options: Mapping[str, Any]) -> None:
    """Refuse a bundle of another release or for another machine."""
    wrong = unfit(bundle, wanted_version(docs), architecture, _where(options))
    if wrong:
        raise ManyUnusable(wrong)


def verified(bundle: Bundle, paths: tuple[str, ...], options: Mapping[str, Any]) -> Change:
    """Look at the checksums of all that was brought before the first file is used."""
    files = {staged_at(options, path): (path, bundle.files[path]) for path in paths}
    return Change("files of the bundle", "their checksums are looked at first", "", "", VerifyStaged(files))


def from_bundle(
    docs: Documents, seen: Installed, absent: Mapping[str, str], bundle: Bundle, options: Mapping[str, Any]
) -> tuple[list[Change], tuple[str, ...]]:
    """Plan what the bundle brings, and name the files of it that the host lacks."""
    must_fit(docs, bundle, seen.system.architecture, options)
    places = places_of(bundle)
    packages = _packages(seen, absent, bundle)
    _must_bring(absent, seen, bundle, options)
    # The kubelet of a node is never exchanged in passing.
    kept = PROGRAM if seen.joined and seen.digests.get(PROGRAM) else ""
    files = tuple(path for path, place in places.items() if place != kept and seen.digests.get(place) != bundle.files[path])
    lacking = (*files, *packages)
    if not lacking:
        return [], ()
    changes = [verified(bundle, lacking, options)]
    if packages:
        names = "".join(f"{posixpath.basename(path)}\n" for path in packages)
        action = InstallPackageFiles(tuple(staged_at(options, path) for path in packages))
        changes.append(Change("packages", "; ".join(f"{thing}: {why}" for thing, why in absent.items()), "", names, action))
    for path in files:
        found = seen.digests.get(places[path])
        reason = "it does not exist" if not found else "it is another file than the bundle's"
        before = f"sha256: {found}\n" if found else ""
        action_of_file = InstallFile(staged_at(options, path), places[path], _MODE)
        changes.append(Change(places[path], reason, before, f"sha256: {bundle.files[path]}\n", action_of_file))
    return changes, lacking


def _packages(seen: Installed, absent: Mapping[str, str], bundle: Bundle) -> tuple[str, ...]:
    """Pick the package files to install: none while all that packages bring is there, else those of packages not installed."""
    brought = {KUBELET, KUBECTL, CRICTL, PLUGINS_OF_NODE}
    if seen.system.manager != APT or not set(absent) - brought:
        return ()
    # A runtime that is there may come from packages of other names, which these would push out.
    kept = () if CONTAINERD in absent else _RUNTIME
    files = bundle.below(PACKAGES)
    return tuple(path for name, path in files.items() if _package(name) not in seen.packages and _package(name) not in kept)


def _package(name: str) -> str:
    return name.partition("_")[0]


def _must_bring(absent: Mapping[str, str], seen: Installed, bundle: Bundle, options: Mapping[str, Any]) -> None:
    """Refuse to begin with a bundle that cannot bring all that is missing."""
    programs, packages = set(bundle.below(PROGRAMS)), {_package(name) for name in bundle.below(PACKAGES)}
    wrong = []
    for thing, why in absent.items():
        if thing in (KUBELET, KUBECTL, CRICTL):
            there = thing in programs
            lacks = f"{PROGRAMS}/{thing}"
        elif thing == PLUGINS_OF_NODE:
            there, lacks = bool(bundle.below(PLUGINS)), f"{PLUGINS}/"
        else:
            package = package_of(thing, APT)
            there, lacks = seen.system.manager == APT and package in packages, f"package {package} in {PACKAGES}/"
        if not there:
            fix = "Add it to the bundle, or install it on the host beforehand"
            wrong.append(Unusable(_where(options), f"{thing}: {why}, and the bundle has no {lacks}", fix))
    if wrong:
        raise ManyUnusable(tuple(wrong))


def _where(options: Mapping[str, Any]) -> str:
    return str(options.get("bundle") or "bundle")
