# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of certificates and keys that two correct renderings share, whatever their random numbers and clocks."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes

Facts = dict[str, str]

PEM_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\n(.*?)\n-----END \1-----\n", re.DOTALL)

# Every period in the corpus and kubeadm's own backdating are whole multiples of it, so that a moment can be told as an
# offset from a rendering that took anything up to five minutes.
GRAIN = 300

USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
)


class Window:
    """The span of time in which a rendering took place."""

    def __init__(self, started: float, ended: float) -> None:
        if not 0 <= ended - started < GRAIN - 10:
            raise ValueError(f"a rendering of {ended - started:.0f} s is too long to tell its moments apart")
        self.started = started
        self.ended = ended

    def tell(self, moment: datetime.datetime) -> str:
        """A moment as an offset from the rendering, the same for two renderings that follow the same rule."""
        stamp = moment.timestamp()
        # Certificates keep whole seconds; the fraction that was cut off is the tolerance.
        earliest, latest = stamp - self.ended - 1, stamp - self.started + 1
        offset = math.ceil(earliest / GRAIN) * GRAIN
        if offset > latest:
            return f"{latest:.0f} s from the rendering, which is no whole number of minutes"
        return f"{offset // 60:+d} min from the rendering"


def pem_blocks(data: bytes) -> list[tuple[str, bytes]]:
    """The label and the inner text of each PEM block."""
    return [(match[1].decode(), match[2]) for match in PEM_BLOCK.finditer(data)]


def pem_facts(data: bytes) -> Facts:
    """How a file is put together: its blocks, the width of their lines, and whether anything is around them."""
    blocks = pem_blocks(data)
    widths = {len(line) for _label, inner in blocks for line in inner.split(b"\n")[:-1]}
    return {
        "PEM types": ", ".join(label for label, _inner in blocks) or "none",
        "PEM line width": ", ".join(str(width) for width in sorted(widths)),
        "text around PEM": repr(PEM_BLOCK.sub(b"", data).decode(errors="replace")),
    }


def key_kind(key: PublicKeyTypes) -> str:
    """Type and size of a key."""
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size} e={key.public_numbers().e}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return f"ECDSA {key.curve.name}"
    return type(key).__name__


def public_bytes(key: PublicKeyTypes) -> bytes:
    """A key in the one form in which two can be compared."""
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def load_private(data: bytes) -> PrivateKeyTypes:
    """A private key of a PEM file without a passphrase."""
    # OpenSSL's check of the primes takes longer than the whole rest of the comparison; that the key fits is compared.
    return serialization.load_pem_private_key(data, password=None, unsafe_skip_rsa_key_validation=True)


def name_facts(what: str, name: x509.Name) -> Facts:
    """A distinguished name: values, order and grouping, and how its strings are encoded."""
    encodings = {attribute._type.name for attribute in name}
    return {what: name.rfc4514_string(), f"{what} encoding": ", ".join(sorted(encodings))}


def names_facts(certificate: x509.Certificate) -> Facts:
    """The subject alternative names, in their order."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return {"DNS names": "", "IP addresses": "", "other names": ""}
    names = extension.value
    others = [str(name) for name in names if not isinstance(name, (x509.DNSName, x509.IPAddress))]
    return {
        "DNS names": ", ".join(names.get_values_for_type(x509.DNSName)),
        "IP addresses": ", ".join(str(address) for address in names.get_values_for_type(x509.IPAddress)),
        "other names": ", ".join(others),
        "alternative names critical": str(extension.critical),
    }


def usage_facts(certificate: x509.Certificate) -> Facts:
    """Key usages, extended key usages and basic constraints, each with its criticality."""
    facts: Facts = {}
    for extension in certificate.extensions:
        value = extension.value
        if isinstance(value, x509.KeyUsage):
            facts["key usage"] = ", ".join(usage for usage in USAGES if getattr(value, usage))
            facts["key usage critical"] = str(extension.critical)
        elif isinstance(value, x509.ExtendedKeyUsage):
            facts["extended key usage"] = ", ".join(usage.dotted_string for usage in value)
            facts["extended key usage critical"] = str(extension.critical)
        elif isinstance(value, x509.BasicConstraints):
            facts["basic constraints"] = f"CA={value.ca} path length={value.path_length}"
            facts["basic constraints critical"] = str(extension.critical)
    return facts


def identifier_of(certificate: x509.Certificate) -> bytes | None:
    """The subject key identifier, where there is one."""
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except x509.ExtensionNotFound:
        return None


def identifier_facts(certificate: x509.Certificate, issuer: x509.Certificate | None) -> Facts:
    """The two key identifiers; how one is computed is the crypto library's choice, that they agree is not."""
    own = identifier_of(certificate)
    facts = {"subject key identifier": "absent" if own is None else f"{len(own)} bytes"}
    try:
        named = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    except x509.ExtensionNotFound:
        facts["authority key identifier"] = "absent"
    else:
        agrees = issuer is not None and named == identifier_of(issuer)
        facts["authority key identifier"] = "the issuer's" if agrees else "not the issuer's"
    return facts


def signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether issuer's key made the signature."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def find_issuer(certificate: x509.Certificate, authorities: Mapping[str, x509.Certificate]) -> tuple[str, x509.Certificate | None]:
    """The authority that signed a certificate, by the name of its file."""
    if signed_by(certificate, certificate):
        return "itself", certificate
    for name, authority in authorities.items():
        if signed_by(certificate, authority):
            return name, authority
    return "nobody here", None


def serial_kind(serial: int) -> str:
    """Serials are random; their range is not."""
    if serial == 0:
        return "0"
    return "1 to 63 bits" if 0 < serial < 1 << 63 else "longer than 63 bits"


def validity_facts(certificate: x509.Certificate, issuer: x509.Certificate | None, window: Window) -> Facts:
    """When a certificate begins, by the rule that it follows, and when it ends."""
    begins = certificate.not_valid_before_utc
    inherits = issuer is not None and issuer is not certificate and begins == issuer.not_valid_before_utc
    return {
        "not before": "its issuer's" if inherits else window.tell(begins),
        "not after": window.tell(certificate.not_valid_after_utc),
    }


def certificate_facts(data: bytes, authorities: Mapping[str, x509.Certificate], window: Window) -> Facts:
    """Every comparable fact of the first certificate in a PEM file."""
    certificate = x509.load_pem_x509_certificate(data)
    issued_by, issuer = find_issuer(certificate, authorities)
    algorithm = certificate.signature_hash_algorithm
    order: Sequence[str] = [str(extension.oid._name) for extension in certificate.extensions]
    return {
        **pem_facts(data),
        **name_facts("subject", certificate.subject),
        **name_facts("issuer", certificate.issuer),
        **names_facts(certificate),
        **usage_facts(certificate),
        **identifier_facts(certificate, issuer),
        **validity_facts(certificate, issuer, window),
        "issued by": issued_by,
        "extensions": ", ".join(order),
        "version": certificate.version.name,
        "serial": serial_kind(certificate.serial_number),
        "public key": key_kind(certificate.public_key()),
        "signature algorithm": f"{certificate.signature_algorithm_oid._name} {algorithm.name if algorithm else ''}".strip(),
    }


def private_key_facts(data: bytes, partner: bytes | None) -> Facts:
    """Facts of a private key and whether it belongs to the certificate or public key beside it."""
    key = load_private(data).public_key()
    return {**pem_facts(data), "key": key_kind(key), "belongs to its partner": str(public_bytes(key) == partner)}


def public_key_facts(data: bytes, partner: bytes | None) -> Facts:
    """Facts of a public key file and whether it is the half of the private key beside it."""
    key = serialization.load_pem_public_key(data)
    return {**pem_facts(data), "key": key_kind(key), "belongs to its partner": str(public_bytes(key) == partner)}
