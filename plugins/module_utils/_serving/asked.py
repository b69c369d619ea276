# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a request for a certificate really asks for: read strictly, because another program will sign what it reads there.

Two readers that understand one text differently are a way past every rule. So what could be read in two ways, such as a
second PEM block, a second list of extensions or a second common name, is not read at all.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import plain

try:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtensionOID, NameOID
except ImportError:
    pass  # the runner says so before any of this is called

_PEM = re.compile(rb"\s*-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*")
_EXTENSION_REQUEST = "1.2.840.113549.1.9.14"
_LARGEST = 64 * 1024


class Unreadable(Exception):
    """A request that cannot be read, or could be read in more than one way; the text says why."""


@dataclass(frozen=True)
class Asked:
    """The content of a request; ``beyond`` names what no kubelet puts into one."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    key_kind: str
    key_bits: int
    beyond: tuple[str, ...] = ()


def read_request(pem: bytes) -> Asked:
    """Read a request in PEM; Unreadable when there is any doubt."""
    request = _parsed(pem)
    subject = [(attribute.oid, str(attribute.value)) for part in request.subject.rdns for attribute in part]
    names = [value for oid, value in subject if oid == NameOID.COMMON_NAME]
    organizations = [value for oid, value in subject if oid == NameOID.ORGANIZATION_NAME]
    if len(names) != 1:
        raise Unreadable(f"its subject has {len(names)} common names")
    beyond = ["more in its subject"] if len(names) + len(organizations) != len(subject) else []
    dns_names, addresses = [], []
    for extension in _extensions(request):
        if extension.oid != ExtensionOID.SUBJECT_ALTERNATIVE_NAME:
            beyond.append(f"the extension {extension.oid.dotted_string}")
            continue
        for name in extension.value:
            if isinstance(name, x509.DNSName):
                dns_names.append(name.value)
            elif isinstance(name, x509.IPAddress) and isinstance(name.value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
                addresses.append(str(plain(name.value)))
            else:
                beyond.append(f"a name of the kind {type(name).__name__}")
    if not all(name.isascii() and name.isprintable() for name in (*names, *organizations, *dns_names)):
        raise Unreadable("it carries a name that cannot be printed")
    kind, bits = _key(request)
    return Asked(names[0], tuple(organizations), tuple(dns_names), tuple(addresses), kind, bits, tuple(beyond))


def _parsed(pem: bytes) -> Any:
    found = _PEM.fullmatch(pem) if len(pem) <= _LARGEST else None
    if found is None:
        raise Unreadable("it is not one certificate request in PEM")
    try:
        request = x509.load_der_x509_csr(base64.b64decode(b"".join(found.group(1).split()), validate=True))
        signed = request.is_signature_valid
    except (binascii.Error, ValueError, TypeError, UnsupportedAlgorithm):
        raise Unreadable("it is not a certificate request that can be read") from None
    if not signed:
        raise Unreadable("its sender has not proven to hold the key")
    return request


def _extensions(request: Any) -> list[Any]:
    try:
        kinds = [attribute.oid.dotted_string for attribute in request.attributes]
        if kinds not in ([], [_EXTENSION_REQUEST]):
            raise Unreadable("it has other attributes than one list of extensions")
        return list(request.extensions)
    except (ValueError, TypeError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        raise Unreadable("its extensions cannot be read, or say the same thing twice") from None


def _key(request: Any) -> tuple[str, int]:
    try:
        key = request.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise Unreadable("its key cannot be read") from None
    if isinstance(key, rsa.RSAPublicKey):
        return "RSA", key.key_size
    if isinstance(key, ec.EllipticCurvePublicKey):
        # A curve of enough bits that the signer does not know, or knows to be weak, is as good as none.
        known = isinstance(key.curve, (ec.SECP224R1, ec.SECP256R1, ec.SECP384R1, ec.SECP521R1))
        return ("ECDSA", key.key_size) if known else (f"ECDSA {key.curve.name}", key.key_size)
    return type(key).__name__.replace("PublicKey", "").strip("_"), 0
