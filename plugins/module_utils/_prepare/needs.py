# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of what an offline bundle must hold for given documents, and the comparison of a bundle with it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.bundles import FoundBundle
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import APT
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.images import required
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import (
    IMAGES,
    LIST,
    PACKAGES,
    PLUGINS,
    PROGRAMS,
    TELLING,
    Bundle,
    Contents,
    broken,
    held,
    lacking,
    parse,
    render,
    unfit,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import (
    CRICTL,
    KUBECTL,
    KUBELET,
    LIBRARIES,
    PLUGIN_NAMES,
    package_of,
    programs_of,
    wanted_version,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import control_plane_only

# What no machine of the distribution is without.
_ALWAYS_THERE = ("coreutils", "iproute2", "mount", "util-linux")
_OF_KUBERNETES = (CRICTL, KUBECTL, KUBELET)
# In a line of its own or between braces.
_IMAGE = re.compile(r"""(?<![\w-])image:\s+(["']?)([^\s"',{}\[\]]+)\1(?=[\s,}]|$)""", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)


@dataclass(frozen=True)
class Needs:
    """What hosts of a cluster need: files of the bundle, packages of the distribution with what they depend on, images."""

    version: str
    files: tuple[str, ...]
    packages: tuple[str, ...]
    images: tuple[str, ...]

    @property
    def for_control_planes(self) -> tuple[str, ...]:
        """Name the images that only control planes need."""
        return control_plane_only(self.images)


def needs(docs: Documents, more_images: tuple[str, ...] = ()) -> Needs:
    """Work out what the documents need, and the images that somebody needs besides."""
    files = (*(f"{PROGRAMS}/{name}" for name in _OF_KUBERNETES), *(f"{PLUGINS}/{name}" for name in PLUGIN_NAMES))
    images = tuple(dict.fromkeys((*required(docs), *more_images)))
    return Needs(wanted_version(docs), files, _packages(docs), images)


def _packages(docs: Documents) -> tuple[str, ...]:
    """Name the distribution's packages, as Debian calls them."""
    things = (name for name in (*programs_of(docs), *LIBRARIES) if name not in _OF_KUBERNETES)
    return tuple(sorted({package_of(name, APT) for name in things} - set(_ALWAYS_THERE)))


def images_of(manifest: str) -> tuple[str, ...]:
    """Find the images that a manifest runs, such as that of a pod network."""
    return tuple(dict.fromkeys(found[2] for found in _IMAGE.finditer(_COMMENT.sub("", manifest))))


def text_of(found: Needs, architecture: str) -> str:
    """Spell the list for a person."""
    only = found.for_control_planes
    lines = [
        f"Offline bundle for Kubernetes {found.version} on {architecture}",
        LIST,
        *found.files,
        *(f"{PACKAGES}/{name}_*.deb (and what it depends on, for hosts that lack it)" for name in found.packages),
        f"{IMAGES}/*.tar with these images, in any number of archives",
        *(f"{name} (control planes only)" if name in only else name for name in found.images),
    ]
    return "\n".join(lines)


class BundlePhase:
    """Lists what the documents need; with a bundle, compares; asked to, writes the bundle's own list."""

    name = "bundle"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> FoundBundle | None:
        """Look into the bundle, if one is named."""
        path = options.get("bundle")
        found: FoundBundle | None = world.bundles.look(path, LIST, IMAGES, TELLING) if path else None
        return found

    def plan(self, docs: Documents, seen: FoundBundle | None, options: Mapping[str, Any]) -> Plan:
        """List, compare, and plan the bundle's list; everything that is wrong is reported at once, beside the list."""
        manifest = options.get("manifest_content") or ""
        needed = needs(docs, (*images_of(manifest), *(options.get("images") or ())))
        architecture = str(options.get("architecture") or "")
        facts = {
            "kubernetes_version": needed.version,
            "files": list(needed.files),
            "packages": list(needed.packages),
            "images": [{"name": name, "control_plane_only": name in needed.for_control_planes} for name in needed.images],
            "text": text_of(needed, architecture),
            "checked": seen is not None,
        }
        if seen is None:
            return Plan(facts=facts)
        contents, problems = _contents(seen)
        changes: tuple[Change, ...] = ()
        try:
            if options.get("write"):
                bundle = Bundle(
                    needed.version, architecture, dict(seen.digests), {archive: n for archive, n in contents.images.items() if n}
                )
                changes = _written(bundle, seen)
            else:
                bundle = _listed(seen)
                problems += broken(bundle, contents, seen.path)
            problems += unfit(bundle, needed.version, architecture, seen.path)
            problems += lacking(bundle, needed.files, needed.images, seen.path)
        except (Unusable, ManyUnusable) as refusal:
            problems += refusal.findings if isinstance(refusal, ManyUnusable) else (refusal,)
        if problems:
            raise ManyUnusable(problems, facts)
        return Plan(changes, facts, _unpackaged(bundle, needed))


def _contents(seen: FoundBundle) -> tuple[Contents, tuple[Unusable, ...]]:
    """Read what the image archives hold; one that holds nothing readable is a finding."""
    images: dict[str, tuple[str, ...]] = {}
    problems: list[Unusable] = []
    for archive, members in sorted(seen.telling.items()):
        try:
            images[archive] = held(members, posixpath.join(seen.path, archive))
        except Unusable as problem:
            problems.append(problem)
    return Contents(seen.digests, images), tuple(problems)


def _listed(seen: FoundBundle) -> Bundle:
    if seen.listed is None:
        raise Unusable(posixpath.join(seen.path, LIST), "it is not there", "Make it: kubephase.cluster.bundle with kubephase_bundle_write")
    return parse(seen.listed, posixpath.join(seen.path, LIST))


def _written(bundle: Bundle, seen: FoundBundle) -> tuple[Change, ...]:
    if not seen.is_directory:
        raise Unusable(seen.path, f"{LIST} cannot be written into an archive", "Name the directory, and make the archive of it afterwards")
    before, after = (seen.listed or b"").decode(errors="replace"), render(bundle)
    path = posixpath.join(seen.path, LIST)
    # What would not be taken back is not written.
    parse(after.encode(), path)
    if before == after:
        return ()
    reason = "it does not say what is there" if before else "there is none"
    return (Change(path, reason, before, after, WriteFile(path, after.encode(), 0o644)),)


def _unpackaged(bundle: Bundle, needed: Needs) -> tuple[str, ...]:
    """Hosts may have these packages already, so that they are no fault of a bundle."""
    there = {name.partition("_")[0] for name in bundle.below(PACKAGES)}
    absent = [name for name in needed.packages if name not in there]
    return (f"The bundle has no package {', '.join(absent)}: hosts must have what is missing there already",) if absent else ()
