# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who listens on which TCP port of the host, from /proc alone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Listener, Process

_LISTEN = "0A"
# Looked at first, because on a node they are who is asked for.
_USUAL = ("kubelet", "etcd", "kube-apiserver", "kube-controller", "kube-scheduler")


def listeners(ports: Iterable[int], root: str = "") -> tuple[Listener, ...]:
    """List who listens on these ports; processes are searched only when a port is taken."""
    wanted = set(ports)
    taken = [entry for table in ("tcp", "tcp6") for entry in _sockets(f"{root}/proc/net/{table}") if entry[0] in wanted]
    owners = _owners({inode for _port, _address, inode in taken}, root) if taken else {}
    return tuple(Listener(port, address, owners.get(inode)) for port, address, inode in sorted(set(taken)))


def _sockets(path: str) -> Iterator[tuple[int, str, str]]:
    try:
        with open(path, encoding="ascii") as table:
            next(table, "")
            for line in table:
                fields = line.split()
                if len(fields) > 9 and fields[3] == _LISTEN:
                    address, _colon, port = fields[1].partition(":")
                    yield int(port, 16), _address(address), fields[9]
    except OSError:
        return  # a kernel without IPv6 has no tcp6


def _address(text: str) -> str:
    """The kernel prints an address as 32-bit words in the byte order of the machine."""
    words = bytes.fromhex(text)
    plain = b"".join(int.from_bytes(words[at : at + 4], "big").to_bytes(4, sys.byteorder) for at in range(0, len(words), 4))
    return socket.inet_ntop(socket.AF_INET if len(plain) == 4 else socket.AF_INET6, plain)


def _owners(inodes: set[str], root: str) -> dict[str, Process]:
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[str, Process] = {}
    for pid in _processes(root):
        for link in _descriptors(f"{root}/proc/{pid}/fd"):
            inode = links.get(link)
            if inode is not None and inode not in found:
                found[inode] = _process(pid, root)
        if len(found) == len(links):
            break
    return found


def _processes(root: str) -> list[str]:
    pids = [name for name in os.listdir(f"{root}/proc") if name.isdigit()]
    return sorted(pids, key=lambda pid: (not _read(f"{root}/proc/{pid}/comm").decode(errors="replace").startswith(_USUAL), int(pid)))


def _descriptors(directory: str) -> Iterator[str]:
    try:
        names = os.listdir(directory)
    except OSError:
        return  # it ended meanwhile
    for name in names:
        with suppress(OSError):
            yield os.readlink(os.path.join(directory, name))


def _process(pid: str, root: str) -> Process:
    arguments = tuple(part.decode(errors="replace") for part in _read(f"{root}/proc/{pid}/cmdline").split(b"\0") if part)
    try:
        program = os.path.basename(os.readlink(f"{root}/proc/{pid}/exe"))
    except OSError:
        program = _read(f"{root}/proc/{pid}/comm").decode(errors="replace").strip()
    # A binary that was replaced by an upgrade still runs under its old name.
    return Process(int(pid), program.replace(" (deleted)", ""), arguments)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return b""
