# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where new secrets come from, and how new bootstrap tokens are stored."""

from __future__ import annotations

import base64
import secrets
import string
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, ObjectKey, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import Minted, MintToken

_LETTERS = string.ascii_lowercase + string.digits


class Mint:
    """Makes bootstrap tokens from the host's randomness."""

    applies = (MintToken,)

    def __init__(self, api: Any) -> None:
        self._api = api

    def apply(self, action: Action) -> dict[str, Minted]:
        """Carry out one of the actions of ``applies``."""
        if not isinstance(action, MintToken):
            return {}
        token, _key = self.token(action)
        return {action.returned: Minted(token)} if action.returned else {}

    def token(self, action: MintToken) -> tuple[str, ObjectKey]:
        """Create a token; give it, and the Secret that holds it."""
        identifier, secret = _draw(6), _draw(16)
        texts = {"token-id": identifier, "token-secret": secret, **action.terms}
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"bootstrap-token-{identifier}", "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "data": {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()},
        }
        self._api.apply(CreateObject(manifest))
        return f"{identifier}.{secret}", key_of(manifest)


def certificate_key() -> str:
    """Make an AES-256 key, in hexadecimal digits."""
    return secrets.token_hex(32)


def _draw(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _character in range(length))
