# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificate authorities as far as discovery needs them: PEM, a walk through DER to the public key, and kubeadm's pins.

No X.509 library is used, because a worker has none. Nothing is verified here but whose key it is: TLS itself checks
certificates, with the authority that was found good.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Sequence

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----\s*?\n([A-Za-z0-9+/=\s]*?)-----END CERTIFICATE-----")
_BEGIN = b"-----BEGIN "

_SEQUENCE, _INTEGER, _VERSION = 0x30, 0x02, 0xA0


def pins(bundle: bytes) -> tuple[str, ...]:
    """Give the pin of each authority in a PEM bundle; ValueError when there is none, or one that is no certificate."""
    blocks = _BLOCK.findall(bundle)
    # Anything else in it could be an authority to TLS that was never looked at here.
    if not blocks or len(blocks) != bundle.count(_BEGIN):
        raise ValueError("not certificates in PEM")
    try:
        return tuple(pin(base64.b64decode(b"".join(block.split()), validate=True)) for block in blocks)
    except binascii.Error:
        raise ValueError("a certificate that is not base64") from None


def pin(certificate: bytes) -> str:
    """Give kubeadm's pin of a certificate in DER: the SHA-256 of its SubjectPublicKeyInfo."""
    return f"sha256:{hashlib.sha256(public_key_info(certificate)).hexdigest()}"


def pinned(found: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """List those of the found pins that are among the allowed ones, whatever the case they are written in."""
    wanted = [each.lower().encode() for each in allowed]
    return tuple(each for each in found if any(hmac.compare_digest(each.encode(), one) for one in wanted))


def public_key_info(certificate: bytes) -> bytes:
    """Cut the SubjectPublicKeyInfo out of a certificate in DER; ValueError when it is none."""
    tag, content, rest = _element(certificate)
    if tag != _SEQUENCE or rest:
        raise ValueError("not one certificate")
    tag, fields, _signature = _element(content)
    if tag != _SEQUENCE:
        raise ValueError("not a certificate")
    if fields[:1] == bytes([_VERSION]):
        fields = _element(fields)[2]
    # Serial number, signature algorithm, issuer, validity and subject come before the key.
    for expected in (_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE):
        tag, _content, after = _element(fields)
        if tag != expected:
            raise ValueError("not a certificate")
        fields = after
    tag, content, after = _element(fields)
    if tag != _SEQUENCE or not content:
        raise ValueError("a certificate without a public key")
    return fields[: len(fields) - len(after)]


def _element(data: bytes) -> tuple[int, bytes, bytes]:
    """Split the first element off: its tag, its content, and what follows it."""
    if len(data) < 2:
        raise ValueError("cut short")
    tag, length, start = data[0], data[1], 2
    if length & 0x80:
        size = length & 0x7F
        digits = data[2 : 2 + size]
        # Indefinite lengths, and digits in front that say nothing, are BER but not DER.
        if not 1 <= size <= 4 or len(digits) != size or digits[0] == 0:
            raise ValueError("a length that is not DER")
        length, start = int.from_bytes(digits, "big"), 2 + size
        if length < 0x80:
            raise ValueError("a length that is not DER")
    if len(data) - start < length:
        raise ValueError("cut short")
    return tag, data[start : start + length], data[start + length :]
