# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the values of the Secret that carries certificates are opened."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    pass  # the runner says so before any of this is called

NONCE_LENGTH = 12
TAG_LENGTH = 16

_KEY = re.compile(r"[0-9a-fA-F]{64}")


def key_bytes(text: str) -> bytes:
    """Read a certificate key; a text that is none is refused without being shown."""
    if not _KEY.fullmatch(text):
        raise Unusable(
            "certificate_key",
            f"a text of {len(text)} characters is not a certificate key",
            "Give 64 hexadecimal digits, or nothing to have one made",
        )
    return bytes.fromhex(text)


def opened(data: Mapping[str, Any] | None, key: str) -> dict[str, bytes] | None:
    """Decrypt the values of the Secret, or None when one of them was not encrypted with this key.

    An empty value stands for a file that was not there. A Secret with nothing but empty values fits any key.
    """
    try:
        return {name: _open(base64.b64decode(str(value or ""), validate=True), key_bytes(key)) for name, value in (data or {}).items()}
    except (InvalidTag, binascii.Error, ValueError):
        return None


def _open(value: bytes, key: bytes) -> bytes:
    if not value:
        return b""
    if len(value) < NONCE_LENGTH + TAG_LENGTH:
        raise ValueError("too short to hold a nonce and a tag")
    return AESGCM(key).decrypt(value[:NONCE_LENGTH], value[NONCE_LENGTH:], None)
