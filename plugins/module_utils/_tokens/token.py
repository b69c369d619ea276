# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bootstrap tokens as data: read from text and from Secrets, and written as kubeadm writes them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey

NAMESPACE = "kube-system"
SECRET_TYPE = "bootstrap.kubernetes.io/token"  # noqa: S105 - the name of a type
PREFIX = "bootstrap-token-"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_IDENTIFIER = re.compile(r"[a-z0-9]{6}")
_USAGE = "usage-bootstrap-"


@dataclass(frozen=True)
class Token:
    """A bootstrap token; without an expiry it lives until somebody deletes it, and without an id it is yet to be drawn."""

    identifier: str = ""
    secret: str = field(default="", repr=False)
    description: str = ""
    expires: str = ""
    usages: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def key(self) -> ObjectKey:
        """The Secret that holds it."""
        return ObjectKey("v1", "Secret", NAMESPACE, f"{PREFIX}{self.identifier}")


def split(text: str, where: str) -> tuple[str, str]:
    """Tell a token's id from its secret; a text that is no token is refused without being shown."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise Unusable(
            where,
            f"a text of {len(text)} characters is not a bootstrap token",
            "Give 6 characters, a dot and 16 characters, all of a-z and 0-9",
        )
    return match[1], match[2]


def is_identifier(text: str) -> bool:
    """Whether a text can be the id of a token."""
    return _IDENTIFIER.fullmatch(text) is not None


def expiry(now: datetime, lifetime: timedelta | None, moment: str, where: str) -> str:
    """Write down when a token ends: at a given moment, or after a lifetime, or never."""
    if moment:
        return _utc(moment, where)
    return stamp(now + lifetime) if lifetime else ""


def stamp(moment: datetime) -> str:
    """Write a moment as token Secrets carry it."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def expired(token: Token, now: datetime) -> bool:
    """Whether a token is of no use any more; the API server takes one whose expiry it cannot read for expired."""
    try:
        return bool(token.expires) and _moment(token.expires) <= now
    except (ValueError, OverflowError):
        return True


def terms(token: Token) -> dict[str, str]:
    """Write down what a token is for and when it ends: all that its Secret holds beside its id and secret."""
    texts = {"description": token.description} if token.description else {}
    if token.expires:
        texts["expiration"] = token.expires
    texts.update({f"{_USAGE}{usage}": "true" for usage in token.usages})
    if token.groups:
        texts["auth-extra-groups"] = ",".join(token.groups)
    return texts


def to_secret(token: Token) -> Manifest:
    """Render the Secret of a token."""
    texts = {"token-id": token.identifier, "token-secret": token.secret, **terms(token)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": token.key.name, "namespace": NAMESPACE},
        "type": SECRET_TYPE,
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()},
    }


def from_secret(manifest: Manifest) -> Token | None:
    """Read a token from a Secret; None when the Secret holds none, whatever its type says."""
    name = str(manifest.get("metadata", {}).get("name", ""))
    if manifest.get("type") != SECRET_TYPE or not name.startswith(PREFIX):
        return None
    texts = {key: _text(value) for key, value in (manifest.get("data") or {}).items()}
    groups = texts.get("auth-extra-groups", "")
    return Token(
        identifier=name[len(PREFIX) :],
        secret=texts.get("token-secret", ""),
        description=texts.get("description", ""),
        expires=texts.get("expiration", ""),
        usages=tuple(sorted(key[len(_USAGE) :] for key, text in texts.items() if key.startswith(_USAGE) and text == "true")),
        groups=tuple(groups.split(",")) if groups else (),
    )


def public(token: Token) -> dict[str, Any]:
    """Tell all about a token but its secret."""
    return {
        "id": token.identifier,
        "description": token.description,
        "expires": token.expires,
        "usages": sorted(token.usages),
        "groups": list(token.groups),
    }


def lines(token: Token) -> str:
    """Tell the same for a diff."""
    facts: Mapping[str, Any] = {**public(token), "id": token.identifier or "(new)", "expires": token.expires or "never"}
    return "".join(f"{name}: {', '.join(value) if isinstance(value, list) else value}\n" for name, value in facts.items())


def _utc(text: str, where: str) -> str:
    try:
        return stamp(_moment(text))
    except (ValueError, OverflowError):
        raise Unusable(where, f"{text!r} is not a moment", "Give one such as 2030-01-31T12:00:00Z") from None


def _moment(text: str) -> datetime:
    upper = re.sub(r"\.[0-9]+", "", text.upper())
    found = datetime.fromisoformat(f"{upper[:-1]}+00:00" if upper.endswith("Z") else upper)
    if found.tzinfo is None:
        raise ValueError("no offset")
    return found.astimezone(timezone.utc)


def _text(value: Any) -> str:
    try:
        return base64.b64decode(str(value)).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""
