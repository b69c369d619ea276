# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certificate issuer: makes keys, signs, and writes what it made."""

from __future__ import annotations

import base64
import ipaddress
import os
import secrets
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import (
    AUTHORITY_DATA,
    CERTIFICATE_DATA,
    KEY_DATA,
    GenerateKeyPair,
    IssueCertificate,
    IssueKubeconfig,
    PairPaths,
    Profile,
    WritePublicKey,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile

try:
    from cryptography import x509
    from cryptography.hazmat.backends import default_backend
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    pass  # the runner says so before any of this is called

_CURVES = {"ECDSA-P256": "SECP256R1", "ECDSA-P384": "SECP384R1"}
_WITH_KEY = (IssueCertificate, GenerateKeyPair, IssueKubeconfig)
_MAX_SERIAL = 2**63 - 2  # kubeadm draws serials from [1, 2^63)


class Issuer:
    """Carries out what a plan asks of certificates and keys."""

    applies = (IssueCertificate, GenerateKeyPair, WritePublicKey, IssueKubeconfig)

    def __init__(self, files: Files) -> None:
        self._files = files
        self._authorities: dict[PairPaths, tuple[x509.Certificate, Any]] = {}
        self._coming: dict[Action, Any] = {}

    def foresee(self, actions: Iterable[Action]) -> None:
        """Start making the keys that a plan will ask for, on every processor: RSA keys take most of a first run."""
        wanted = [each for each in actions if isinstance(each, _WITH_KEY) and not getattr(each, "keep_key", False)]
        if len(wanted) > 1:
            pool = ThreadPoolExecutor(os.cpu_count() or 1)
            self._coming = {each: pool.submit(generate_key, each.algorithm) for each in wanted}
            pool.shutdown(wait=False)

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, IssueCertificate):
            self._issue(action)
        elif isinstance(action, GenerateKeyPair):
            key = self._new_key(action)
            self._files.write(
                [
                    WriteFile(action.private, private_pem(key), 0o600),
                    WriteFile(action.public, public_pem(key), 0o600),
                ]
            )
        elif isinstance(action, WritePublicKey):
            self._files.write([WriteFile(action.public, public_pem(self._key(action.private)), 0o600)])
        elif isinstance(action, IssueKubeconfig):
            self._issue_kubeconfig(action)

    def _issue(self, action: IssueCertificate) -> None:
        key = self._key(action.paths.key) if action.keep_key else self._new_key(action)
        if action.issuer is None:
            certificate = sign(action.profile, key.public_key(), None, key)
        else:
            authority, authority_key = self._authority(action.issuer)
            certificate = sign(action.profile, key.public_key(), authority, authority_key)
        # The key takes its place first: an authority's certificate without a key would pass for an external CA.
        pair = [] if action.keep_key else [WriteFile(action.paths.key, private_pem(key), 0o600)]
        self._files.write([*pair, WriteFile(action.paths.certificate, _pem(certificate), 0o644)])
        if action.issuer is None:
            self._authorities[action.paths] = (certificate, key)

    def _issue_kubeconfig(self, action: IssueKubeconfig) -> None:
        authority, authority_key = self._authority(action.issuer)
        key = self._new_key(action)
        certificate = sign(action.profile, key.public_key(), authority, authority_key)
        text = action.template
        for marker, data in ((AUTHORITY_DATA, _pem(authority)), (CERTIFICATE_DATA, _pem(certificate)), (KEY_DATA, private_pem(key))):
            text = text.replace(marker, base64.b64encode(data).decode())
        self._files.write([WriteFile(action.path, text.encode(), 0o600)])

    def _new_key(self, action: IssueCertificate | GenerateKeyPair | IssueKubeconfig) -> Any:
        coming = self._coming.pop(action, None)
        return generate_key(action.algorithm) if coming is None else coming.result()

    def _authority(self, paths: PairPaths) -> tuple[x509.Certificate, Any]:
        if paths not in self._authorities:
            self._authorities[paths] = self._load_authority(paths)
        return self._authorities[paths]

    def _load_authority(self, paths: PairPaths) -> tuple[x509.Certificate, Any]:
        seen = self._files.read(paths.certificate)
        if seen is None:
            raise Unusable(paths.certificate, "the certificate authority is missing", "Run the certs phase (pki_cert) first")
        return x509.load_pem_x509_certificate(seen.content), self._key(paths.key)

    def _key(self, path: str) -> Any:
        seen = self._files.read(path)
        if seen is None:
            raise Unusable(path, "the private key is missing", "Put it there, or run the certs phase (pki_cert) first")
        return serialization.load_pem_private_key(seen.content, password=None)


def generate_key(algorithm: str) -> Any:
    """Make a private key of one of kubeadm's algorithms."""
    curve = _CURVES.get(algorithm)
    if curve is not None:
        return ec.generate_private_key(getattr(ec, curve)())
    _trust_new_keys()
    return rsa.generate_private_key(public_exponent=65537, key_size=int(algorithm.rpartition("-")[2]))


def _trust_new_keys() -> None:
    """Keep the library from proving each key that it has just made: before 39 it does, which is a third of the time.

    Keys that were there before have been read, and proven, by the time that any is made.
    """
    backend = default_backend()
    if hasattr(backend, "_rsa_skip_check_key"):
        backend._rsa_skip_check_key = True


def private_pem(key: Any) -> bytes:
    """Serialise a private key as kubeadm does: PKCS#1 or SEC1, not PKCS#8."""
    pem: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    return pem


def public_pem(key: Any) -> bytes:
    """Serialise the public half of a key."""
    pem: bytes = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return pem


def sign(profile: Profile, public_key: Any, authority: x509.Certificate | None, authority_key: Any) -> x509.Certificate:
    """Make the certificate that a profile describes; without an authority it is self-signed."""
    subject = _name(profile)
    not_before = profile.not_before
    if not_before is None:
        not_before = _starts(authority) if authority is not None else profile.not_after
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.subject if authority is not None else subject)
        .public_key(public_key)
        .serial_number(secrets.randbelow(_MAX_SERIAL) + 1)
        .not_valid_before(not_before.replace(tzinfo=None))
        .not_valid_after(profile.not_after.replace(tzinfo=None))
        .add_extension(_key_usage(profile.authority), critical=True)
    )
    usages = _extended_usages(profile)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=profile.authority, path_length=None), critical=True)
    if profile.authority:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    if authority is not None:
        builder = builder.add_extension(_authority_key_identifier(authority), critical=False)
    names = _alternative_names(profile)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(authority_key, _digest(authority_key))


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _starts(certificate: x509.Certificate) -> datetime:
    seen = getattr(certificate, "not_valid_before_utc", None)  # cryptography before 42 has only the naive one
    return seen if seen is not None else certificate.not_valid_before


def _name(profile: Profile) -> x509.Name:
    """Write several organisations as one set, as Go does."""
    parts = [x509.RelativeDistinguishedName([x509.NameAttribute(NameOID.COMMON_NAME, profile.common_name)])]
    if profile.organizations:
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in profile.organizations]
        parts.insert(0, x509.RelativeDistinguishedName(names))
    return x509.Name(parts)


def _key_usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=authority,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _extended_usages(profile: Profile) -> list[x509.ObjectIdentifier]:
    wanted = ((profile.server, ExtendedKeyUsageOID.SERVER_AUTH), (profile.client, ExtendedKeyUsageOID.CLIENT_AUTH))
    return [usage for asked, usage in wanted if asked]


def _authority_key_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    try:
        own = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _alternative_names(profile: Profile) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in profile.dns_names]
    return names + [x509.IPAddress(ipaddress.ip_address(address)) for address in profile.ip_addresses]


def _digest(key: Any) -> Any:
    """Choose the hash as Go does: SHA-384 for P-384 signatures, SHA-256 otherwise; Ed25519 hashes by itself."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return hashes.SHA384() if key.curve.key_size == 384 else hashes.SHA256()
    return hashes.SHA256() if isinstance(key, rsa.RSAPrivateKey) else None
