# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What users install: everything that the collection is, and nothing of its workshop."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from artifact import FILES, LARGEST_FILE, ROOT, TREES, places_here, problems

PLACE = "/somebody/s/checkout"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of this checkout."""
    place = tmp_path_factory.mktemp("artifact")
    subprocess.run(["ansible-galaxy", "collection", "build", "--output-path", str(place)], cwd=ROOT, check=True, capture_output=True)
    (artifact,) = place.glob("*.tar.gz")
    return artifact


def test_nothing_in_it_that_does_not_belong_there(built: Path) -> None:
    assert problems(built, places_here()) == []


def test_nothing_left_out_that_belongs_there(built: Path) -> None:
    with tarfile.open(built) as packed:
        names = set(packed.getnames())
    here = {
        str(path.relative_to(ROOT))
        for tree, endings in TREES.items()
        for path in (ROOT / tree).rglob("*")
        if path.suffix in endings and path.is_file()
    }
    assert len(here) > 300
    assert here - names == set()


def test_it_says_what_it_is(built: Path) -> None:
    with tarfile.open(built) as packed:
        content = packed.extractfile("MANIFEST.json")
        assert content is not None
        told = json.load(content)["collection_info"]
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text())
    assert (told["namespace"], told["name"], told["version"]) == ("kubephase", "cluster", galaxy["version"])
    assert told["dependencies"] == {}


def file(name: str, content: bytes = b"", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    return member, content


def directory(name: str, mode: int = 0o755) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, mode
    return member, b""


def link(name: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = tarfile.SYMTYPE, "README.md", 0o644
    return member, b""


def packed(place: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> Path:
    target = place / "made.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return target


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        (file("plugins/modules/new.py"), []),
        (directory("plugins/modules"), []),
        (file("kubephase-report.html"), ["kubephase-report.html does not belong there"]),
        (file("lab/cli.py"), ["lab/cli.py does not belong there"]),
        (file("tests/unit/conftest.py"), ["tests/unit/conftest.py does not belong there"]),
        (file("changelogs/fragments/next.yml"), ["changelogs/fragments/next.yml does not belong there"]),
        (file("plugins/modules/.new.py.swp"), ["plugins/modules/.new.py.swp does not belong there"]),
        (file("plugins/modules/__pycache__/new.py"), ["plugins/modules/__pycache__/new.py does not belong there"]),
        (file("roles/init/files/key.pem"), ["roles/init/files/key.pem does not belong there"]),
        (directory("tests/output"), ["tests/output is a directory that does not belong there"]),
        (directory("plugins/modules/__pycache__"), ["plugins/modules/__pycache__ is a directory that does not belong there"]),
        (directory("docs", 0o700), ["docs has mode 0700"]),
        (file("docs/run.md", mode=0o755), ["docs/run.md has mode 0755"]),
        (file("docs/huge.png", bytes(LARGEST_FILE + 1)), [f"docs/huge.png is larger than {LARGEST_FILE} bytes"]),
        (file("docs/here.md", f"see {PLACE}/lab".encode()), [f"docs/here.md names {PLACE}, a place on this machine"]),
        (link("docs/link.md"), ["docs/link.md is neither a file nor a directory"]),
    ],
    ids=lambda value: value[0].name if isinstance(value, tuple) else "",
)
def test_a_planted_fault_is_seen(tmp_path: Path, planted: tuple[tarfile.TarInfo, bytes], told: list[str]) -> None:
    made = packed(tmp_path, [*(file(name) for name in sorted(FILES)), planted])
    assert problems(made, (PLACE,)) == told


def test_a_missing_file_is_seen(tmp_path: Path) -> None:
    made = packed(tmp_path, [file(name) for name in sorted(FILES - {"LICENSE"})])
    assert problems(made, ()) == ["LICENSE is missing"]
