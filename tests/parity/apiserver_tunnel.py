# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lets kubeadm find an API server where its documents say that it is, in a network of its own.

kubeadm asks the address that the node advertises, which must not be a loopback address; nothing else on the machine should
listen there. So it runs in a network namespace that has this address, and what it sends there goes through a socket file to
the server on the real loopback. Started as a program, this file is the inner end.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

Connect = Callable[[], socket.socket]


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, and tell the target so."""
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(65536)
            if not data:
                break
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def serve(listener: socket.socket, connect: Connect) -> None:
    """Join every connection that comes in with one of its own, until the listener is closed."""
    while True:
        try:
            near, _ = listener.accept()
            far = connect()
        except OSError:
            return
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def unix_socket(path: str) -> socket.socket:
    """A connection to the outer end."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


@contextlib.contextmanager
def outer_end(path: Path, port: int) -> Iterator[None]:
    """Lead the socket file to a port of the real loopback."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener, lambda: socket.create_connection(("127.0.0.1", port))), daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            path.unlink()


def command(path: Path, places: list[tuple[str, int]], words: list[str]) -> list[str]:
    """What to start so that words run in a network where these places lead to the server."""
    # A network of one's own wants root; anybody else gets it in a user namespace.
    prefix = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    named = ",".join(f"{address}:{port}" for address, port in places)
    return [*prefix, sys.executable, __file__, str(path), named, *words]


def main(path: str, named: str, *words: str) -> int:
    """Be the inner end while the words run."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for place in named.split(","):
        address, _, port = place.rpartition(":")
        if not address.startswith("127."):
            subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        listener = socket.create_server((address, int(port)))
        threading.Thread(target=serve, args=(listener, lambda: unix_socket(path)), daemon=True).start()
    return subprocess.run(list(words), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
