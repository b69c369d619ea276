# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster on loopback that a host joins: a real TLS server with a few objects, and a kubelet that asks it for a certificate."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from unit.kubelet.kubelet_cases import Services

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile

TOKEN = "abcdef.s3cr3ts3cr3ts3cr"
NODE = "cp1"
CONF = "etc/kubernetes/kubelet.conf"
BOOTSTRAP = "etc/kubernetes/bootstrap-kubelet.conf"
CA = "etc/kubernetes/pki/ca.crt"
PEM = "var/lib/kubelet/pki/kubelet-client-current.pem"
_RESOURCES = {
    "/api/v1": [{"name": "nodes", "kind": "Node"}, {"name": "configmaps", "kind": "ConfigMap", "namespaced": True}],
    "/apis/certificates.k8s.io/v1": [{"name": "certificatesigningrequests", "kind": "CertificateSigningRequest"}],
}
_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class Cluster:
    """Lets in whoever has the token or a certificate of its CA, and notes who asked for what."""

    def __init__(self, place: Path) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.requests: list[dict[str, Any]] = []
        self.forbidden: set[str] = set()
        self.asked: list[tuple[str, str, str]] = []
        self._validity = datetime.now(timezone.utc) + timedelta(days=1), datetime.now(timezone.utc) - timedelta(minutes=5)
        self._key = generate_key("ECDSA-P256")
        self._authority = sign(Profile("kubernetes", *self._validity, authority=True), self._key.public_key(), None, self._key)
        self.authority = self._authority.public_bytes(Encoding.PEM)
        place.mkdir(parents=True, exist_ok=True)
        (place / "ca.crt").write_bytes(self.authority)
        (place / "server.pem").write_bytes(self.issue(Profile("kube-apiserver", *self._validity, ip_addresses=("127.0.0.1",), server=True)))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(place / "server.pem")
        context.load_verify_locations(place / "ca.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.endpoint = f"127.0.0.1:{self._server.server_address[1]}"
        self.server = f"https://{self.endpoint}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def issue(self, profile: Profile) -> bytes:
        """A certificate of the cluster, and its key."""
        key = generate_key("ECDSA-P256")
        leaf = sign(profile, key.public_key(), self._authority, self._key)
        return leaf.public_bytes(Encoding.PEM) + private_pem(key)

    def admit(self, name: str = NODE) -> bytes:
        return self.issue(Profile(f"system:node:{name}", *self._validity, organizations=("system:nodes",), client=True))

    def file(self, request: str, name: str = NODE, signer: str = "kubernetes.io/kube-apiserver-client-kubelet", **status: Any) -> None:
        """A request for the certificate of a node, in some state."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{name}")])
        pem = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        spec = {"signerName": signer, "request": base64.b64encode(pem).decode()}
        stamp = f"2026-01-01T00:00:{len(self.requests):02d}Z"
        self.requests.append({"metadata": {"name": request, "creationTimestamp": stamp}, "spec": spec, "status": status})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                sent = json.loads(self.rfile.read(length)) if length else {}
                path, user = self.path.partition("?")[0], self._user()
                outer.asked.append((user, self.command, path))
                status, content = outer._respond(user, path, sent)
                payload = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_PATCH = answer

            def _user(self) -> str:
                certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
                if certificate:
                    parts = [part for group in certificate["subject"] for part in group]  # type: ignore[union-attr]
                    return str(dict(parts)["commonName"])  # type: ignore[misc, arg-type]
                return "bootstrap" if self.headers.get("Authorization") == f"Bearer {TOKEN}" else ""

            def log_message(self, format: str, *words: Any) -> None:
                """Say nothing."""

        return Handler

    def _respond(self, user: str, path: str, sent: Mapping[str, Any]) -> tuple[int, Any]:
        if not user:
            return 401, {"reason": "Unauthorized"}
        if path in self.forbidden:
            return 403, {"message": f"{user} cannot do that"}
        if path in _RESOURCES:
            return 200, {"resources": _RESOURCES[path]}
        if path == _REQUESTS:
            return 200, {"items": self.requests}
        node = self.nodes.get(path.rpartition("/")[2])
        if node is None:
            return 404, {"reason": "NotFound"}
        node["metadata"].setdefault("annotations", {}).update(sent.get("metadata", {}).get("annotations", {}))
        return 200, node

    def register(self, name: str = NODE, ready: str = "") -> None:
        conditions = [{"type": "MemoryPressure", "status": "True"}, *([{"type": "Ready", "status": ready}] if ready else [])]
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "resourceVersion": "1"},
            "status": {"conditions": conditions},
        }


def kubeconfig(server: str, authority: bytes, user: Mapping[str, Any]) -> str:
    data = base64.b64encode(authority).decode()
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kubernetes", "cluster": {"server": server, "certificate-authority-data": data}}],
            "contexts": [{"name": "it", "context": {"cluster": "kubernetes", "user": "it"}}],
            "current-context": "it",
            "users": [{"name": "it", "user": dict(user)}],
        }
    )


@dataclass
class Kubelet(Services):
    """A service manager whose kubelet does what a real one does when it starts; it gets in if the cluster lets it."""

    root: Path = Path()
    cluster: Any = None
    gets_in: bool = True
    lines: tuple[str, ...] = ()
    journals: list[float] = field(default_factory=list)

    def apply(self, action: Action) -> None:
        super().apply(action)
        bootstrap = self.root / BOOTSTRAP
        if not bootstrap.exists():
            return
        # Before it has any certificate, and whatever was there.
        server = yaml.safe_load(bootstrap.read_text())["clusters"][0]["cluster"]["server"]
        self.write_kubeconfig(server)
        if self.gets_in:
            self.get_in()

    def write_kubeconfig(self, server: str) -> None:
        pointer = {"client-certificate": f"/{PEM}", "client-key": f"/{PEM}"}
        (self.root / CONF).write_text(kubeconfig(server, self.cluster.authority, pointer))
        (self.root / CONF).chmod(0o600)

    def get_in(self) -> None:
        (self.root / PEM).parent.mkdir(parents=True, exist_ok=True)
        (self.root / PEM).write_bytes(self.cluster.admit())
        self.cluster.register()

    def journal(self, name: str, lines: int, since: float) -> tuple[str, ...]:
        self.journals.append(since)
        return self.lines
