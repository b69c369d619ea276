# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Container images as docker-archive files, written without a container engine."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Image:
    """What an image holds and how it starts; each name in files is a path inside it."""

    reference: str
    entrypoint: tuple[str, ...]
    files: Mapping[str, Path]
    links: Mapping[str, str]
    base_layers: tuple[Path, ...] = ()


def write(image: Image, target: Path, architecture: str) -> None:
    """Write the image; the same inputs give the same bytes."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        own = Path(scratch) / "layer.tar"
        _write_layer(image, own)
        layers = [*image.base_layers, own]
        digests = [sha256(layer) for layer in layers]
        config = configuration(image, digests, architecture)
        name = hashlib.sha256(config).hexdigest()
        with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
            for layer, digest in zip(layers, digests):
                _add_file(archive, f"{digest}/layer.tar", layer, 0o644)
            _add_bytes(archive, f"{name}.json", config)
            _add_bytes(archive, "manifest.json", manifest(image.reference, name, digests))


def configuration(image: Image, digests: Sequence[str], architecture: str) -> bytes:
    """Spell the image's configuration document."""
    document = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": list(image.entrypoint), "Env": [f"PATH={SEARCH_PATH}"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        "history": [{"created_by": "kubephase lab"} for _ in digests],
    }
    return json.dumps(document, sort_keys=True).encode()


def manifest(reference: str, config: str, digests: Sequence[str]) -> bytes:
    """Spell the archive's table of contents."""
    entry = {"Config": f"{config}.json", "RepoTags": [reference], "Layers": [f"{digest}/layer.tar" for digest in digests]}
    return json.dumps([entry]).encode()


def sha256(path: Path) -> str:
    """Digest a file without holding it in memory."""
    total = hashlib.sha256()
    with path.open("rb") as source:
        for block in iter(lambda: source.read(1 << 20), b""):
            total.update(block)
    return total.hexdigest()


def _write_layer(image: Image, target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as layer:
        for folder, mode in _folders([*image.files, *image.links]):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        for name, source in sorted(image.files.items()):
            _add_file(layer, name, source, 0o755)
        for name, to in sorted(image.links.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, to, 0o777
            layer.addfile(entry)


def _folders(names: Sequence[str]) -> list[tuple[str, int]]:
    """List the directories on the way to every name, and those that programs expect in any image."""
    found = {str(parent): 0o755 for name in names for parent in Path(name).parents if str(parent) != "."}
    found.update({"etc": 0o755, "run": 0o755, "var": 0o755, "tmp": 0o1777})
    return sorted(found.items())


def _add_file(archive: tarfile.TarFile, name: str, source: Path, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = source.stat().st_size, mode
    with source.open("rb") as content:
        archive.addfile(entry, content)


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))
