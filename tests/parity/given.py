# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What lies on disk before a case is rendered: authorities of last month, external authorities, bundles and keys."""

from __future__ import annotations

import datetime
import shutil
import tempfile
from pathlib import Path
from typing import Callable

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

Renderer = Callable[[Path, str], None]

AUTHORITIES = {"ca": "kubernetes", "front-proxy-ca": "front-proxy-ca", "etcd/ca": "etcd-ca"}
KUBECONFIGS = ("admin.conf", "super-admin.conf", "kubelet.conf", "controller-manager.conf", "scheduler.conf")
SIGNED_BY_CA = ("ca.crt", "apiserver.crt", "apiserver.key", "apiserver-kubelet-client.crt", "apiserver-kubelet-client.key")
SIGNED_BY_FRONT_PROXY_CA = ("front-proxy-ca.crt", "front-proxy-client.crt", "front-proxy-client.key")


def certificates_dir(document: str) -> str:
    """Where a document wants its PKI, relative to the root."""
    for part in yaml.safe_load_all(document):
        if part["kind"] == "ClusterConfiguration" and "certificatesDir" in part:
            return str(part["certificatesDir"]).strip("/")
    return "etc/kubernetes/pki"


def write_key(path: Path, key: rsa.RSAPrivateKey) -> None:
    """A private key as kubeadm stores it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    path.chmod(0o600)


def write_public_key(path: Path, key: rsa.RSAPrivateKey) -> None:
    """The public half, as sa.pub."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
    path.chmod(0o600)


def authority(name: str, key: rsa.RSAPrivateKey, age: datetime.timedelta) -> bytes:
    """A self-signed CA that somebody made a while ago."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=True, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - age)
        .not_valid_after(now + datetime.timedelta(days=3000))
        .add_extension(usage, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def new_key() -> rsa.RSAPrivateKey:
    """A key of the size that kubeadm makes by default."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def aged_authority(pki: Path, base: str, name: str) -> None:
    """One CA with its key, a month old."""
    key = new_key()
    write_key(pki / f"{base}.key", key)
    (pki / f"{base}.crt").write_bytes(authority(name, key, datetime.timedelta(days=30)))


def give_aged_authorities(given: Path, document: str, render: Renderer) -> None:
    """All three authorities and the service account keys, a month old."""
    pki = given / certificates_dir(document)
    for base, name in AUTHORITIES.items():
        aged_authority(pki, base, name)
    key = new_key()
    write_key(pki / "sa.key", key)
    write_public_key(pki / "sa.pub", key)


def give_bundle(given: Path, document: str, render: Renderer) -> None:
    """A ca.crt with the authority in use first and the next one after it."""
    pki = given / certificates_dir(document)
    aged_authority(pki, "ca", "kubernetes")
    with (pki / "ca.crt").open("ab") as bundle:
        bundle.write(authority("kubernetes", new_key(), datetime.timedelta(days=1)))


def give_service_account_key(given: Path, document: str, render: Renderer) -> None:
    """The private service account key alone."""
    write_key(given / certificates_dir(document) / "sa.key", new_key())


def give_parts(given: Path, document: str, render: Renderer, wanted: list[str]) -> None:
    """Some files of a tree that was rendered elsewhere."""
    with tempfile.TemporaryDirectory(dir=given.parent, prefix=".elsewhere-") as temporary:
        elsewhere = Path(temporary)
        (elsewhere / "etc").mkdir()
        render(elsewhere, document)
        for path in wanted:
            if (elsewhere / path).exists():
                (given / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(elsewhere / path, given / path)


def give_external_ca(given: Path, document: str, render: Renderer) -> None:
    """ca.crt without its key, and all that the key had signed."""
    pki = certificates_dir(document)
    give_parts(given, document, render, [f"{pki}/{name}" for name in SIGNED_BY_CA] + [f"etc/kubernetes/{name}" for name in KUBECONFIGS])


def give_external_front_proxy_ca(given: Path, document: str, render: Renderer) -> None:
    """front-proxy-ca.crt without its key, and the client certificate that the key had signed."""
    pki = certificates_dir(document)
    give_parts(given, document, render, [f"{pki}/{name}" for name in SIGNED_BY_FRONT_PROXY_CA])


def give_nothing(given: Path, document: str, render: Renderer) -> None:
    """An empty root."""


PREPARATIONS: dict[str, Callable[[Path, str, Renderer], None]] = {
    "": give_nothing,
    "aged-ca": give_aged_authorities,
    "ca-bundle": give_bundle,
    "sa-key": give_service_account_key,
    "external-ca": give_external_ca,
    "external-front-proxy-ca": give_external_front_proxy_ca,
}


def prepare(name: str, given: Path, document: str, render: Renderer) -> None:
    """Put into given what the case starts from; render makes a whole tree elsewhere."""
    PREPARATIONS[name](given, document, render)
