# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The code that a host keeps: what is in it, and how the script on the host finds, lays and trusts it."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils import node_code

SCRIPT = Path(__file__).resolve().parents[3] / "plugins" / "modules" / "with_kept_code.py"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps code")


@pytest.fixture(scope="module")
def archive() -> str:
    return node_code.archive()


def call(home: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run the script as Ansible does: arguments filled in, on standard input of the interpreter."""
    places = {'"/run/kubephase"': repr(str(home)), "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>": json.dumps(arguments)}
    filled = SCRIPT.read_text()
    for place, content in places.items():
        filled = filled.replace(place, content)
    done = subprocess.run([sys.executable, "-I"], input=filled.encode(), capture_output=True, check=False, cwd="/")
    assert done.stdout, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def wanted(**more: Any) -> dict[str, Any]:
    return {"module": "pki_cert", "digest": "d" * 64, **more}


def test_it_has_what_a_module_needs_and_no_more(archive: str) -> None:
    names = zipfile.ZipFile(io.BytesIO(base64.b64decode(archive))).namelist()
    own = "ansible_collections/kubephase/cluster/plugins"
    assert {f"{own}/modules/pki_cert.py", f"{own}/module_utils/_runner/module.py", "ansible/module_utils/basic.py"} <= set(names)
    assert not [name for name in names if "plugin_utils" in name or "/facts/" in name or "__pycache__" in name or not name.endswith(".py")]
    assert len(names) == len(set(names))


def test_its_name_is_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first = node_code.digest()
    assert node_code.digest() == first
    other = {**node_code._files(), "ansible/__init__.py": b"# another release"}
    monkeypatch.setattr(node_code, "_files", lambda: other)
    assert node_code.digest() != first


def test_without_code_it_says_so(tmp_path: Path) -> None:
    assert call(tmp_path / "home", {"kept_code": wanted()}) == {"changed": False, "kept_code_missing": True}
    assert not (tmp_path / "home").exists()


@AS_ROOT
def test_code_is_laid_once_and_found_again(tmp_path: Path, archive: str) -> None:
    home = tmp_path / "home"
    first = call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    assert first["failed"] and "Unsupported parameters for (kubephase.cluster.pki_cert) module: nonsense" in first["msg"]
    assert oct(home.stat().st_mode & 0o777) == "0o700"
    assert [each.name for each in home.iterdir()] == ["d" * 64]
    assert "nonsense" in call(home, {"kept_code": wanted(), "nonsense": 1})["msg"]


@AS_ROOT
@pytest.mark.parametrize("open_place", ["home", "code"])
def test_code_that_others_could_have_written_is_not_run(tmp_path: Path, archive: str, open_place: str) -> None:
    home = tmp_path / "home"
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    (home if open_place == "home" else home / ("d" * 64)).chmod(0o777)
    assert call(home, {"kept_code": wanted(), "nonsense": 1}).get("kept_code_missing")


@AS_ROOT
def test_what_older_versions_left_is_swept(tmp_path: Path, archive: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name, age in (("old", 7200), ("fresh", 60)):
        (home / name).mkdir()
        moment = home.stat().st_mtime - age
        os.utime(home / name, (moment, moment))
    call(home, {"kept_code": wanted(archive=archive)})
    assert {each.name for each in home.iterdir()} == {"fresh", "d" * 64}


@AS_ROOT
def test_a_fault_in_the_code_is_a_failure_and_not_silence(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for package in ("ansible", "ansible/module_utils"):
            target.writestr(f"{package}/__init__.py", "")
        target.writestr("ansible/module_utils/basic.py", "raise ValueError('broken')")
    answer = call(tmp_path / "home", {"kept_code": wanted(archive=base64.b64encode(packed.getvalue()).decode())})
    assert (answer["failed"], answer["msg"]) == (True, "ValueError: broken")
