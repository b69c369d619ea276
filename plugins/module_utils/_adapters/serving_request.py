# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node's request for its serving certificate: key made, request filed, signature awaited, pair stored."""

from __future__ import annotations

import base64
import ipaddress
import random
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import RemoveFile, SwitchLink, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import RequestServing

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.x509.oid import NameOID
except ImportError:
    pass  # the runner says so before any of this is called

_API = "certificates.k8s.io/v1"
_KIND = "CertificateSigningRequest"
_MODE = 0o600
_FIX = "See that somebody approves it (serving_csr, on a control plane) and that kube-controller-manager signs it, and run again"


class NodeRequests(NodeApi):
    """The API as a node files requests with it."""

    applies: tuple[type[Action], ...] = ()

    def file(self, spec: Mapping[str, Any]) -> Manifest:
        """File a request under a name that the server chooses."""
        path = self._known_path(ObjectKey(_API, _KIND, "", ""))
        body = {"apiVersion": _API, "kind": _KIND, "metadata": {"generateName": "csr-"}, "spec": dict(spec)}
        return self._body(self._send("POST", path, body=body), f"{_KIND} of this node", "filed")

    def own(self, signer: str, user: str) -> tuple[Manifest, ...]:
        """List the requests of a user to a signer."""
        listed = self.list(_API, _KIND, field_selector=f"spec.signerName={signer}")
        return tuple(each for each in listed if (each.get("spec") or {}).get("username") == user)


class ServingRequests:
    """Carries out the node's side of a rotation."""

    applies = (RequestServing,)

    def __init__(self, files: Files, api: NodeRequests) -> None:
        self._files = files
        self._api = api

    def apply(self, action: Action) -> Mapping[str, Any]:
        """Ask until there is a certificate or the time is up; the key is in memory only until it has one."""
        if not isinstance(action, RequestServing):
            raise TypeError(type(action).__name__)
        end = time.monotonic() + action.seconds
        failures = 0
        while True:
            key = generate_key(action.algorithm)
            filed = self._api.file(_spec(action, key))
            fate = self._awaited(action, filed, end)
            if fate.certificate and not fate.failure:
                self._store(action, fate.certificate, key)
                return action.report(fate.certificate, datetime.now(timezone.utc), failures)
            failures += 1
            pause = action.pause(failures, random.random())  # noqa: S311 - it only spreads tries
            if time.monotonic() + pause >= end:
                found = f"there is no certificate after {action.seconds:.0f} s; {fate.message}"
                problem = Unusable(f"{_KIND} {filed['metadata']['name']}", found, _FIX)
                raise ManyUnusable(
                    (problem,), {"request": {"name": filed["metadata"]["name"], "state": fate.state, "reason": fate.message}}
                )
            time.sleep(pause)

    def _awaited(self, action: RequestServing, filed: Manifest, end: float) -> Any:
        name, uid, begun = filed["metadata"]["name"], filed["metadata"]["uid"], time.monotonic()
        while True:
            found = self._api.get(ObjectKey(_API, _KIND, "", name))
            fate = action.fate(found, uid, timedelta(seconds=time.monotonic() - begun))
            if fate.certificate or fate.failure or time.monotonic() >= end:
                return fate
            time.sleep(action.poll_seconds)

    def _store(self, action: RequestServing, certificate: bytes, key: Any) -> None:
        _must_match(certificate, key)
        # Named by the host's own time, as the kubelet does.
        path = action.stored_at(datetime.now())
        content = certificate.rstrip(b"\n") + b"\n" + private_pem(key)
        self._files.write([WriteFile(path, content, _MODE)])
        self._files.apply(SwitchLink(action.current, path, action.updated))
        # Two in one second have one name, and the clock may have been set back to it.
        for each in action.replaced:
            if each != path:
                self._files.apply(RemoveFile(each))


def _spec(action: RequestServing, key: Any) -> dict[str, Any]:
    subject = [
        x509.RelativeDistinguishedName([x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in action.organizations]),
        x509.RelativeDistinguishedName([x509.NameAttribute(NameOID.COMMON_NAME, action.common_name)]),
    ]
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in action.dns_names]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in action.ip_addresses]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    request = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(key, hashes.SHA256())
    spec: dict[str, Any] = {
        "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
        "signerName": action.signer,
        "usages": list(action.usages),
    }
    return spec if action.lifetime_seconds is None else {**spec, "expirationSeconds": action.lifetime_seconds}


def _must_match(certificate: bytes, key: Any) -> None:
    encoding = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        signed = x509.load_pem_x509_certificate(certificate).public_key().public_bytes(*encoding)
    except (ValueError, TypeError):
        signed = b""
    if signed != key.public_key().public_bytes(*encoding):
        raise Unusable(
            "the signer of serving certificates", "what it signed is not a certificate for the node's key", "Look at who signs there"
        )
