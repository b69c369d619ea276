# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Somebody in the lab's network who answers like the cluster, with an authority of their own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_interface
from pathlib import Path

from live.node import Node
from unit.discovery.clusters import Authority, jws, kubeconfig


def doorstep(node: Node) -> str:
    """The machine's own address in the network of the nodes."""
    return str(ip_interface(f"{node.address}/24").network[1])


@contextmanager
def impostor(node: Node, place: Path, token: str, said: bytes | None = None) -> Iterator[str]:
    """Serve cluster-info until the end of the block, and give the endpoint.

    Without an answer of its own it is one that knows the token, and signs its own kubeconfig with it.
    """
    address = doorstep(node)
    authority = Authority(place, "impostor", address)
    identifier, _, secret = token.partition(".")

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = kubeconfig(authority.pem, f"https://{address}:{self.server.server_port}")  # type: ignore[attr-defined]
            signed = {"kubeconfig": text, f"jws-kubeconfig-{identifier}": jws(text, identifier, secret)}
            body = said or json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": signed}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((address, 0), Answer)
    server.socket = authority.context().wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{address}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
