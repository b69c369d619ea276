# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secret that carries certificates to joining control planes: encrypted and stored, with the token that ends its life."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint, certificate_key
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, DeleteObject, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import DownloadLater, Minted, UploadCertificates

try:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError:
    pass  # the runner says so before any of this is called

_NONCE_LENGTH = 12


class CertsSecret:
    """Carries out what a plan asks of encrypted certificates."""

    applies = (UploadCertificates,)

    def __init__(self, api: Any) -> None:
        self._api = api
        self._mint = Mint(api)

    def apply(self, action: Action) -> dict[str, Minted]:
        """Store the Secret with a new owner; whatever step a kill falls on, the owner's expiry cleans up."""
        if not isinstance(action, UploadCertificates):
            return {}
        key = action.certificate_key or certificate_key()
        _token, owner = self._mint.token(action.owner)
        reference = owner_reference(self._api, owner)
        if action.replaces:
            # A new object rather than a changed one: values that others left there would spoil its decryption.
            self._api.apply(DeleteObject(action.key))
        self._api.apply(CreateObject(sealed(action.key, action.files, bytes.fromhex(key), reference)))
        if action.stale_owner is not None:
            self._api.apply(DeleteObject(action.stale_owner))
        return {} if action.certificate_key else {"certificate_key": Minted(key)}


class Later:
    """Refuses what cannot be downloaded yet; a check only shows it."""

    applies = (DownloadLater,)

    def apply(self, action: Action) -> None:
        """Say what is lacking."""
        if isinstance(action, DownloadLater):
            raise Unusable(action.path, action.lacking, action.fix)


def owner_reference(api: Any, key: ObjectKey) -> dict[str, Any]:
    """Point at the object that others are removed with."""
    owner = api.get(key)
    if owner is None:
        raise Unusable(str(key), "it vanished as soon as it was made", "See that the clocks of the control planes agree, and run again")
    return {
        "apiVersion": key.api_version,
        "kind": key.kind,
        "name": key.name,
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def sealed(secret: ObjectKey, files: Mapping[str, bytes | None], key: bytes, owner: dict[str, Any]) -> dict[str, Any]:
    """Render a Secret with every file encrypted, and an empty value for one that is not there."""
    values = {name: b"" if content is None else encrypt(content, key) for name, content in files.items()}
    return {
        "apiVersion": secret.api_version,
        "kind": secret.kind,
        "metadata": {"name": secret.name, "namespace": secret.namespace, "ownerReferences": [owner]},
        "type": "Opaque",
        "data": {name: base64.b64encode(value).decode() for name, value in values.items()},
    }


def encrypt(content: bytes, key: bytes) -> bytes:
    """Encrypt as kubeadm does: a random nonce, then AES-GCM's ciphertext and tag, nothing else authenticated."""
    nonce = os.urandom(_NONCE_LENGTH)
    return nonce + AESGCM(key).encrypt(nonce, content, None)
