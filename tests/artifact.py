# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What belongs into the collection's artifact; run with the path of one, it tells what does not belong there."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]

# What users, or tools that they use, look for in a collection. The lab, the scenarios and the suites need a checkout around
# them; of tests/ only what ansible-test reads when it checks an installed collection is there.
FILES = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "FILES.json",
    "LICENSE",
    "MANIFEST.json",
    "README.md",
    "changelogs/changelog.yaml",
    "changelogs/config.yaml",
    "meta/execution-environment.yml",
    "meta/runtime.yml",
    "requirements.txt",
    "tests/config.yml",
    "tests/sanity/ignore-2.19.txt",
    "tests/sanity/ignore-2.20.txt",
    "tests/sanity/ignore-2.21.txt",
}
# Below these directories, files with these endings.
TREES = {
    "docs": {".md", ".png"},
    "examples": {".ini", ".md", ".yaml", ".yml"},
    "playbooks": {".yml"},
    "plugins": {".py", ".yml"},
    "roles": {".md", ".yml"},
}
DIRECTORIES = {"changelogs", "meta", "tests", "tests/sanity"}
LARGEST_FILE = 300_000
LARGEST_ARTIFACT = 1_500_000


def problems(artifact: Path, places: tuple[str, ...]) -> list[str]:
    """Tell everything that is wrong with an artifact; no file may name one of the places on this machine."""
    found = [f"it is larger than {LARGEST_ARTIFACT} bytes"] if artifact.stat().st_size > LARGEST_ARTIFACT else []
    with tarfile.open(artifact) as packed:
        members = packed.getmembers()
        names = {member.name for member in members}
        found += [f"{name} is missing" for name in sorted(FILES - names)]
        for member in members:
            content = packed.extractfile(member) if member.isreg() else None
            found += [f"{member.name} {problem}" for problem in _wrong(member, content.read() if content else b"", places)]
    return found


def _wrong(member: tarfile.TarInfo, content: bytes, places: tuple[str, ...]) -> Iterator[str]:
    if member.isdir():
        if not _is_directory(PurePosixPath(member.name)):
            yield "is a directory that does not belong there"
        if member.mode != 0o755:
            yield f"has mode {member.mode:04o}"
        return
    if not member.isreg():
        yield "is neither a file nor a directory"
    if not _is_file(PurePosixPath(member.name)):
        yield "does not belong there"
    if member.mode != 0o644:
        yield f"has mode {member.mode:04o}"
    if member.size > LARGEST_FILE:
        yield f"is larger than {LARGEST_FILE} bytes"
    yield from (f"names {place}, a place on this machine" for place in places if place.encode() in content)


def _is_file(path: PurePosixPath) -> bool:
    return str(path) in FILES or (_is_plain(path) and path.suffix in TREES.get(path.parts[0], ()))


def _is_directory(path: PurePosixPath) -> bool:
    return str(path) in DIRECTORIES or (path.parts[0] in TREES and _is_plain(path))


def _is_plain(path: PurePosixPath) -> bool:
    return not any(part.startswith((".", "__pycache__")) for part in path.parts)


def places_here() -> tuple[str, ...]:
    """Give the places of this machine that nobody else has."""
    return tuple(sorted({str(ROOT), os.environ.get("KUBEPHASE_CACHE") or str(Path.home() / ".cache" / "kubephase")}))


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]), places_here())
    if wrong:
        sys.exit("\n".join(["The artifact is not what it should be:", *wrong]))
