# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The keyed store: what changes a key, and that an artifact is there whole or not at all."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from lab.cache import Artifact, Store, cache_root, content_of, digest_of
from lab.gobuild import program_artifact
from lab.recipes import kubernetes
from lab.toolchain import Go


def artifact(content: str = "whole") -> Artifact:
    def make(target: Path) -> None:
        (target / "content").write_text(content)

    return Artifact("thing 1.0", {"content": content}, make)


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"KUBEPHASE_CACHE": "/a"}, "/a"),
        ({"KUBEPHASE_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/kubephase"),
        ({"HOME": "/c"}, "/c/.cache/kubephase"),
    ],
)
def test_cache_root(environment: dict[str, str], root: str) -> None:
    assert cache_root(environment) == Path(root)


def test_digest_depends_on_content_and_not_on_order() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})


PROGRAM = kubernetes("kubeadm", "1.37.1")


@pytest.mark.parametrize(
    "other",
    [
        (dataclasses.replace(PROGRAM, version="1.37.0"), "1.26.8"),
        (dataclasses.replace(PROGRAM, cgo=True), "1.26.8"),
        (dataclasses.replace(PROGRAM, link=()), "1.26.8"),
        (dataclasses.replace(PROGRAM, replace=(("example.org/x", "v1.0.0"),)), "1.26.8"),
        (dataclasses.replace(PROGRAM, packages=("k8s.io/kubernetes/cmd/kubelet",)), "1.26.8"),
        (PROGRAM, "1.26.9"),
    ],
    ids=["version", "cgo", "flags", "replacements", "packages", "go"],
)
def test_a_changed_recipe_changes_the_key(tmp_path: Path, other: tuple[object, str]) -> None:
    program, go = other
    before = program_artifact(Store(tmp_path), Go("go", "1.26.8"), PROGRAM)
    after = program_artifact(Store(tmp_path), Go("go", go), program)  # type: ignore[arg-type]
    assert before.key != after.key
    assert before.key == program_artifact(Store(tmp_path), Go("elsewhere/go", "1.26.8"), PROGRAM).key


def test_an_edited_script_changes_the_digest(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("one")
    before = content_of(script)
    script.write_text("two")
    assert content_of(script) != before


def test_an_artifact_is_made_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = []

    def make(target: Path) -> None:
        made.append(target)

    wanted = Artifact("thing", {}, make)
    assert not store.has(wanted)
    assert store.ensure(wanted) == store.ensure(wanted) == store.path(wanted)
    assert len(made) == 1


def test_a_failed_build_leaves_nothing_that_counts_as_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def break_off(target: Path) -> None:
        (target / "half").write_text("half")
        raise RuntimeError("broken")

    broken = dataclasses.replace(artifact(), make=break_off)
    with pytest.raises(RuntimeError):
        store.ensure(broken)
    assert not store.has(artifact())
    assert sorted(path.name for path in store.ensure(artifact()).iterdir()) == ["content"]


def _build_slowly(root: Path) -> None:
    def make(target: Path) -> None:
        (target / "half").write_text("half")
        time.sleep(60)

    Store(root).ensure(dataclasses.replace(artifact(), make=make))


def test_a_killed_build_gives_its_lock_back_and_the_next_one_starts_clean(tmp_path: Path) -> None:
    builder = multiprocessing.get_context("fork").Process(target=_build_slowly, args=(tmp_path,))
    builder.start()
    store = Store(tmp_path)
    assert builder.pid is not None
    partial = store.path(artifact()).with_name(f"{store.path(artifact()).name}.partial-{builder.pid}")
    while not (partial / "half").exists():
        time.sleep(0.01)
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    assert sorted(path.name for path in store.ensure(artifact()).iterdir()) == ["content"]
    assert not partial.exists()


def _build_noting(root: Path, notes: Path) -> None:
    def make(target: Path) -> None:
        with notes.open("a") as written:
            written.write("made\n")
        time.sleep(0.2)

    Store(root).ensure(dataclasses.replace(artifact(), make=make))


def test_two_processes_make_an_artifact_once(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    context = multiprocessing.get_context("fork")
    builders = [context.Process(target=_build_noting, args=(tmp_path, notes)) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert notes.read_text() == "made\n"
