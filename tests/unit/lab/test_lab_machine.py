# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the lab reads from the machine, and the images and lines that it writes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import time
from pathlib import Path

import pytest

from lab import preconditions
from lab.debian import Source, codename, main_archive, parse_deb822, parse_one_line
from lab.docker_archive import Image, write
from lab.errors import LabError
from lab.nodes import copy_template
from lab.progress import Progress
from lab.toolchain import version_tuple

MIRROR = "http://mirror.example/debian"


@pytest.mark.parametrize(
    ("line", "sources"),
    [
        (f"deb {MIRROR} bookworm main contrib", [Source(MIRROR, "bookworm", ("main", "contrib"))]),
        (f"deb [arch=amd64 signed-by=/k.gpg] {MIRROR} bookworm main # ours", [Source(MIRROR, "bookworm", ("main",))]),
        (f"# deb {MIRROR} bookworm main", []),
        (f"deb-src {MIRROR} bookworm main", []),
    ],
)
def test_one_line_sources(line: str, sources: list[Source]) -> None:
    assert parse_one_line(line) == sources


STANZAS = f"""\
Types: deb
# a remark: with a colon
URIs: {MIRROR}
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 /usr/share/keyrings/a.gpg

Types: deb-src
URIs: {MIRROR}
Suites: bookworm
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""


def test_deb822_sources() -> None:
    assert parse_deb822(STANZAS) == [Source(MIRROR, "bookworm", ("main",)), Source(MIRROR, "bookworm-updates", ("main",))]


def test_the_archive_of_the_machines_own_suite_is_taken() -> None:
    other = Source("http://other.example", "nodistro", ("main",))
    security = Source("http://security.example", "bookworm-security", ("main",))
    wanted = Source(MIRROR, "bookworm", ("main",))
    assert main_archive([other, security, wanted], "bookworm") == wanted
    with pytest.raises(LabError, match="no archive for trixie main"):
        main_archive([other, security, wanted], "trixie")


@pytest.mark.parametrize("text", ["VERSION_CODENAME=bookworm\n", 'NAME="Debian"\nVERSION_CODENAME="bookworm"\nID=debian\n'])
def test_codename(text: str) -> None:
    assert codename(text) == "bookworm"


def test_a_system_without_a_codename_is_refused() -> None:
    with pytest.raises(LabError, match="VERSION_CODENAME"):
        codename("ID=arch\n")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27 linux/arm64", (1, 27, 0)),
        ("go version go1.27rc1", (1, 27, 0)),
        ("devel", (0, 0, 0)),
    ],
)
def test_go_versions(text: str, version: tuple[int, int, int]) -> None:
    assert version_tuple(text) == version


def image(tmp_path: Path) -> Image:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    below = tmp_path / "below.tar"
    with tarfile.open(below, "w") as layer:
        layer.addfile(tarfile.TarInfo("below"), io.BytesIO())
    return Image("registry.example/a/b:v1", ("/usr/bin/program",), {"usr/bin/program": program}, {"bin/sh": "/usr/bin/program"}, (below,))


def test_an_image_archive_holds_together(tmp_path: Path) -> None:
    write(image(tmp_path), tmp_path / "image.tar", "amd64")
    with tarfile.open(tmp_path / "image.tar") as archive:
        content = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    (entry,) = json.loads(content["manifest.json"])
    assert entry["RepoTags"] == ["registry.example/a/b:v1"]
    assert entry["Config"] == hashlib.sha256(content[entry["Config"]]).hexdigest() + ".json"
    config = json.loads(content[entry["Config"]])
    assert config["config"]["Entrypoint"] == ["/usr/bin/program"]
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(content[layer]).hexdigest() for layer in entry["Layers"]]
    with tarfile.open(fileobj=io.BytesIO(content[entry["Layers"][-1]])) as layer:
        members = {member.name: member for member in layer}
    assert members["usr/bin/program"].mode == 0o755
    assert members["bin/sh"].linkname == "/usr/bin/program"
    assert members["tmp"].mode == 0o1777


def test_the_same_image_is_the_same_bytes(tmp_path: Path) -> None:
    write(image(tmp_path), tmp_path / "one.tar", "amd64")
    time.sleep(1.1)
    write(image(tmp_path), tmp_path / "two.tar", "amd64")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_progress_counts_and_gives_signs_of_life() -> None:
    stream = io.StringIO()
    progress = Progress(12, stream, heartbeat=0.05)
    progress.cached("first 1.0")
    with progress.step("second 2.0", done="built"):
        deadline = time.monotonic() + 30
        while "still running" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    with pytest.raises(ValueError, match="broken"), progress.step("third"):
        raise ValueError("broken")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "[ 1/12] first 1.0 … cached"
    assert re.fullmatch(r"\[ 2/12\] second 2\.0 … still running, \d+\.\d s", lines[1])
    assert re.fullmatch(r"\[ 2/12\] second 2\.0 … built in \d+\.\d s", lines[-2])
    assert lines[-1].startswith("[ 3/12] third … FAILED after ")


def test_nodes_share_image_content_but_not_databases(tmp_path: Path) -> None:
    template, node = tmp_path / "template", tmp_path / "node"
    for name in ("blobs/layer", "bolt/meta.db"):
        (template / name).parent.mkdir(parents=True)
        (template / name).write_text("as built")
    copy_template(template, node)
    assert (node / "blobs/layer").samefile(template / "blobs/layer")
    (node / "bolt/meta.db").write_text("changed by a node")
    assert (template / "bolt/meta.db").read_text() == "as built"


@pytest.mark.parametrize(("allowed", "after"), [("128\n", "1024\n"), ("8192\n", "8192\n")])
def test_the_kernel_lets_all_nodes_watch_files(tmp_path: Path, allowed: str, after: str) -> None:
    setting = tmp_path / "max_user_instances"
    setting.write_text(allowed)
    preconditions.allow_watching(setting)
    assert setting.read_text() == after


def test_a_limit_that_cannot_be_raised_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="too few inotify instances"):
        preconditions.allow_watching(tmp_path / "nowhere" / "max_user_instances")
