# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of a request for a certificate, and what an error of the API server says about that server."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import WAIT_LIMIT
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import SIGNER

PENDING, APPROVED, ISSUED = "pending", "approved", "issued"
DENIED, FAILED, GONE, LATE = "denied", "failed", "gone", "late"

WELL, REFUSED, UNWELL = "well", "refused", "unwell"
_UNEXPECTED = "UnexpectedServerResponse"


@dataclass(frozen=True)
class Fate:
    """How far a request has come; the message is for a person."""

    state: str
    message: str = ""
    certificate: bytes = field(default=b"", repr=False)

    @property
    def failure(self) -> bool:
        """Whether it counts as a failed renewal, and has to be made anew."""
        return self.state in (DENIED, FAILED, GONE, LATE)


def conditions(request: Manifest) -> dict[str, Mapping[str, Any]]:
    """The decisions on a request, by their type."""
    return {str(each.get("type")): each for each in (request.get("status") or {}).get("conditions") or ()}


def is_open(request: Manifest) -> bool:
    """Say whether nobody has decided on a request for a serving certificate yet."""
    spec = request.get("spec") or {}
    return spec.get("signerName") == SIGNER and not conditions(request) and not (request.get("status") or {}).get("certificate")


def fate_of(request: Manifest | None, uid: str = "", waited: timedelta = timedelta(0), limit: timedelta = WAIT_LIMIT) -> Fate:
    """Judge a request as its sender; one of another uid is somebody else's, who took its name."""
    if request is None:
        return Fate(GONE, "it was deleted")
    if uid and request["metadata"].get("uid") != uid:
        return Fate(GONE, "it was deleted, and another took its name")
    found = conditions(request)
    for kind, state, words in (("Denied", DENIED, "it was denied"), ("Failed", FAILED, "its signing failed")):
        if kind in found:
            told = " ".join(str(found[kind].get(name) or "") for name in ("reason", "message")).strip()
            return Fate(state, f"{words}: {told}" if told else words)
    approved = "Approved" in found
    certificate = _decoded((request.get("status") or {}).get("certificate"))
    if approved and certificate:
        return Fate(ISSUED, "it was signed", certificate)
    words = "it is approved, and nobody has signed it" if approved else "nobody has approved it"
    if waited >= limit:
        return Fate(LATE, f"{words} within {limit.total_seconds():.0f} s")
    return Fate(APPROVED if approved else PENDING, words)


def server_state(status: int, reason: str = "", causes: tuple[str, ...] = ()) -> str:
    """Tell from an answer to a request whether the API server refused it in good health, or is not well."""
    if 200 <= status < 300:
        return WELL
    # A proxy that ends TLS may say this in the server's place; it is taken for an answer all the same.
    if status == 401 or reason == "Unauthorized":
        return REFUSED
    # An error page that no API server writes comes from something in front of it.
    if _UNEXPECTED in causes:
        return UNWELL
    return REFUSED if status in (403, 404) or reason in ("Forbidden", "NotFound") else UNWELL


def _decoded(data: Any) -> bytes:
    try:
        return base64.b64decode(str(data or ""), validate=True)
    except (binascii.Error, ValueError):
        return b""
