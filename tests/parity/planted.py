# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ways to spoil a rendered tree, each in one respect only, to prove that the comparison notices."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Plant = Callable[[Path], None]

PKI = Path("etc/kubernetes/pki")
ADMIN = Path("etc/kubernetes/admin.conf")
Extensions = dict[type[x509.ExtensionType], tuple[x509.ExtensionType, bool]]


def signing_key(path: Path) -> CertificateIssuerPrivateKeyTypes:
    """The key of the cluster's CA."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey))
    return key


def reissued(root: Path, pem: bytes, changes: dict[str, Any], extensions: Extensions, drop: type[x509.ExtensionType] | None) -> bytes:
    """A certificate signed by the cluster's CA again, with some parts replaced."""
    old = x509.load_pem_x509_certificate(pem)
    builder = x509.CertificateBuilder(
        issuer_name=old.issuer,
        subject_name=changes.get("subject", old.subject),
        public_key=changes.get("public_key", old.public_key()),
        serial_number=changes.get("serial", old.serial_number),
        not_valid_before=changes.get("not_before", old.not_valid_before_utc),
        not_valid_after=changes.get("not_after", old.not_valid_after_utc),
    )
    for extension in old.extensions:
        kind = type(extension.value)
        if kind is not drop:
            value, critical = extensions.get(kind, (extension.value, extension.critical))
            builder = builder.add_extension(value, critical)
    signed = builder.sign(signing_key(root / PKI / "ca.key"), changes.get("hash", hashes.SHA256()))
    return signed.public_bytes(serialization.Encoding.PEM)


def certificate(
    name: str,
    *,
    extension: x509.ExtensionType | None = None,
    critical: bool = False,
    drop: type[x509.ExtensionType] | None = None,
    **changes: Any,
) -> Plant:
    """Replace parts of a certificate file."""

    def plant(root: Path) -> None:
        path = root / PKI / name
        extensions: Extensions = {type(extension): (extension, critical)} if extension else {}
        path.write_bytes(reissued(root, path.read_bytes(), changes, extensions, drop))

    return plant


def moved(name: str, start: datetime.timedelta = datetime.timedelta(), end: datetime.timedelta = datetime.timedelta()) -> Plant:
    """Move the ends of a certificate's validity."""

    def plant(root: Path) -> None:
        old = x509.load_pem_x509_certificate((root / PKI / name).read_bytes())
        certificate(name, not_before=old.not_valid_before_utc + start, not_after=old.not_valid_after_utc + end)(root)

    return plant


def usage(**others: bool) -> x509.KeyUsage:
    """The usages of a leaf, changed."""
    flags = dict.fromkeys(
        ("content_commitment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"), False
    )
    return x509.KeyUsage(**{**flags, "digital_signature": True, "key_encipherment": True, **others})


def new_pair(name: str, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> Plant:
    """Give a certificate another key, on disk too."""

    def plant(root: Path) -> None:
        form = serialization.PrivateFormat.TraditionalOpenSSL
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        (root / PKI / f"{name}.key").write_bytes(pem)
        certificate(f"{name}.crt", public_key=key.public_key())(root)

    return plant


def other_key(name: str) -> Plant:
    """Put a key beside a certificate that it does not belong to."""

    def plant(root: Path) -> None:
        (root / PKI / f"{name}.key").write_bytes((root / PKI / "sa.key").read_bytes())

    return plant


def other_public_half() -> Plant:
    """Make sa.pub the half of another key."""

    def plant(root: Path) -> None:
        key = serialization.load_pem_private_key((root / PKI / "apiserver.key").read_bytes(), password=None).public_key()
        pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (root / PKI / "sa.pub").write_bytes(pem)

    return plant


def pkcs8(name: str) -> Plant:
    """Write the same key in the other PEM form."""

    def plant(root: Path) -> None:
        key = serialization.load_pem_private_key((root / PKI / name).read_bytes(), password=None)
        form = serialization.PrivateFormat.PKCS8
        (root / PKI / name).write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))

    return plant


def mode(path: Path, bits: int) -> Plant:
    """Change a mode."""
    return lambda root: (root / path).chmod(bits)


def missing(path: Path) -> Plant:
    """Remove a file."""
    return lambda root: (root / path).unlink()


def extra(path: Path) -> Plant:
    """Add a file."""

    def plant(root: Path) -> None:
        (root / path).write_text("left over\n", encoding="utf-8")

    return plant


def garbled(path: Path) -> Plant:
    """Cut a file in half."""

    def plant(root: Path) -> None:
        data = (root / path).read_bytes()
        (root / path).write_bytes(data[: len(data) // 2])

    return plant


def text(path: Path, old: str, new: str) -> Plant:
    """Replace some text of a kubeconfig."""

    def plant(root: Path) -> None:
        content = (root / path).read_text(encoding="utf-8")
        assert old in content
        (root / path).write_text(content.replace(old, new), encoding="utf-8")

    return plant


def embedded(path: Path, **changes: Any) -> Plant:
    """Replace parts of a kubeconfig's client certificate."""

    def plant(root: Path) -> None:
        content = (root / path).read_text(encoding="utf-8")
        old = yaml.safe_load(content)["users"][0]["user"]["client-certificate-data"]
        new = reissued(root, base64.b64decode(old), changes, {}, None)
        (root / path).write_text(content.replace(old, base64.b64encode(new).decode()), encoding="utf-8")

    return plant


def other_authority(path: Path) -> Plant:
    """Let a kubeconfig trust another CA of the tree."""

    def plant(root: Path) -> None:
        content = (root / path).read_text(encoding="utf-8")
        old = yaml.safe_load(content)["clusters"][0]["cluster"]["certificate-authority-data"]
        new = base64.b64encode((root / PKI / "front-proxy-ca.crt").read_bytes()).decode()
        (root / path).write_text(content.replace(old, new), encoding="utf-8")

    return plant


def subject(common_name: str, *organisations: str) -> x509.Name:
    """A subject as Go writes it."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organisations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def alternative_names(*names: str) -> x509.SubjectAlternativeName:
    """DNS names only."""
    return x509.SubjectAlternativeName([x509.DNSName(name) for name in names])


SERVER_AND_CLIENT = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
