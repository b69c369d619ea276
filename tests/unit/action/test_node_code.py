# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The code that a host keeps: what is in it, and how the script on the host finds, lays and trusts it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._runner import standby
from ansible_collections.kubephase.cluster.plugins.plugin_utils import node_code

SCRIPT = Path(__file__).resolve().parents[3] / "plugins" / "modules" / "with_kept_code.py"
HOME = "KUBEPHASE_HOME_OF_CODE"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps code")


@pytest.fixture(scope="module")
def archive() -> str:
    return node_code.archive()


@pytest.fixture(name="home")
def home_of_code() -> Iterator[Path]:
    """A place whose name is short enough for a socket; who stands by there would outlive the test."""
    place = Path(tempfile.mkdtemp())
    yield place / "home"
    for process in started_with(place):
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(place)


def started_with(place: Path) -> set[int]:
    """The processes of calls with code below a place, loading or ready."""
    found = set()
    for surroundings in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{HOME}={place}".encode() in surroundings.read_bytes():
                found.add(int(surroundings.parts[2]))
        except OSError:
            continue
    return found


def standing_by(place: Path) -> set[int]:
    """The processes that serve a socket below a place, by the table of the kernel."""
    sockets = {
        line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines() if str(place) in line and line.split()[5] == "01"
    }
    found = set()
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if target[len("socket:[") : -1] in sockets:
            found.add(int(descriptor.parts[2]))
    return found


def ready(home: Path) -> int:
    """Wait until one stands by where callers look, and tell which process that is."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = standing_by(home)
        # He listens before he takes the place, under a name of his own.
        if found and [each.name for each in home.glob("*/standby*")] == ["standby"]:
            assert len(found) == 1
            return found.pop()
        time.sleep(0.05)
    raise AssertionError("nobody stands by")


def begun(home: Path, arguments: dict[str, Any], kept: tuple[int, ...] = (), **surroundings: str) -> subprocess.Popen[bytes]:
    """Start the script as Ansible does: arguments filled in, on standard input of the interpreter."""
    places = {'"/run/kubephase"': repr(str(home)), "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>": json.dumps(arguments)}
    filled = SCRIPT.read_text()
    for place, content in places.items():
        filled = filled.replace(place, content)
    environment = {**os.environ, **surroundings, HOME: str(home)}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = subprocess.Popen([sys.executable, "-I"], cwd="/", env=environment, pass_fds=kept, **streams)
    assert started.stdin is not None
    started.stdin.write(filled.encode())
    started.stdin.close()
    started.stdin = None
    return started


def call(home: Path, arguments: dict[str, Any], kept: tuple[int, ...] = (), **surroundings: str) -> dict[str, Any]:
    """Run the script and give its answer."""
    said, complained = begun(home, arguments, kept, **surroundings).communicate()
    assert said, complained.decode()
    answer: dict[str, Any] = json.loads(said)
    return answer


def wanted(**more: Any) -> dict[str, Any]:
    return {"module": "pki_cert", "digest": "d" * 64, "stays": True, **more}


def test_it_has_what_a_module_needs_and_no_more(archive: str) -> None:
    names = list(unpacked(archive))
    own = "ansible_collections/kubephase/cluster/plugins"
    assert {f"{own}/modules/pki_cert.py", f"{own}/module_utils/_runner/module.py", "ansible/module_utils/basic.py"} <= set(names)
    assert not [name for name in names if "plugin_utils" in name or "/facts/" in name or "__pycache__" in name or not name.endswith(".py")]
    assert unpacked(archive) == {name: content.decode() for name, content in node_code._files().items()}


def test_its_name_is_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first = node_code.digest()
    assert node_code.digest() == first
    other = {**node_code._files(), "ansible/__init__.py": b"# another release"}
    monkeypatch.setattr(node_code, "_files", lambda: other)
    assert node_code.digest() != first


def test_without_code_it_says_so(home: Path) -> None:
    assert call(home, {"kept_code": wanted()}) == {"changed": False, "kept_code_missing": True}
    assert not home.exists()


@AS_ROOT
def test_code_is_laid_once_and_found_again(home: Path, archive: str) -> None:
    first = call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    assert first["failed"] and "Unsupported parameters for (kubephase.cluster.pki_cert) module: nonsense" in first["msg"]
    assert oct(home.stat().st_mode & 0o777) == "0o700"
    assert [each.name for each in home.iterdir()] == ["d" * 64]
    laid = home / ("d" * 64)
    assert {name: (laid / name).read_bytes() for name in node_code._files()} == node_code._files()
    assert "nonsense" in call(home, {"kept_code": wanted(), "nonsense": 1})["msg"]


@AS_ROOT
@pytest.mark.parametrize("open_place", ["home", "code"])
def test_code_that_others_could_have_written_is_not_run(home: Path, archive: str, open_place: str) -> None:
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    (home if open_place == "home" else home / ("d" * 64)).chmod(0o777)
    assert call(home, {"kept_code": wanted(), "nonsense": 1}).get("kept_code_missing")


@AS_ROOT
def test_what_older_versions_left_is_swept(home: Path, archive: str) -> None:
    home.mkdir(mode=0o700)
    for name, age in (("old", 7200), ("fresh", 60)):
        (home / name).mkdir()
        moment = home.stat().st_mtime - age
        os.utime(home / name, (moment, moment))
    call(home, {"kept_code": wanted(archive=archive)})
    assert {each.name for each in home.iterdir()} == {"fresh", "d" * 64}


@AS_ROOT
def test_a_fault_in_the_code_is_a_failure_and_not_silence(home: Path) -> None:
    runner = ["ansible_collections", "kubephase", "cluster", "plugins", "module_utils", "_runner"]
    packages = ("ansible", "ansible/module_utils", *("/".join(runner[:depth]) for depth in range(1, len(runner) + 1)))
    files = {f"{package}/__init__.py": "" for package in packages}
    files["ansible/module_utils/basic.py"] = "raise ValueError('broken')"
    files["/".join([*runner, "standby.py"])] = Path(standby.__file__).read_text()
    answer = call(home, {"kept_code": wanted(archive=packed(files))})
    assert (answer["failed"], answer["msg"]) == (True, "ValueError: broken")


@AS_ROOT
def test_a_call_leaves_somebody_who_stands_by(home: Path, archive: str) -> None:
    """He is root's, serves many, runs each call with the caller's surroundings, and keeps nothing of it."""
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    process = ready(home)
    assert {each.name for each in (home / ("d" * 64)).iterdir()} == {"ansible", "ansible_collections", "standby"}
    assert "nonsense" in call(home, {"kept_code": wanted(), "nonsense": 1})["msg"]
    # What he has loaded is what runs: only a call that loads for itself sees another text.
    written(home, "import json, os\ndef main():\n    print(json.dumps({'loaded': 'anew', 'saw': os.environ.get('SOMETHING', '')}))\n")
    assert "other" in call(home, {"kept_code": wanted(), "other": 1})["msg"]
    assert "nonsense" not in call(home, {"kept_code": wanted(), "other": 1})["msg"]
    assert ready(home) == process
    os.kill(process, signal.SIGKILL)
    assert call(home, {"kept_code": wanted()}, SOMETHING="here") == {"loaded": "anew", "saw": "here"}
    # The place of who was killed is taken over.
    assert ready(home) != process
    written(home, "def main():\n    print('{}')\n")
    assert call(home, {"kept_code": wanted()}, SOMETHING="there") == {"loaded": "anew", "saw": "there"}


@AS_ROOT
def test_he_has_loaded_what_the_host_needs_by_what_it_becomes(home: Path, archive: str) -> None:
    call(home, {"kept_code": wanted(archive=archive, stays=False), "nonsense": 1})
    written(home, "import json\nLOADED = []\nload = LOADED.append\ndef main():\n    print(json.dumps({'loaded': LOADED}))\n")
    assert call(home, {"kept_code": wanted(stays=False), "becomes": "worker"}) == {"loaded": []}
    assert call(home, {"kept_code": wanted(), "becomes": "worker"}) == {"loaded": ["worker"]}
    ready(home)
    assert call(home, {"kept_code": wanted(), "becomes": "init"}) == {"loaded": ["worker"]}


@AS_ROOT
def test_he_holds_nothing_of_the_connection_that_brought_him(home: Path, archive: str) -> None:
    reader, writer = os.pipe()
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1}, kept=(writer,))
    process = Path(f"/proc/{ready(home)}")
    os.close(writer)
    # Were he to hold the other end, this would wait for him.
    assert os.read(reader, 1) == b""
    os.close(reader)
    held = {each.name: os.readlink(each) for each in (process / "fd").iterdir()}
    assert {held.pop(stream) for stream in "012"} == {"/dev/null"}
    assert [target.partition(":")[0] for target in held.values()] == ["socket"]
    assert os.readlink(process / "cwd") == "/"
    assert os.getsid(int(process.name)) != os.getsid(0)


@AS_ROOT
def test_a_call_with_a_secret_leaves_nobody(home: Path, archive: str) -> None:
    for code in (wanted(archive=archive, stays=False), wanted(stays=False)):
        call(home, {"kept_code": code, "nonsense": 1})
        assert not started_with(home)


@AS_ROOT
def test_a_secret_is_with_the_fork_of_its_call_only(home: Path, archive: str) -> None:
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    process = ready(home)
    # The word is put together here, so that this process alone knows it.
    secret = "-".join(("planted", "in", "one", "call"))
    text = f"import json, os\ndef main():\n    print(json.dumps({{'parent': os.getppid(), 'told': {len(secret)}}}))\n"
    (home / ("d" * 64) / "ansible_collections/kubephase/cluster/plugins/modules/planted.py").write_text(text)
    answer = call(home, {"kept_code": wanted(module="planted", stays=False), "token": secret})
    assert answer == {"parent": process, "told": len(secret)}
    alone(process, home)
    assert secret.encode() not in memory(process)
    # What he does hold would have been seen.
    assert b"kubephase.cluster" in memory(process)


@AS_ROOT
def test_who_lacks_a_library_makes_way_when_it_has_come(home: Path, archive: str) -> None:
    code = archive_with(archive, "standby.py", '_LIBRARIES = ("yaml", "cryptography")', '_LIBRARIES = ("json", "arriving")')
    call(home, {"kept_code": wanted(archive=code), "nonsense": 1})
    process = ready(home)
    call(home, {"kept_code": wanted(), "nonsense": 1})
    assert ready(home) == process
    (home / ("d" * 64) / "arriving.py").write_text("")
    written(home, "import json\ndef main():\n    print(json.dumps({'loaded': 'anew'}))\n")
    assert call(home, {"kept_code": wanted()}) == {"loaded": "anew"}
    gone(process)
    other = ready(home)
    assert call(home, {"kept_code": wanted()}) == {"loaded": "anew"}
    assert ready(home) == other


@AS_ROOT
def test_of_two_who_start_at_once_one_stays(home: Path, archive: str) -> None:
    """Both have found nobody; the slower one leaves the place of the other alone, and goes."""
    call(home, {"kept_code": wanted(archive=archive, stays=False), "nonsense": 1})
    text = "import time\ntime.sleep(1)\ndef main():\n    print('{}')\n"
    written(home, text)
    started = [begun(home, {"kept_code": wanted()}) for _each in range(3)]
    assert [each.communicate()[0] for each in started] == [b"{}\n"] * 3
    alone(ready(home), home)
    assert [each.name for each in (home / ("d" * 64)).glob("standby*")] == ["standby"]
    assert call(home, {"kept_code": wanted()}) == {}


@AS_ROOT
def test_who_was_killed_in_the_middle_of_a_call_is_not_asked_twice(home: Path, tmp_path: Path, archive: str) -> None:
    """A call that was taken may have written; to run it once more behind the caller's back would be a second call."""
    marks = tmp_path / "marks"
    call(home, {"kept_code": wanted(archive=archive), "nonsense": 1})
    os.kill(ready(home), signal.SIGKILL)
    written(home, f"import os\ndef main():\n    open({str(marks)!r}, 'a').write('x')\n    os.kill(os.getpid(), 9)\n")
    for _time in range(2):
        with pytest.raises(AssertionError):
            call(home, {"kept_code": wanted()})
        ready(home)
    assert marks.read_text() == "xx"


@AS_ROOT
def test_what_changes_the_libraries_is_run_apart(home: Path, archive: str) -> None:
    call(home, {"kept_code": wanted(archive=archive, module="node_packages"), "nonsense": 1})
    assert not started_with(home)
    call(home, {"kept_code": wanted(), "nonsense": 1})
    ready(home)
    call(home, {"kept_code": wanted(module="node_packages"), "nonsense": 1})
    assert not (home / ("d" * 64) / "standby").exists()


@AS_ROOT
def test_who_is_not_called_goes_away(home: Path, archive: str) -> None:
    call(home, {"kept_code": wanted(archive=impatient(archive)), "nonsense": 1})
    process = ready(home)
    (home / "idle").touch()
    gone(process)
    assert not (home / ("d" * 64) / "standby").exists()


@AS_ROOT
def test_who_goes_away_leaves_the_place_of_another(home: Path, archive: str) -> None:
    call(home, {"kept_code": wanted(archive=impatient(archive)), "nonsense": 1})
    process, socket_of_another = ready(home), home / ("d" * 64) / "standby"
    socket_of_another.unlink()
    socket_of_another.touch()
    (home / "idle").touch()
    gone(process)
    assert socket_of_another.exists()


def impatient(archive: str) -> str:
    """Code with which he who stands by goes away soon, counted from when a test says so: it may be slow to find him."""
    soon = archive_with(archive, "standby.py", "IDLE_SECONDS = 60.0", "IDLE_SECONDS = 0.1")
    placed = "    mine = _placed(listener, path)\n"
    told = "    while not os.path.exists(os.path.dirname(path) + '/../idle'):\n        select.select([], [], [], 0.05)\n"
    return archive_with(soon, "standby.py", placed, placed + told)


def alone(process: int, home: Path) -> None:
    """Wait until of all who were started only one is left: a fork ends after its answer."""
    deadline = time.monotonic() + 30
    while started_with(home) != {process}:
        assert time.monotonic() < deadline, started_with(home)
        time.sleep(0.05)


def gone(process: int) -> None:
    """Wait until a process has ended."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def memory(process: int) -> bytes:
    """All that a process can write to, and so all that it may have kept."""
    found = b""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as source:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(each, 16) for each in span.split("-"))
                source.seek(start)
                found += source.read(end - start)
    return found


def written(home: Path, text: str) -> None:
    """Give the module that is called another text."""
    (home / ("d" * 64) / "ansible_collections/kubephase/cluster/plugins/modules/pki_cert.py").write_text(text)


def archive_with(archive: str, name: str, before: str, after: str) -> str:
    """The code with one line of a file of the runner exchanged."""
    files = unpacked(archive)
    place = next(each for each in files if each.endswith(f"_runner/{name}"))
    assert before in files[place]
    files[place] = files[place].replace(before, after)
    return packed(files)


def unpacked(archive: str) -> dict[str, str]:
    files: dict[str, str] = json.loads(zlib.decompress(base64.b64decode(archive)))
    return files


def packed(files: dict[str, str]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(files).encode())).decode()
