# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every command of the documentation is run by some test, or at least read by the program that it is for."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from ansible.cli.adhoc import AdHocCLI
from ansible.cli.doc import DocCLI
from ansible.cli.galaxy import GalaxyCLI
from ansible.cli.playbook import PlaybookCLI
from live.examples import FOLLOWED, RUN
from tools.documentation import variables
from tools.documentation.markdown import ROOT, Command, commands, pages

from lab.cli import parser as lab_parser

_PLUGIN = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {app: plugin}}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      containers: [{name: plugin, image: "registry.example.test/plugin:1"}]
"""
_SETTING = re.compile(r"[A-Z_]+=.*")
_TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
_PLAYBOOKS = {f"kubephase.cluster.{path.stem}" for path in (ROOT / "playbooks").glob("*.yml")}
_MODULES = {f"kubephase.cluster.{path.stem}" for path in (ROOT / "plugins/modules").glob("*.py")}


def parsed(cli: type, words: list[str]) -> object:
    """Let the program's own parser read its options."""
    program = cli(words)
    program.init_parser()
    return program.parser.parse_args(words[1:])


def _make(command: Command, words: list[str]) -> str:
    targets = [word for word in words[1:] if "=" not in word]
    return "" if set(targets) <= _TARGETS else f"the Makefile has not all of {targets}"


def _playbook(command: Command, words: list[str]) -> str:
    """Playbooks of the collection are syntax-checked with every example; those of an example with it."""
    options = parsed(PlaybookCLI, words)
    strange = [name for name in options.args if name not in _PLAYBOOKS and not (command.page.parent / name).is_file()]  # type: ignore[attr-defined]
    given = {name.partition("=")[0] for name in options.extra_vars if not name.startswith("@")}  # type: ignore[attr-defined]
    unknown = given - variables.documented()
    return f"there is no {strange} or {unknown}" if strange or unknown else ""


def _doc(command: Command, words: list[str]) -> str:
    names = parsed(DocCLI, words).args  # type: ignore[attr-defined]
    return "" if set(names) <= _MODULES | {f"{name}" for name in _callbacks()} else f"there is no {names}"


def _callbacks() -> set[str]:
    return {f"kubephase.cluster.{path.stem}" for path in (ROOT / "plugins/callback").glob("*.py")}


def _galaxy(command: Command, words: list[str]) -> str:
    """Installing is tried below, from a clone."""
    parsed(GalaxyCLI, words)
    source = f"git+{yaml.safe_load((ROOT / 'galaxy.yml').read_text())['repository']}.git"
    return "" if words == ["ansible-galaxy", "collection", "install", source] else "it does not install this collection"


def _ad_hoc(command: Command, words: list[str]) -> str:
    parsed(AdHocCLI, words)
    return ""


def _python(command: Command, words: list[str]) -> str:
    if words[1:3] == ["-m", "lab"]:
        lab_parser().parse_args(words[3:])
        return ""
    return "" if (ROOT / words[1]).is_file() else f"there is no {words[1]}"


def _pytest(command: Command, words: list[str]) -> str:
    return "" if (ROOT / words[1]).exists() else f"there is no {words[1]}"


def _live(command: Command, words: list[str]) -> str:
    """What speaks to a cluster is only worth something with a cluster."""
    return "" if str(command.page.relative_to(ROOT)) in FOLLOWED and words[0] in RUN else "no live test follows this page"


RULES: dict[str, Callable[[Command, list[str]], str]] = {
    "make": _make,
    "ansible-playbook": _playbook,
    "ansible-doc": _doc,
    "ansible-galaxy": _galaxy,
    "ansible": _ad_hoc,
    "python3": _python,
    "pytest": _pytest,
    "kubectl": _live,
}


def complaint(command: Command) -> str:
    """Say what is wrong with a command, if something is."""
    words = list(command.words)
    while words and _SETTING.fullmatch(words[0]):
        del words[0]
    rule = RULES.get(words[0])
    if rule is None:
        return f"no rule says how {words[0]} is tried"
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return rule(command, words)
    except SystemExit as end:
        return "" if end.code in (0, None) else said.getvalue()


EVERY = [command for page in pages() for command in commands(page)]


@pytest.mark.parametrize("command", EVERY, ids=str)
def test_the_program_takes_the_command(command: Command) -> None:
    assert complaint(command) == ""


@pytest.mark.parametrize(
    "line",
    [
        "make nothing-of-the-kind",
        "ansible-playbook kubephase.cluster.nothing",
        "ansible-playbook kubephase.cluster.site -e kubephase_nothing=1",
        "ansible-playbook kubephase.cluster.site --no-such-option",
        "ansible-doc kubephase.cluster.nothing",
        "ansible-galaxy collection install somebody.else",
        "python3 -m lab upward",
        "python3 tests/nothing.py",
        "pytest tests/unit/nothing",
        "kubectl get nodes",
        "curl example.test",
    ],
)
def test_a_command_that_would_not_work_is_seen(line: str) -> None:
    assert complaint(Command(ROOT / "README.md", 1, "", tuple(line.split()))) != ""


def test_blocks_are_read_as_a_shell_reads_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("1. So\n\n   ```sh\n   make demo  # all of it\n   a b \\\n     'c d'\n   ```\n\n```yaml\nx: 1\n```\n")
    assert [command.words for command in commands(page)] == [("make", "demo"), ("a", "b", "c d")]


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_live_test_follows_each_page_that_is_said_to_be(page: str) -> None:
    assert f'follow("{page}")' in (ROOT / "tests/live/test_live_examples.py").read_text()
    assert [command for command in commands(ROOT / page) if command.words[0] == "ansible-playbook"]


def test_the_quickstart_of_the_readme_is_what_is_run_live() -> None:
    followed = {command.words for page in FOLLOWED for command in commands(ROOT / page)}
    quick = [command for command in commands(ROOT / "README.md") if command.section == "To a cluster"]
    ours = [command for command in quick if command.words[0] in RUN]
    assert ours
    assert [str(command) for command in ours if command.words not in followed] == []


LISTING = [command for command in EVERY if "kubephase.cluster.bundle" in command.words and "kubephase_bundle=" not in str(command)]


@pytest.mark.parametrize("command", LISTING, ids=str)
def test_what_only_lists_is_run(command: Command, tmp_path: Path) -> None:
    """As the page has it, in a directory with the files that it names."""
    shutil.copy(ROOT / "examples/one-plus-two/kubeadm.yaml", tmp_path)
    (tmp_path / "flannel.yaml").write_text(_PLUGIN)
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
    }
    done = subprocess.run(command.words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "registry.k8s.io/kube-apiserver:v1.37.1" in done.stdout
    assert "registry.example.test/plugin:1" in done.stdout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone")
def test_a_clone_can_be_installed(tmp_path: Path) -> None:
    """The same command with a repository that needs no network, where no ansible.cfg names another place."""
    (tmp_path / "ansible.cfg").touch()
    words = ["ansible-galaxy", "collection", "install", f"git+file://{ROOT}", "--offline", "-p", str(tmp_path)]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "ansible_collections/kubephase/cluster/playbooks/site.yml").is_file()
