# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests for serving certificates, honest and hostile ones: real CSRs, as the API server would store them."""

from __future__ import annotations

import base64
import functools
import ipaddress
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SIGNER = "kubernetes.io/kubelet-serving"
NODE = "system:node:worker1"
GROUPS = ("system:nodes", "system:authenticated")
USAGES = ("digital signature", "server auth")
RSA_USAGES = (*USAGES, "key encipherment")

INVENTORY = {
    "cp1": {"dns_names": ["cp1.example.test"], "ip_addresses": ["192.0.2.10"]},
    "worker1": {"dns_names": ["worker1.example.test"], "ip_addresses": ["192.0.2.21", "2001:db8::21", "172.17.0.1"]},
    "worker2": {"dns_names": ["worker2.example.test"], "ip_addresses": ["192.0.2.22", "172.17.0.1"]},
}
ALLOWED = ["worker1-lb.example.test", "203.0.113.0/28"]


@functools.cache
def key(kind: str) -> Any:
    """A key of a kind; one for all tests, because they take their time."""
    name, _dash, bits = kind.partition("-")
    if name == "rsa":
        return rsa.generate_private_key(65537, int(bits))
    if name == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key({"224": ec.SECP224R1(), "256": ec.SECP256R1(), "384": ec.SECP384R1(), "256k1": ec.SECP256K1()}[bits])


def san(dns: Sequence[str] = (), ips: Sequence[str] = (), others: Sequence[x509.GeneralName] = ()) -> x509.SubjectAlternativeName:
    addresses = [x509.IPAddress(ipaddress.ip_address(each)) for each in ips]
    return x509.SubjectAlternativeName([*(x509.DNSName(each) for each in dns), *addresses, *others])


def csr(
    cn: str | Sequence[str] = NODE,
    organizations: Sequence[str] = ("system:nodes",),
    dns: Sequence[str] = ("worker1",),
    ips: Sequence[str] = ("192.0.2.21",),
    others: Sequence[x509.GeneralName] = (),
    kind: str = "ecdsa-256",
    unit: str = "",
    authority: bool = False,
    client: bool = False,
    challenge: bool = False,
) -> bytes:
    """A request in PEM, signed with its key."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    names += [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in ([cn] if isinstance(cn, str) else cn)]
    names += [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if dns or ips or others:
        builder = builder.add_extension(san(dns, ips, others), critical=False)
    if authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    if client:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    if challenge:
        builder = builder.add_attribute(x509.oid.AttributeOID.CHALLENGE_PASSWORD, b"secret")
    return builder.sign(key(kind), None if kind == "ed25519" else hashes.SHA256()).public_bytes(Encoding.PEM)


def with_second_extensions(pem: bytes, other: bytes) -> bytes:
    """The first request with the second one's list of extensions behind its own, and a signature that holds."""
    parts, more = (_children(x509.load_pem_x509_csr(each).tbs_certrequest_bytes) for each in (pem, other))
    # A set is sorted in DER; a reader that writes it again to verify the signature would sort it.
    lists = sorted([_content(parts[-1]), _content(more[-1])])
    body = _tlv(0x30, b"".join(parts[:-1]) + _tlv(0xA0, b"".join(lists)))
    signature = key("ecdsa-256").sign(body, ec.ECDSA(hashes.SHA256()))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")
    return _pem(_tlv(0x30, body + algorithm + _tlv(0x03, b"\0" + signature)))


def with_spoiled_signature(pem: bytes) -> bytes:
    """A request whose sender does not hold the key."""
    der = x509.load_pem_x509_csr(pem).public_bytes(Encoding.DER)
    signed = x509.load_pem_x509_csr(csr(cn="system:node:other"))
    algorithm = bytes.fromhex("300a06082a8648ce3d040302")
    body = x509.load_der_x509_csr(der).tbs_certrequest_bytes
    return _pem(_tlv(0x30, body + algorithm + _tlv(0x03, b"\0" + signed.signature)))


def filed(
    pem: bytes,
    name: str = "csr-1",
    user: str = NODE,
    groups: Sequence[str] = GROUPS,
    usages: Sequence[str] = USAGES,
    signer: str = SIGNER,
    conditions: Sequence[str] = (),
) -> dict[str, Any]:
    """The object that the API server makes of it."""
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": signer,
        "usages": list(usages),
        "username": user,
        "groups": list(groups),
    }
    status = {"conditions": [{"type": each, "status": "True"} for each in conditions]} if conditions else {}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "uid": f"uid-of-{name}"},
        "spec": spec,
        "status": status,
    }


def _pem(der: bytes) -> bytes:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n".encode()


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _split(der: bytes) -> tuple[bytes, bytes, bytes]:
    """Header and content of the first element, and what follows it."""
    size, start = der[1], 2
    if size & 0x80:
        start = 2 + (size & 0x7F)
        size = int.from_bytes(der[2:start], "big")
    return der[:start], der[start : start + size], der[start + size :]


def _content(der: bytes) -> bytes:
    return _split(der)[1]


def _children(der: bytes) -> list[bytes]:
    rest, found = _content(der), []
    while rest:
        head, content, rest = _split(rest)
        found.append(head + content)
    return found
