# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of an instance: what up made, so that status, inventory and down need not guess."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path

from lab.cache import Store
from lab.layout import CONTROL_PLANE, WORKER, Node


@dataclass(frozen=True)
class Instance:
    """One lab: its release, its subnet and its nodes."""

    name: str
    release: str
    subnet: str
    nodes: tuple[Node, ...]
    # Without anything that makes a machine a node.
    bare: bool = False

    @property
    def network(self) -> IPv4Network:
        """Give the subnet as a network."""
        return IPv4Network(self.subnet)

    def count(self, role: str) -> int:
        """Count the nodes of a role."""
        return sum(node.role == role for node in self.nodes)

    @property
    def counts(self) -> tuple[int, int]:
        """Count control planes and workers."""
        return self.count(CONTROL_PLANE), self.count(WORKER)


def directory(store: Store, name: str) -> Path:
    """Say where an instance keeps everything that is its own."""
    return store.root / "instances" / name


def load(store: Store, name: str) -> Instance | None:
    """Read the record, if there is one."""
    record = directory(store, name) / "instance.json"
    if not record.is_file():
        return None
    found = json.loads(record.read_text())
    nodes = tuple(Node(**node) for node in found["nodes"])
    return Instance(found["name"], found["release"], found["subnet"], nodes, found.get("bare", False))


def save(store: Store, instance: Instance) -> None:
    """Write the record whole or not at all."""
    place = directory(store, instance.name)
    place.mkdir(parents=True, exist_ok=True)
    write_whole(place / "instance.json", json.dumps(asdict(instance), indent=2) + "\n")


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file in one step."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.chmod(mode)
    partial.rename(path)


def recorded(store: Store) -> list[Instance]:
    """List every instance that this cache knows."""
    names = sorted(path.parent.name for path in (store.root / "instances").glob("*/instance.json"))
    return [found for found in (load(store, name) for name in names) if found is not None]
