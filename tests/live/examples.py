# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An example inventory on nodes of the lab: its own files with other addresses, and the commands of the documentation."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from live.node import ROOT, Node, attach, lab
from tools.documentation.markdown import commands

_HOST = re.compile(r"^(?P<name>[\w-]+) +ansible_host=(?P<address>[\d.]+)", re.MULTILINE)
_RECAP = re.compile(r"^(?P<host>\S+) +: ok=\d+ +changed=(?P<changed>\d+) +unreachable=0 +failed=0 ", re.MULTILINE)
# Page: the example in whose copy its commands are run. The unit test of commands counts them as run because they are here.
FOLLOWED = {
    "docs/getting-started.md": "one-plus-two",
    "examples/README.md": "single-node",
    "examples/air-gap/README.md": "air-gap",
}
# Programs of the documentation that are run; what installs the collection is tried elsewhere.
RUN = ("ansible-playbook", "kubectl")


@dataclass(frozen=True)
class Staged:
    """A copy of an example that fits the nodes of an instance."""

    place: Path
    first: Node
    variables: Path
    given: dict[str, str]

    def follow(self, page: str) -> list[str]:
        """Run the commands of a page in their order, each to its end, and give what each of them printed."""
        return [self.run(list(command.words)) for command in commands(ROOT / page) if _program(command.words) in RUN]

    def run(self, words: list[str]) -> str:
        """Run one command as it is written, with what the lab needs added."""
        settings = dict(word.split("=", 1) for word in words[: words.index(_program(words))])
        words = [self._fitting(word) for word in words[len(settings) :]]
        if words[0] == "ansible-playbook":
            words += ["-e", f"@{self.variables}"]
        done = subprocess.run(words, cwd=self.place, env=self._environment(settings), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
        return done.stdout

    def _fitting(self, word: str) -> str:
        for documented, real in self.given.items():
            word = word.replace(documented, real)
        return word

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "collections"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{os.environ['PATH']}:{self.place / 'bin'}",
            **settings,
        }


def changes(printed: str) -> dict[str, int]:
    """Read from the recap what changed on each host that came through."""
    return {found["host"]: int(found["changed"]) for found in _RECAP.finditer(printed)}


def stage(name: str, instance: str, target: Path, without: Iterable[str] = ()) -> Staged:
    """Make the nodes that an example wants, bare ones, and a copy of it with their addresses."""
    place = target / name
    shutil.copytree(ROOT / "examples" / name, place)
    wanted = _wanted(place)
    size = ("--control-planes", str(len(wanted["control_plane"])), "--workers", str(len(wanted["workers"])))
    inventory = Path(lab("up", "--bare", "--instance", instance, *size).splitlines()[-1])
    content = yaml.safe_load(inventory.read_text())["all"]
    addresses = {
        documented: host["ansible_host"]
        for group, members in wanted.items()
        for documented, host in zip(members, content["children"][group]["hosts"].values())
    }
    for path in (path for path in place.rglob("*") if path.is_file()):
        path.write_text(re.sub(r"192\.0\.2\.\d+", lambda found: addresses.get(found[0], found[0]), path.read_text()))
    manifests = inventory.parent / "manifests"
    shutil.copy(manifests / "flannel.yaml", place / "network.yaml")
    variables = {name: value for name, value in content["vars"].items() if name not in without}
    variables.update(_fitting_containers(manifests / "kubeadm.yaml"))
    (place / "lab.json").write_text(json.dumps(variables))
    bundle = content["vars"]["kubephase_bundle"]
    (place / "bin").symlink_to(Path(bundle, "bin"))
    return Staged(place, attach(inventory), place / "lab.json", {"/srv/bundle.tar": bundle})


def _program(words: Iterable[str]) -> str:
    return next(word for word in words if "=" not in word)


def _wanted(place: Path) -> dict[str, list[str]]:
    """Give the documented addresses of each group."""
    text = (place / "inventory.ini").read_text()
    sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.DOTALL | re.MULTILINE))
    return {group: [found["address"] for found in _HOST.finditer(sections[group])] for group in ("control_plane", "workers")}


def _fitting_containers(documents: Path) -> dict[str, Any]:
    """Give what nodes that are containers need besides the documents of an example."""
    kinds = {document["kind"]: document for document in yaml.safe_load_all(documents.read_text())}
    ignored = {"nodeRegistration": {"ignorePreflightErrors": kinds["InitConfiguration"]["nodeRegistration"]["ignorePreflightErrors"]}}
    return {
        "kubephase_init_configuration": ignored,
        "kubephase_join_configuration": ignored,
        "kubephase_kubelet_configuration": _fields(kinds["KubeletConfiguration"]),
        "kubephase_kube_proxy_configuration": _fields(kinds["KubeProxyConfiguration"]),
    }


def _fields(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
