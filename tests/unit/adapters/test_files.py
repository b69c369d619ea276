# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The atomic writer, on a real file system: modes, interruptions, and every way in which a disk refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import SetMode, WriteFile


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("wanted", [0o600, 0o644])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int, wanted: int) -> None:
    before = os.umask(umask)
    try:
        Files(str(tmp_path)).write([WriteFile("/a/b/file", b"content", wanted)])
    finally:
        os.umask(before)
    assert (tmp_path / "a/b/file").read_bytes() == b"content"
    assert mode(tmp_path / "a/b/file") == wanted
    assert mode(tmp_path / "a") == mode(tmp_path / "a/b") == 0o755


def test_replacing_keeps_the_owner(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    os.chown(target, 12, 34)
    Files(str(tmp_path)).write([WriteFile("/file", b"new", 0o640)])
    assert (target.stat().st_uid, target.stat().st_gid, mode(target)) == (12, 34, 0o640)


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    Files().write([WriteFile(str(tmp_path / "link"), b"new", 0o600)])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_set_mode_leaves_the_content_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "file").chmod(0o666)
    Files(str(tmp_path)).apply(SetMode("/file", 0o600))
    assert (mode(tmp_path / "file"), (tmp_path / "file").read_text()) == (0o600, "kept")


def test_a_watched_directory_never_sees_a_temporary_file(tmp_path: Path) -> None:
    watched = tmp_path / "manifests"
    watched.mkdir()
    watcher = subprocess.Popen([sys.executable, "-c", WATCH, str(watched)], stdout=subprocess.PIPE, text=True)
    assert watcher.stdout is not None
    assert watcher.stdout.readline() == "watching\n"
    for number in range(20):
        Files(str(tmp_path)).write([WriteFile("/manifests/pod.yaml", f"{number}".encode(), 0o600, staging="/staging")])
    (watched / "end").touch()
    names, _ = watcher.communicate(timeout=20)
    assert set(names.split()) == {"pod.yaml", "end"}
    assert not list((tmp_path / "staging").iterdir())


WATCH = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
watch = libc.inotify_init()
libc.inotify_add_watch(watch, sys.argv[1].encode(), 0x100 | 0x80 | 0x2)
print("watching", flush=True)
while True:
    data = os.read(watch, 65536)
    while data:
        size = struct.unpack("iIII", data[:16])[3]
        name = data[16:16 + size].rstrip(b"\\0").decode()
        data = data[16 + size:]
        print(name, flush=True)
        if name == "end":
            raise SystemExit
"""


def test_files_that_belong_together_all_stay_away_when_one_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(Unusable, match=r"/taken: a directory is where a file should be"):
        Files(str(tmp_path)).write([WriteFile("/new.key", b"key", 0o600), WriteFile("/taken", b"crt", 0o644)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]


def test_a_full_disk_is_one_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=64k"):
        (tmp_path / "file").write_text("old")
        with pytest.raises(Unusable, match=r"the file system is full\. Free some space"):
            Files(str(tmp_path)).write([WriteFile("/file", b"x" * 300_000, 0o600)])
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
        assert (tmp_path / "file").read_text() == "old"


def test_a_read_only_file_system_is_one_error(tmp_path: Path) -> None:
    with mounted(tmp_path, "ro"), pytest.raises(Unusable, match=r"the file system is read-only\. Remount"):
        Files(str(tmp_path)).write([WriteFile("/file", b"content", 0o600)])


def test_a_file_in_the_place_of_a_directory_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "pki").write_text("")
    with pytest.raises(Unusable, match="a file is where a directory should be"):
        Files(str(tmp_path)).write([WriteFile("/pki/ca.crt", b"content", 0o600)])


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda path: path.mkdir(), "a directory is where a file should be"),
        (lambda path: os.mkfifo(path), "it is not a regular file"),
        (lambda path: path.symlink_to(path), "a loop of symbolic links"),
    ],
)
def test_what_is_no_file_cannot_be_read(tmp_path: Path, make: object, found: str) -> None:
    make(tmp_path / "file")  # type: ignore[operator]
    with pytest.raises(Unusable, match=found):
        Files(str(tmp_path)).read("/file")


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    assert Files(str(tmp_path)).read("/no/such/file") is None


def test_a_kill_leaves_the_old_or_the_new_file_and_the_next_run_sweeps(tmp_path: Path) -> None:
    """Kill a writer many times in the middle of its work; what is there is always whole."""
    old, new = b"a" * 200_000, b"b" * 200_000
    (tmp_path / "file").write_bytes(old)
    for attempt in range(12):
        writer = subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path)], stdout=subprocess.PIPE, env=dict(os.environ))
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.003 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert (tmp_path / "file").read_bytes() in (old, new)
    (tmp_path / f".file.kubephase-{writer.pid}-left").write_text("half")
    Files(str(tmp_path)).write([WriteFile("/file", old, 0o600)])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


WRITE = """
import sys
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
print("ready", flush=True)
while True:
    for letter in (b"b", b"a"):
        Files(sys.argv[1]).write([WriteFile("/file", letter * 200_000, 0o600)])
"""


class mounted:
    """A small file system of its own at a path, gone afterwards."""

    def __init__(self, path: Path, options: str) -> None:
        self._path = path
        self._options = options

    def __enter__(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", self._options, "none", str(self._path)], check=True)

    def __exit__(self, *error: object) -> None:
        subprocess.run(["umount", str(self._path)], check=True)
