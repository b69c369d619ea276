# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An offline bundle: its list bundle.json, what its image archives hold, and every way in which it may fall short."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._release import UnsupportedVersion, canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import control_plane_only, full_name

LIST = "bundle.json"
PROGRAMS, PLUGINS, PACKAGES, IMAGES = "bin", "cni", "debs", "images"

# The members of an image archive that tell what it holds.
OCI_LAYOUT, OCI_INDEX, DOCKER_MANIFEST = TELLING = ("oci-layout", "index.json", "manifest.json")

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARCHITECTURE = re.compile(r"[a-z0-9]+")
_MEND = "Make the bundle anew, or bring the part that is wrong"
# The runtime prefers its own annotation; the other may hold no more than a tag.
_NAMED_BY = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


@dataclass(frozen=True)
class Bundle:
    """What bundle.json promises: files by path with their SHA-256, and the images of each archive among them."""

    kubernetes: str
    architecture: str
    files: Mapping[str, str]
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def below(self, directory: str) -> dict[str, str]:
        """Give the files of one directory by their own names: those of PROGRAMS, PLUGINS or PACKAGES with their paths."""
        return {path.partition("/")[2]: path for path in sorted(self.files) if path.startswith(f"{directory}/")}

    @property
    def image_names(self) -> frozenset[str]:
        """Name every image, as a runtime lists it."""
        return frozenset(full_name(name) for names in self.images.values() for name in names)


@dataclass(frozen=True)
class Contents:
    """What is really there: the SHA-256 of files by path, and the names that each image archive holds."""

    digests: Mapping[str, str]
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parse(content: bytes, where: str) -> Bundle:
    """Read bundle.json; everything that is wrong with it is reported at once."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise Unusable(where, "it is not JSON", _MEND) from None
    if not isinstance(found, dict):
        raise Unusable(where, "it is not a JSON object", _MEND)
    wrong = _Wrong(where)
    bundle = Bundle(
        _version(found.get("kubernetes"), wrong),
        _architecture(found.get("architecture"), wrong),
        _files(found.get("files"), wrong),
        _images(found.get("images", {}), wrong),
    )
    for name in sorted(set(found) - {"kubernetes", "architecture", "files", "images"}):
        wrong.note(f"it has a field {name[:40]!r} that no bundle has")
    for archive in sorted(set(bundle.images) - set(bundle.files)):
        wrong.note(f"images names {archive}, which files does not list")
    wrong.raise_if_any()
    return bundle


def render(bundle: Bundle) -> str:
    """Spell bundle.json."""
    fields = {
        "kubernetes": bundle.kubernetes,
        "architecture": bundle.architecture,
        "files": dict(sorted(bundle.files.items())),
        "images": {archive: list(names) for archive, names in sorted(bundle.images.items())},
    }
    return json.dumps(fields, indent=2) + "\n"


def broken(bundle: Bundle, seen: Contents, where: str) -> tuple[Unusable, ...]:
    """Say which promises of the list the bundle does not keep: files that are missing or other ones, images that are not inside."""
    found: list[Unusable] = []
    for path, digest in sorted(bundle.files.items()):
        there = seen.digests.get(path)
        if there is None:
            found.append(Unusable(posixpath.join(where, path), f"{LIST} lists it, and it is not there", _MEND))
        elif there != digest:
            found.append(Unusable(posixpath.join(where, path), f"its SHA-256 is {there}, and {LIST} says {digest}", _MEND))
    for archive, names in sorted(bundle.images.items()):
        found += unkept(posixpath.join(where, archive), names, seen.images[archive]) if archive in seen.images else ()
    return tuple(found)


def unkept(archive: str, promised: Iterable[str], held: Iterable[str]) -> tuple[Unusable, ...]:
    """Say which images an archive lacks although the list promises them."""
    there = {full_name(name) for name in held}
    lacks = [name for name in promised if full_name(name) not in there]
    what = f"it lacks {', '.join(lacks)}, which {LIST} promises; it holds {', '.join(sorted(there)) or 'no image with a name'}"
    return (Unusable(archive, what, _MEND),) if lacks else ()


def unfit(bundle: Bundle, version: str, architecture: str, where: str) -> tuple[Unusable, ...]:
    """Say why a bundle is not for a release or not for a machine; an architecture that is not known fits any."""
    place = posixpath.join(where, LIST)
    found = []
    if canonical(bundle.kubernetes) != canonical(version):
        fix = f"Bring a bundle for {version.lstrip('v')}, or set ClusterConfiguration.kubernetesVersion to v{bundle.kubernetes}"
        found.append(Unusable(place, f"it is for Kubernetes {bundle.kubernetes}, and the documents ask for {version.lstrip('v')}", fix))
    if architecture and bundle.architecture != architecture:
        fix = f"Bring a bundle for {architecture}"
        found.append(Unusable(place, f"it is for {bundle.architecture}, and the host is {architecture}", fix))
    return tuple(found)


def lacking(bundle: Bundle, files: Iterable[str], images: Iterable[str], where: str) -> tuple[Unusable, ...]:
    """Say which files and images the documents need that the bundle does not list."""
    place = posixpath.join(where, LIST)
    absent = [path for path in files if path not in bundle.files]
    found = [Unusable(place, f"it lists no {path}", "Add the file and its SHA-256 to the bundle") for path in absent]
    there = bundle.image_names
    unnamed = [name for name in images if full_name(name) not in there]
    fix = "Add an archive that holds it, and its names, to the bundle"
    return (*found, *(Unusable(place, f"no archive of it promises the image {name}", fix) for name in unnamed))


def to_import(bundle: Bundle, present: Collection[str], required: Iterable[str] = (), control_plane: bool = True) -> tuple[str, ...]:
    """List the archives that a host must import: those with an image that it needs and does not have.

    Required are the images of the documents; of these a host that is no control plane leaves out what only control
    planes run. Every other image of the bundle is for every host.
    """
    there = {full_name(name) for name in present}
    spared = set() if control_plane else {full_name(name) for name in control_plane_only(required)}
    wanted = {archive: {full_name(name) for name in names} - spared for archive, names in sorted(bundle.images.items())}
    return tuple(archive for archive, names in wanted.items() if names - there)


def held(members: Mapping[str, bytes], where: str) -> tuple[str, ...]:
    """Read which images an archive holds, as containerd does: from the OCI index if it has a layout, else from Docker's manifest."""
    kind = OCI_INDEX if OCI_LAYOUT in members else DOCKER_MANIFEST
    if kind not in members:
        raise Unusable(where, f"it is no image archive: it holds neither {DOCKER_MANIFEST} nor {OCI_LAYOUT} with {OCI_INDEX}", _MEND)
    try:
        found = json.loads(members[kind])
        names = _oci_names(found) if kind == OCI_INDEX else _docker_names(found)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Unusable(where, f"its {kind} is not that of an image archive", _MEND) from None
    return tuple(dict.fromkeys(full_name(name) for name in names))


def _docker_names(manifest: Any) -> list[str]:
    return [str(name) for image in manifest for name in image.get("RepoTags") or ()]


def _oci_names(index: Any) -> list[str]:
    noted = [entry.get("annotations") or {} for entry in index["manifests"]]
    names = [next((str(notes[key]) for key in _NAMED_BY if notes.get(key)), "") for notes in noted]
    # A mere tag says nothing of what it tags: the runtime would make up the rest.
    return [name for name in names if "/" in name or ":" in name]


class _Wrong:
    """Gathers what is wrong with a list."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._found: list[Unusable] = []

    def note(self, found: str) -> None:
        self._found.append(Unusable(self._where, found, _MEND))

    def raise_if_any(self) -> None:
        if self._found:
            raise ManyUnusable(tuple(self._found))


def _version(found: Any, wrong: _Wrong) -> str:
    try:
        return canonical(found)[1:]
    except (UnsupportedVersion, TypeError):
        wrong.note('kubernetes is not a version such as "1.37.1"')
        return ""


def _architecture(found: Any, wrong: _Wrong) -> str:
    if isinstance(found, str) and _ARCHITECTURE.fullmatch(found):
        return found
    wrong.note('architecture is not one such as "amd64"')
    return ""


def _files(found: Any, wrong: _Wrong) -> dict[str, str]:
    if not isinstance(found, dict):
        wrong.note("files is not an object of paths and SHA-256 sums")
        return {}
    for path, digest in found.items():
        if not _inside(path):
            wrong.note(f"files names {path[:80]!r}, which is not a plain path inside the bundle")
        elif not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            wrong.note(f"files gives no SHA-256 in 64 small hexadecimal digits for {path}")
    return found


def _images(found: Any, wrong: _Wrong) -> dict[str, tuple[str, ...]]:
    if not isinstance(found, dict):
        wrong.note("images is not an object of archives and the names in them")
        return {}
    for archive, names in found.items():
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            wrong.note(f"images gives no list of names for {archive[:80]!r}")
    return {archive: tuple(names) for archive, names in found.items() if isinstance(names, list)}


def _inside(path: str) -> bool:
    """Whether a path leads to a file of the bundle and nowhere else, whoever extracts it and wherever to."""
    plain = bool(path) and path.isprintable() and path == posixpath.normpath(path) and "\\" not in path
    return plain and not path.startswith(("/", "../")) and path not in (".", "..", LIST)
