# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates and keys as they are found: parsed, compared, verified; nothing is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.backends import default_backend
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.x509.oid import NameOID
except ImportError:
    pass  # the runner says so before any of this is called

_BEGIN = b"-----BEGIN CERTIFICATE-----"
_END = b"-----END CERTIFICATE-----"


@dataclass(frozen=True)
class Certificate:
    """The facts of a certificate that rules and reports speak of."""

    subject: str
    common_name: str
    organizations: tuple[str, ...]
    issuer: str
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    not_before: datetime
    not_after: datetime
    authority: bool
    parsed: x509.Certificate

    def lines(self) -> str:
        """Describe the certificate for a diff."""
        return describe(self.subject, self.issuer, (*self.dns_names, *self.ip_addresses), self.not_after)


def describe(subject: str, issuer: str, names: Sequence[str], not_after: datetime) -> str:
    """Give the lines by which diffs tell certificates apart."""
    return f"subject: {subject}\nissuer: {issuer}\nnames: {', '.join(names)}\nexpires: {stamp(not_after)}\n"


def stamp(moment: datetime) -> str:
    """Write a moment as Kubernetes does."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def subject_line(common_name: str, organizations: Sequence[str]) -> str:
    """Write a subject as `openssl` and kubeadm show it."""
    return ", ".join([*(f"O={each}" for each in organizations), f"CN={common_name}"])


def load_certificates(path: str, pem: bytes) -> tuple[Certificate, ...]:
    """Parse every certificate of a PEM file; what is not one is an error that names the file."""
    blocks = [_BEGIN + part.partition(_END)[0] + _END + b"\n" for part in pem.split(_BEGIN)[1:]]
    if not blocks:
        raise Unusable(path, "it holds no PEM certificate", "Restore it from a backup, or move it away to have it issued anew")
    try:
        return tuple(_facts(x509.load_pem_x509_certificate(block)) for block in blocks)
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension):
        raise Unusable(path, "its PEM certificate is corrupt", "Restore it from a backup, or move it away to have it issued anew") from None


def load_private_key(path: str, pem: bytes) -> Any:
    """Parse a private key; the error never quotes it."""
    try:
        return _load_unchecked(pem)
    except TypeError:
        raise Unusable(path, "the private key is encrypted with a passphrase", "Kubernetes needs it in the clear") from None
    except (ValueError, UnsupportedAlgorithm):
        raise Unusable(
            path, "it holds no PEM private key that can be read", "Restore it from a backup, or move it and its certificate away"
        ) from None


def load_public_keys(path: str, pem: bytes) -> tuple[bytes, ...]:
    """Parse the public keys (or certificates) of a file into comparable form."""
    keys = []
    for part in pem.split(b"-----BEGIN ")[1:]:
        block = b"-----BEGIN " + part
        try:
            if part.startswith(b"CERTIFICATE"):
                keys.append(fingerprint(x509.load_pem_x509_certificate(block).public_key()))
            else:
                keys.append(fingerprint(serialization.load_pem_public_key(block)))
        except (ValueError, UnsupportedAlgorithm):
            raise Unusable(path, "its PEM public key is corrupt", "Move it away to have it written anew") from None
    if not keys:
        raise Unusable(path, "it holds no PEM public key", "Move it away to have it written anew")
    return tuple(keys)


def fingerprint(public_key: Any) -> bytes:
    """Give the DER of a public key, by which two are compared."""
    der: bytes = public_key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return der


def key_matches(certificate: Certificate, private_key: Any) -> bool:
    """Tell whether a private key belongs to a certificate."""
    return fingerprint(certificate.parsed.public_key()) == fingerprint(private_key.public_key())


def chains(leaf: Certificate, intermediates: Sequence[Certificate], authority: Certificate) -> bool:
    """Tell whether a signature path leads from a leaf, through the certificates beside it, to the authority."""
    if _signed_by(leaf, authority):
        return True
    for index, middle in enumerate(intermediates):
        if middle.authority and _signed_by(leaf, middle):
            rest = [*intermediates[:index], *intermediates[index + 1 :]]
            if chains(middle, rest, authority):
                return True
    return False


def missing_names(certificate: Certificate, dns_names: Sequence[str], ip_addresses: Sequence[str]) -> tuple[str, ...]:
    """List the wanted names that a certificate lacks; DNS names do not care for case."""
    seen = {name.lower() for name in certificate.dns_names} | set(certificate.ip_addresses)
    return tuple(name for name in (*dns_names, *ip_addresses) if name.lower() not in seen)


def _facts(parsed: x509.Certificate) -> Certificate:
    names = _extension(parsed, x509.SubjectAlternativeName)
    constraints = _extension(parsed, x509.BasicConstraints)
    subject = _attributes(parsed.subject)
    issuer = _attributes(parsed.issuer)
    return Certificate(
        subject=_line(subject),
        common_name=(subject["CN"] or ("",))[0],
        organizations=subject["O"],
        issuer=_line(issuer),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)) if names else (),
        ip_addresses=tuple(str(each) for each in names.get_values_for_type(x509.IPAddress)) if names else (),
        not_before=_moment(parsed, "not_valid_before"),
        not_after=_moment(parsed, "not_valid_after"),
        authority=bool(constraints and constraints.ca),
        parsed=parsed,
    )


def _extension(parsed: x509.Certificate, kind: type[Any]) -> Any:
    try:
        return parsed.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _attributes(name: x509.Name) -> Mapping[str, tuple[str, ...]]:
    wanted = {"O": NameOID.ORGANIZATION_NAME, "CN": NameOID.COMMON_NAME}
    return {label: tuple(str(each.value) for each in name.get_attributes_for_oid(oid)) for label, oid in wanted.items()}


def _line(attributes: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{label}={value}" for label in ("O", "CN") for value in attributes[label])


def _moment(parsed: x509.Certificate, name: str) -> datetime:
    aware = getattr(parsed, f"{name}_utc", None)  # cryptography before 42 knows only the naive one
    moment: datetime = aware if aware is not None else getattr(parsed, name).replace(tzinfo=timezone.utc)
    return moment


def _signed_by(child: Certificate, parent: Certificate) -> bool:
    if child.parsed.issuer != parent.parsed.subject:
        return False
    key: Any = parent.parsed.public_key()
    signed = child.parsed.tbs_certificate_bytes
    signature = child.parsed.signature
    digest = child.parsed.signature_hash_algorithm
    try:
        if isinstance(key, rsa.RSAPublicKey) and digest is not None:
            key.verify(signature, signed, padding.PKCS1v15(), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey) and digest is not None:
            key.verify(signature, signed, ec.ECDSA(digest))
        else:
            key.verify(signature, signed)
    except (InvalidSignature, UnsupportedAlgorithm, TypeError, AttributeError):
        return False
    return True


def _load_unchecked(pem: bytes) -> Any:
    """Load a key without the primality tests, which take longer than all else; whoever signs with it loads it in full."""
    backend: Any = default_backend()
    if hasattr(backend, "_rsa_skip_check_key"):  # cryptography before 39 has no argument for it
        before, backend._rsa_skip_check_key = backend._rsa_skip_check_key, True
        try:
            return serialization.load_pem_private_key(pem, password=None)
        finally:
            backend._rsa_skip_check_key = before
    return serialization.load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)
