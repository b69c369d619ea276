# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The signature of cluster-info: a JSON Web Signature whose payload lies elsewhere, made with the secret of a token."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json

_ALGORITHM = "HS256"
_NO_JWS = "its signature is not a detached JWS"


def complaint(signature: str, content: str, identifier: str, secret: str) -> str:
    """Say what is wrong with a signature over a content, or nothing; whether it fits is compared in constant time."""
    header, between, given = signature.partition("..")
    try:
        fields, seal = json.loads(_decoded(header)), _decoded(given)
    except (ValueError, RecursionError):
        return _NO_JWS
    if not between or not seal:
        return _NO_JWS
    if not isinstance(fields, dict) or fields.get("alg") != _ALGORITHM:
        return f"its signature is not of the kind {_ALGORITHM}"
    if fields.get("kid") != identifier:
        return "its signature was made with another token"
    if "crit" in fields:
        return "its signature has a header that must be understood and is not"
    expected = hmac.new(secret.encode(), f"{header}.{encoded(content.encode())}".encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(seal, expected):
        return "its signature does not fit the token's secret"
    return ""


def encoded(content: bytes) -> str:
    """Write bytes as a JWS does: base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    plain = text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/"))
    # Both alphabets at once would make several texts of one signature.
    if b"=" in plain or "+" in text or "/" in text:
        raise binascii.Error("not base64 for URLs")
    return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
