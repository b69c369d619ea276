# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several nodes of the lab: made, spoken to, and played on in parts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from live.node import KUBECTL, Node, lab, remove
from live.playbook import Playbook


@dataclass(frozen=True)
class Fleet:
    """The nodes of an instance, by the last part of their names."""

    nodes: dict[str, Node]

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def part(self, *names: str) -> Path:
        """Write an inventory that holds only some of the nodes, beside the one that holds all."""
        whole = next(iter(self.nodes.values())).inventory
        content = yaml.safe_load(whole.read_text())
        kept = {self.nodes[name].name for name in names}
        for group in content["all"]["children"].values():
            group["hosts"] = {name: host for name, host in group["hosts"].items() if name in kept}
        target = whole.with_name(f"inventory-{'-'.join(names)}.yml")
        target.write_text(yaml.safe_dump(content))
        return target

    def until_ready(self) -> None:
        """Wait until each of them is a Node that is Ready; one that has just joined may have yet to register."""
        names = " ".join(node.name for node in self.nodes.values())
        self["cp1"].until(f"{KUBECTL} wait --for=condition=Ready node {names} --timeout=9s", 180)

    def site(self, *names: str) -> Playbook:
        """Give the site playbook for some of the nodes, with the documents of the lab, whose nodes are prepared."""
        return Playbook(self.nodes["cp1"], name="site", inventory=self.part(*names)).using(kubephase_prepare=False)


def virgin_fleet(instance: str, control_planes: int, workers: int, release: str = "") -> Fleet:
    """Make an instance of several nodes, of the lab's usual release unless another is named; what an earlier run left goes first."""
    remove(instance)
    size = ("--control-planes", str(control_planes), "--workers", str(workers))
    of = ("--release", release) if release else ()
    return attach_all(Path(lab("up", "--instance", instance, *size, *of).splitlines()[-1]))


def bare_fleet(instance: str, control_planes: int, workers: int) -> Fleet:
    """Make an instance of several machines that are to become nodes; the images are there, though no runtime."""
    remove(instance)
    size = ("--control-planes", str(control_planes), "--workers", str(workers))
    return attach_all(Path(lab("up", "--bare", "--images", "--instance", instance, *size).splitlines()[-1]))


def attach_all(inventory: Path) -> Fleet:
    """Speak to every node of an inventory."""
    content: dict[str, Any] = yaml.safe_load(inventory.read_text())["all"]
    settings = content["vars"]
    instance = settings["lab_instance"]
    ssh = (
        *("-i", settings["ansible_ssh_private_key_file"]),
        *shlex.split(settings["ansible_ssh_common_args"]),
        *("-o", "ControlMaster=auto", "-o", f"ControlPath=/tmp/.{instance}-%C", "-o", "ControlPersist=60"),
    )
    first = Node(instance, "", "", ssh, inventory)
    return Fleet(
        {
            name.removeprefix(f"{instance}-"): replace(first, name=name, address=host["ansible_host"])
            for group in content["children"].values()
            for name, host in group["hosts"].items()
        }
    )
