# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys and names that a node is given from outside, so that ssh can trust it before the first connection."""

from __future__ import annotations

from pathlib import Path

from lab.cache import Store
from lab.command import run
from lab.instance import Instance, directory, write_whole
from lab.layout import Node, gateway


def client_key(store: Store, instance: str) -> Path:
    """Say where the private key is that opens every node of an instance."""
    return directory(store, instance) / "ssh" / "id_ed25519"


def known_hosts(store: Store, instance: str) -> Path:
    """Say where the nodes' host keys are pinned."""
    return directory(store, instance) / "ssh" / "known_hosts"


def node_directory(store: Store, instance: str, node: Node) -> Path:
    """Say where one node keeps its volumes."""
    return directory(store, instance) / "nodes" / node.name


def handed_in(store: Store, instance: str, node: Node) -> Path:
    """Say which directory a node sees as /etc/lab."""
    return node_directory(store, instance, node) / "lab"


def write(store: Store, instance: Instance) -> None:
    """Make missing keys, and tell every node about itself and its neighbours."""
    key = _ensure_key(client_key(store, instance.name))
    pinned: list[str] = []
    for node in instance.nodes:
        place = handed_in(store, instance.name, node)
        host_key = _ensure_key(place / "ssh_host_ed25519_key")
        pinned.append(f"{node.address} {_public(host_key)}")
        write_whole(place / "authorized_keys", _public(key) + "\n", 0o600)
        write_whole(place / "node.env", f"GATEWAY={gateway(instance.network)}\n")
        write_whole(place / "hosts", hosts_file(instance))
    write_whole(known_hosts(store, instance.name), "\n".join(pinned) + "\n")


def hosts_file(instance: Instance) -> str:
    """Spell /etc/hosts of every node."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    return "\n".join([*lines, *(f"{node.address} {node.name}" for node in instance.nodes)]) + "\n"


def _ensure_key(path: Path) -> Path:
    if not path.with_suffix(".pub").is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kubephase-lab", "-f", str(path)])
    return path


def _public(path: Path) -> str:
    kind, key = path.with_suffix(".pub").read_text().split()[:2]
    return f"{kind} {key}"


def ssh_options(store: Store, instance: str) -> list[str]:
    """Spell ssh options that trust the pinned host keys and nothing else of the machine."""
    return [
        "-F", "none",
        "-o", f"UserKnownHostsFile={known_hosts(store, instance)}",
        "-o", "GlobalKnownHostsFile=none",
        "-o", "StrictHostKeyChecking=yes",
        "-o", "IdentitiesOnly=yes",
        "-o", "LogLevel=ERROR",
    ]  # fmt: skip
