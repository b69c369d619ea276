# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins of authorities: our walk through DER against a library's reading, and through everything that is no certificate."""

from __future__ import annotations

import base64
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from unit.discovery.clusters import Authority, pin_of

from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pin, pinned, pins, public_key_info

KEYS: dict[str, Callable[[], Any]] = {
    "rsa-2048": lambda: rsa.generate_private_key(65537, 2048),
    "rsa-4096": lambda: rsa.generate_private_key(65537, 4096),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}


def der(kind: str) -> bytes:
    key = KEYS[kind]()
    now = datetime.now(timezone.utc)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kubernetes")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 2**150, now, now + timedelta(1))
    return builder.sign(key, None if kind == "ed25519" else hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_the_pin_is_that_of_the_library(kind: str) -> None:
    content = der(kind)
    assert pin(content) == pin_of(x509.load_der_x509_certificate(content))


def test_a_long_subject_and_a_bundle(tmp_path: Path) -> None:
    one, other = Authority(tmp_path, "one"), Authority(tmp_path, "n" * 60, algorithm="RSA-2048")
    assert pins(one.pem + b"\n# a comment\n" + other.pem) == (one.pin, other.pin)
    assert pins(one.pem.replace(b"\n", b"\r\n")) == (one.pin,)


def without_version(content: bytes) -> bytes:
    """The same certificate as the first version of X.509 has it: no version, no extensions to speak of."""

    def wrapped(body: bytes) -> bytes:
        return b"\x30\x82" + len(body).to_bytes(2, "big") + body

    tbs_length = int.from_bytes(content[6:8], "big")
    tbs, rest = content[8 : 8 + tbs_length], content[8 + tbs_length :]
    assert tbs[:5] == bytes.fromhex("a003020102")
    return wrapped(wrapped(tbs[5:]) + rest)


def test_a_certificate_of_version_one() -> None:
    content = der("rsa-2048")
    assert public_key_info(without_version(content)) == public_key_info(content)


WHOLE = der("p256")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x30",
        b"\x30\x80\x00\x00",
        b"\x30\x84\xff\xff\xff\xff",
        b"\x30\x85\x01\x00\x00\x00\x00",
        b"\x30\x81\x05" + b"\x00" * 5,
        b"\x30\x82\x00\x90" + b"\x00" * 0x90,
        b"\x30\x03\x30\x01\x02",
        WHOLE + b"\x00",
        WHOLE[:-1],
        b"\x31" + WHOLE[1:],
    ],
    ids=lambda content: content[:2].hex(),
)
def test_what_is_no_certificate(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        public_key_info(content)


def test_nothing_but_an_error_comes_of_damage() -> None:
    dice = random.Random(7)
    survived = 0
    for _attempt in range(3000):
        damaged = bytearray(WHOLE)
        for _change in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            survived += bool(public_key_info(bytes(damaged)))
        except ValueError:
            continue
    assert 0 < survived < 3000


@pytest.mark.parametrize(
    "bundle",
    [
        b"",
        b"no certificate",
        b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(WHOLE),
        b"-----BEGIN CERTIFICATE-----\n" + base64.b64encode(WHOLE) + b"\n-----END CERTIFICATE-----\n-----BEGIN X509 CERTIFICATE-----\nAAAA",
    ],
    ids=lambda bundle: str(len(bundle)) if len(bundle) < 100 else "long",
)
def test_what_is_no_bundle(bundle: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        pins(bundle)


@pytest.mark.parametrize(
    ("allowed", "known"),
    [
        (["sha256:" + "AB" * 32], ("sha256:" + "ab" * 32,)),
        (["SHA256:" + "ab" * 32], ("sha256:" + "ab" * 32,)),
        (["sha256:" + "cd" * 32, "sha256:" + "ab" * 32], ("sha256:" + "ab" * 32,)),
        (["sha256:" + "cd" * 32], ()),
        (["sha256:" + "ab" * 31], ()),
        (["sha256:ü"], ()),
        ([], ()),
    ],
)
def test_one_pin_is_enough_in_any_case(allowed: list[str], known: tuple[str, ...]) -> None:
    assert pinned(("sha256:" + "ab" * 32,), allowed) == known
