# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes that ask a bare API server for serving certificates, and the signer that it lacks."""

from __future__ import annotations

import base64
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kubelet_port import KubeletPorts
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import API_VERSION, KIND
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, DeleteObject, Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import KubeletPlace
from ansible_collections.kubephase.cluster.tests.parity.apiserver import SUPER_ADMIN, ApiServer

SIGNER = "kubernetes.io/kubelet-serving"


def key_of(name: str) -> ObjectKey:
    return ObjectKey(API_VERSION, KIND, "", name)


def until_nodes_may_ask(server: ApiServer) -> None:
    """A server that has just started makes the last of its roles a moment after it first answers."""
    api = server.api(SUPER_ADMIN)
    while api.get(ObjectKey("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "system:discovery")) is None:
        time.sleep(0.1)


def authority(server: ApiServer) -> tuple[x509.Certificate, Any]:
    """The cluster's CA with its key."""
    certificate = x509.load_pem_x509_certificate((server.pki / "ca.crt").read_bytes())
    return certificate, load_pem_private_key((server.pki / "ca.key").read_bytes(), None)


def user(server: ApiServer, name: str, groups: Sequence[str], root: Path | None = None, path: str = "") -> Api:
    """The API as a user with a client certificate of the cluster's knows it; its kubeconfig is left in a root."""
    certificate, key = authority(server)
    own = generate_key("ECDSA-P256")
    profile = Profile(name, datetime.now(timezone.utc) + timedelta(days=1), organizations=tuple(groups), client=True)
    pem = sign(profile, own.public_key(), certificate, key).public_bytes(Encoding.PEM)
    encoded = {"client-certificate-data": pem, "client-key-data": private_pem(own)}
    document = {
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": server.url,
                    "certificate-authority-data": base64.b64encode((server.pki / "ca.crt").read_bytes()).decode(),
                },
            }
        ],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        "users": [{"name": "u", "user": {field: base64.b64encode(data).decode() for field, data in encoded.items()}}],
    }
    place = root or server.root
    path = path or f"/etc/kubernetes/{name.replace(':', '-')}.conf"
    (place / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (place / path.lstrip("/")).write_text(yaml.safe_dump(document))
    return Api(Files(str(place)), path)


def has_addresses(server: ApiServer, *addresses: str) -> None:
    """Give the Node worker1 its addresses, as its kubelet would."""
    api = server.api(SUPER_ADMIN)
    server.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker1"}})
    node = api.get(ObjectKey("v1", "Node", "", "worker1"))
    assert node is not None
    found = [{"type": "InternalIP", "address": each} for each in addresses]
    body = {**node, "status": {"addresses": [*found, {"type": "Hostname", "address": "worker1"}] if addresses else []}}
    assert api._send("PUT", "/api/v1/nodes/worker1/status", {}, body).good


def file_request(api: Api, name: str, pem: bytes, usages: Sequence[str], signer: str = SIGNER) -> None:
    """Ask for a certificate."""
    spec = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": list(usages)}
    api.apply(CreateObject({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}))


def conditions(server: ApiServer, name: str) -> list[str]:
    """The decisions on a request."""
    found = server.api(SUPER_ADMIN).get(key_of(name)) or {}
    return [each["type"] for each in (found.get("status") or {}).get("conditions") or ()]


def forget(server: ApiServer) -> None:
    """Delete every request."""
    api = server.api(SUPER_ADMIN)
    for each in api.list(API_VERSION, KIND):
        api.apply(DeleteObject(key_of(each["metadata"]["name"])))


class Signer(threading.Thread):
    """What kube-controller-manager would do: signs approved requests until it is told to stop."""

    def __init__(self, server: ApiServer, lifetime: timedelta = timedelta(days=1)) -> None:
        super().__init__(daemon=True)
        self._api = server.api(SUPER_ADMIN)
        self._authority = authority(server)
        self._lifetime = lifetime
        self._ended = threading.Event()
        self.signed: list[str] = []

    def run(self) -> None:
        while not self._ended.wait(0.1):
            for each in self._api.list(API_VERSION, KIND):
                status = each.get("status") or {}
                if any(one["type"] == "Approved" for one in status.get("conditions") or ()) and not status.get("certificate"):
                    self._sign(each)

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def _sign(self, request: Manifest) -> None:
        asked = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
        pem = signed(self._authority, asked, self._lifetime)
        body = {**request, "status": {**request["status"], "certificate": base64.b64encode(pem).decode()}}
        name = request["metadata"]["name"]
        reply = self._api._send("PUT", f"{self._api._path(key_of(name))}/status", {}, body)
        assert reply.good, reply.message
        self.signed.append(name)


def signed(by: tuple[x509.Certificate, Any], asked: x509.CertificateSigningRequest, lifetime: timedelta) -> bytes:
    """A certificate for what a request asks."""
    names = asked.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    now = datetime.now(timezone.utc)
    profile = Profile(
        str(asked.subject.get_attributes_for_oid(x509.oid.NameOID.COMMON_NAME)[0].value),
        now + lifetime,
        now - timedelta(minutes=5),
        tuple(str(each.value) for each in asked.subject.get_attributes_for_oid(x509.oid.NameOID.ORGANIZATION_NAME)),
        tuple(names.get_values_for_type(x509.DNSName)),
        tuple(str(each) for each in names.get_values_for_type(x509.IPAddress)),
        server=True,
    )
    return sign(profile, asked.public_key(), *by).public_bytes(Encoding.PEM)


class LoopbackPorts(KubeletPorts):
    """Kubelets that listen on loopback, whatever their address; a port for each node."""

    def __init__(self, ports: dict[str, int]) -> None:
        self._ports = ports

    def connect(self, place: KubeletPlace) -> socket.socket:
        """Open a connection to loopback."""
        return socket.create_connection(("127.0.0.1", self._ports[place.node]), 3)


class KubeletServer(threading.Thread):
    """A TLS server in the place of a kubelet; its certificate can be exchanged."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._context = self.use(certificate, key)

    def use(self, certificate: bytes, key: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + key)
            file.flush()
            context.load_cert_chain(file.name)
        self._context = context
        return context

    def run(self) -> None:
        while True:
            try:
                connection, _peer = self._socket.accept()
            except OSError:
                return
            try:
                with self._context.wrap_socket(connection, server_side=True):
                    pass
            except OSError:
                connection.close()

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.join()
