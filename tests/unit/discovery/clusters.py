# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters on loopback that a host may come upon: real TLS servers that say what they are told, honest and hostile ones."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.discovery_client import DiscoveryClient
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.phase import DiscoveryPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

IDENTIFIER, SECRET = "abcdef", "s3cr3ts3cr3ts3cr"
TOKEN = f"{IDENTIFIER}.{SECRET}"
BOOTSTRAP = "etc/kubernetes/bootstrap-kubelet.conf"
ADVERTISED = "https://api.example.test:6443"

# Status, headers and body; a status of 0 sends the body as it is, without HTTP.
Reply = tuple[int, Mapping[str, str], bytes]
Behaviour = Callable[[int, str], Reply]


class Authority:
    """A certificate authority, and a server certificate of it for loopback."""

    def __init__(
        self, place: Path, name: str = "kubernetes", address: str = "127.0.0.1", algorithm: str = "ECDSA-P256", age: int = 5
    ) -> None:
        start = datetime.now(timezone.utc) - timedelta(minutes=age)
        later = start + timedelta(days=1)
        self.key = generate_key(algorithm)
        self.certificate = sign(Profile(name, later, start, authority=True), self.key.public_key(), None, self.key)
        leaf_key = generate_key("ECDSA-P256")
        self.leaf = sign(
            Profile("kube-apiserver", later, start, ip_addresses=(address,), server=True),
            leaf_key.public_key(),
            self.certificate,
            self.key,
        )
        self.file = place / f"{name}-{id(self)}.pem"
        self.file.write_bytes(self.leaf.public_bytes(Encoding.PEM) + private_pem(leaf_key))

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def pin(self) -> str:
        return pin_of(self.certificate)

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file)
        return context


def pin_of(certificate: x509.Certificate) -> str:
    """What kubeadm makes of a certificate, by another library's reading of it."""
    info = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "sha256:" + hashlib.sha256(info).hexdigest()


class Server:
    """A TLS server that answers each request as it is told; without a context it speaks no TLS."""

    def __init__(self, context: ssl.SSLContext | None, behaviour: Behaviour) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.connections = 0
        # Whether it says so over TLS when it has said all.
        self.polite = True
        self._context = context
        self._behaviour = behaviour
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.endpoint = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        # A listener that somebody waits on does not wake up by being closed.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = self._listener.accept()
                self.connections += 1
                self._open.append(connection.dup())
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), plain:
            connection = self._context.wrap_socket(plain, server_side=True) if self._context else plain
            with connection, connection.makefile("rb") as stream:
                target = stream.readline().decode(errors="replace").split(" ")[1] if self._context else ""
                headers = {}
                while self._context:
                    name, colon, value = stream.readline().decode().partition(":")
                    if not colon:
                        break
                    headers[name.lower()] = value.strip()
                self.requests.append((target, headers))
                self._send(connection, *self._behaviour(len(self.requests), target))
                if self.polite and isinstance(connection, ssl.SSLSocket):
                    connection.unwrap()
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    @staticmethod
    def _send(connection: socket.socket, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if status:
            lines = {"Content-Length": str(len(body)), **headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
            connection.sendall(f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode())
        connection.sendall(body)


def jws(text: str, identifier: str = IDENTIFIER, secret: str = SECRET, header: Mapping[str, Any] | None = None) -> str:
    """Sign as the controller manager does."""

    def plain(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    protected = plain(json.dumps(header or {"alg": "HS256", "kid": identifier}, separators=(",", ":")).encode())
    seal = hmac.new(secret.encode(), f"{protected}.{plain(text.encode())}".encode(), hashlib.sha256).digest()
    return f"{protected}..{plain(seal)}"


def kubeconfig(authority: bytes, server: str = ADVERTISED, **fields: Any) -> str:
    """What cluster-info holds; fields replace those of the cluster, None takes one away."""
    entry = {"certificate-authority-data": base64.b64encode(authority).decode(), "server": server, **fields}
    cluster = {name: value for name, value in entry.items() if value is not None}
    return yaml.safe_dump({"apiVersion": "v1", "clusters": [{"cluster": cluster, "name": ""}], "contexts": None, "kind": "Config"})


def cluster_info(text: str, **data: str) -> Reply:
    """The ConfigMap as an API server answers with it; without data it is signed with the token."""
    whole = {"kubeconfig": text, **(data or {f"jws-kubeconfig-{IDENTIFIER}": jws(text)})}
    return 200, {}, json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": whole}).encode()


def status(code: int, body: bytes = b"{}", **headers: str) -> Reply:
    return code, headers, body


@dataclass
class Joining:
    """A host that is to join, with files below a root."""

    root: Path
    version: str = "v1.37.1"
    becomes: str = "worker"
    seconds: str = "2s"
    discovery: Mapping[str, Any] = field(default_factory=dict)
    cluster: Mapping[str, Any] = field(default_factory=dict)

    def run(self, check: bool = False, phase: DiscoveryPhase | None = None, **options: Any) -> Outcome:
        world = World(files=Files(str(self.root)), discovery=DiscoveryClient(), host=Host())
        documents = {
            "ClusterConfiguration": {"kubernetesVersion": self.version, **self.cluster},
            "JoinConfiguration": {"discovery": dict(self.discovery), "timeouts": {"discovery": self.seconds}},
        }
        if self.becomes == "control_plane":
            documents["JoinConfiguration"]["controlPlane"] = {}
        return execute(phase or DiscoveryPhase(), world, documents, {"becomes": self.becomes, **options}, check)

    @property
    def written(self) -> Any:
        path = self.root / BOOTSTRAP
        return yaml.safe_load(path.read_text()) if path.exists() else None
