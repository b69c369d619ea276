# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All of prepare in one look, and the controller's side of a bundle."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from unit.prepare.prepare_cases import docs, refusals

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import RequireFile, SetMode
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.survey import PrepareSurvey
from ansible_collections.kubephase.cluster.plugins.plugin_utils.bundle_sender import Sender, is_taken, lacked, room_for


@dataclass
class Part:
    """A part that answers as it is told."""

    name: str
    made: Plan | Unusable

    def read(self, docs: Any, world: Any, options: Any) -> None:
        """See nothing."""

    def plan(self, docs: Any, seen: None, options: Any) -> Plan:
        if isinstance(self.made, Unusable):
            raise self.made
        return self.made


WORK = Change("x", "why", "a", "b", SetMode("x", 0o600))
WAIT = Change("y", "why", "", "", RequireFile("y", "fix"))


def survey(*parts: Part) -> Plan:
    phase = PrepareSurvey(*parts)
    return phase.plan(docs(), phase.read(docs(), None, {}), {})


def test_parts_with_work_are_named_and_nothing_is_changed() -> None:
    made = survey(
        Part("packages", Plan((WORK,), warnings=("told by the part itself",))),
        Part("host-setup", Plan(warnings=("a warning",))),
        Part("container-runtime", Plan((WAIT,))),
    )
    assert made.changes == ()
    assert made.facts["pending"] == ["packages"]
    assert made.warnings == ("a warning",)
    assert made.facts["parts"][0]["changes"] == [{"target": "x", "reason": "why", "before": "a", "after": "b"}]


def test_every_refusal_is_told_once() -> None:
    same = [Part(name, Unusable("privileges", "no root", "become")) for name in ("a", "b")]
    assert refusals(survey, *same, Part("c", Unusable("swap", "on", "off"))) == ["privileges: no root. become", "swap: on. off"]


FILES = {"bin/kubelet": "kubelet", "images/pause.tar": "pause"}


def made_bundle(place: Path, **changes: Any) -> Path:
    listed = {"kubernetes": "1.37.1", "architecture": "amd64", "files": dict.fromkeys(FILES, "0" * 64), "images": {}, **changes}
    for path, content in {"bundle.json": json.dumps(listed), **FILES}.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content)
    return place


def archived(place: Path, name: str) -> Path:
    target = place.parent / "bundle.tar"
    with tarfile.open(target, "w") as archive:
        archive.add(place, arcname=name)
    return target


@pytest.mark.parametrize("name", ["directory", ".", "bundle-1.37.1"])
def test_files_come_out_of_a_directory_or_an_archive(tmp_path: Path, name: str) -> None:
    place = made_bundle(tmp_path / "b")
    sender = Sender(str(place if name == "directory" else archived(place, name)))
    assert json.loads(sender.listed())["kubernetes"] == "1.37.1"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with sender.files(("images/pause.tar",), str(scratch)) as files:
        assert {path: Path(source).read_text() for path, source in files.items()} == {"images/pause.tar": "pause"}
    assert list(scratch.iterdir()) == []


def test_bundles_that_will_not_do(tmp_path: Path) -> None:
    place = made_bundle(tmp_path / "b")
    (place / "bin/kubelet").unlink()
    assert refusals(Sender(str(place)).listed)[0].startswith(f"{place}/bin/kubelet: bundle.json lists it, and it is not there.")
    archive = Sender(str(archived(place, ".")))
    with pytest.raises(ManyUnusable, match=r"bin/kubelet: bundle\.json lists it"), archive.files(("bin/kubelet",), str(tmp_path)):
        pass
    (place / "bundle.json").write_text("{")
    assert "it is not JSON" in refusals(Sender(str(place)).listed)[0]
    (place / "bundle.json").unlink()
    assert refusals(Sender(str(place)).listed)[0].startswith(f"{place}: it holds no bundle.json.")
    (tmp_path / "text.tar").write_text("no archive")
    assert "it cannot be read as a bundle" in refusals(Sender(str(tmp_path / "text.tar")).listed)[0]
    assert "there is no such file or directory" in refusals(Sender, str(tmp_path / "nowhere"))[0]


def test_no_room_on_the_host(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * 3_000_000)
    df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100000 99000 {free} 99% /\n"
    assert "need 2 MiB there, and 0 MiB are free" in refusals(room_for, {"a": str(large)}, "/tmp/x", df.format(free=1000))[0]
    room_for({"a": str(large)}, "/tmp/x", df.format(free=4000))
    room_for({"a": str(large)}, "/tmp/x", "df: not found")


def test_which_modules_take_a_bundle() -> None:
    assert is_taken("node_packages", {"bundle": "/b"})
    assert not is_taken("node_packages", {})
    assert not is_taken("offline_bundle", {"bundle": "/b"})
    assert lacked({"lacking": ["a"], "lacking_images": ["b"]}) == ("a", "b")
    assert lacked({}) == ()
