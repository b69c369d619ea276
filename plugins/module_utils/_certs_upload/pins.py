# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins of certificate authorities, by which a joining node knows the cluster that it was sent to."""

from __future__ import annotations

import hashlib
import re

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    pass  # the runner says so before any of this is called

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def pins(bundle: bytes, where: str) -> tuple[str, ...]:
    """The pin of every authority in a bundle: the SHA-256 of its public key, as kubeadm writes it."""
    try:
        found = [x509.load_pem_x509_certificate(pem).public_key() for pem in _CERTIFICATE.findall(bundle)]
    except ValueError:
        found = []
    if not found:
        raise Unusable(where, "its certificate authority is no certificate in PEM", "Restore it from a backup")
    keys = [key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for key in found]
    return tuple(f"sha256:{hashlib.sha256(key).hexdigest()}" for key in dict.fromkeys(keys))
