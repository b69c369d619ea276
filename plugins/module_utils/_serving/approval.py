# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a request for a serving certificate is approved: by what the inventory knows, and by nothing that a node says of itself."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.asked import Asked, Unreadable, read_request
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import weakness
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import (
    ORGANIZATION,
    SIGNER,
    USAGES,
    USAGES_WITH_ENCIPHERMENT,
    USER,
    user_of,
)

APPROVE = "approve"
LEAVE = "leave"
# Somebody claims to be another host: not only left alone, but told of loudly.
REFUSE = "refuse"


@dataclass(frozen=True)
class Verdict:
    """What is to be done about one request, and why; names are those that it asks for, as far as they could be read."""

    decision: str
    request: str
    requester: str
    node: str
    reason: str
    names: tuple[str, ...] = ()

    def fact(self) -> dict[str, Any]:
        """Describe it for the result."""
        return {"name": self.request, "requester": self.requester, "node": self.node, "names": list(self.names), "reason": self.reason}


def judge(request: Manifest, policy: Policy) -> Verdict:
    """Approve a request only if all of it is right; a claim to what is another's is refused whatever else is wrong with it."""
    spec = request.get("spec") or {}
    requester = str(spec.get("username") or "")
    node = requester[len(USER) :] if requester.startswith(USER) else ""
    asked, problem = _read(spec)
    names = (*asked.dns_names, *asked.ip_addresses) if asked is not None else ()

    def verdict(decision: str, reason: str) -> Verdict:
        return Verdict(decision, str(request["metadata"]["name"]), requester, node, reason, names)

    if asked is None:
        return verdict(LEAVE, problem)
    claim = _claim(node, asked, policy)
    if claim:
        return verdict(REFUSE, claim)
    reason = _requester(spec, node, policy) or _content(spec, node, asked) or _names(node, asked, policy) or _key(asked, policy)
    return verdict(LEAVE, reason) if reason else verdict(APPROVE, f"all of it belongs to {node} by the inventory")


def _read(spec: Mapping[str, Any]) -> tuple[Asked | None, str]:
    try:
        return read_request(base64.b64decode(str(spec.get("request") or ""), validate=True)), ""
    except (binascii.Error, ValueError):
        return None, "it is not in base64"
    except Unreadable as problem:
        return None, str(problem)


def _claim(node: str, asked: Asked, policy: Policy) -> str:
    """Say whose name a request claims that is not its sender's, or nothing; what several hosts share is nobody's to claim."""
    other = asked.common_name[len(USER) :] if asked.common_name.startswith(USER) else ""
    if other and other != node and other in policy.nodes:
        return f"its common name claims to be the node {other}"
    for name in (*asked.dns_names, *asked.ip_addresses):
        if policy.is_reserved(name):
            return f"it claims {name}, by which the API server is known"
        owners = policy.owners_of(name)
        if owners and node not in owners:
            return f"it claims {name}, which the inventory gives to {' and '.join(owners)}"
    return ""


def _requester(spec: Mapping[str, Any], node: str, policy: Policy) -> str:
    if not node:
        return "who asks is not a node"
    if ORGANIZATION not in (spec.get("groups") or ()):
        return f"who asks is not in the group {ORGANIZATION}"
    return "" if node in policy.nodes else f"the inventory has no node {node}"


def _content(spec: Mapping[str, Any], node: str, asked: Asked) -> str:
    if spec.get("signerName") != SIGNER:
        return f"its signer is not {SIGNER}"
    if asked.common_name != user_of(node):
        return f"its common name is not {user_of(node)}"
    if asked.organizations != (ORGANIZATION,):
        return f"its organisation is not {ORGANIZATION} alone"
    if asked.beyond:
        return f"it asks for {asked.beyond[0]}"
    usages = sorted(str(each) for each in spec.get("usages") or ())
    # Kubelets before 1.27 ask for encipherment whatever their key is.
    right = (USAGES_WITH_ENCIPHERMENT,) if asked.key_kind == "RSA" else (USAGES, USAGES_WITH_ENCIPHERMENT)
    if usages not in [sorted(each) for each in right]:
        return f"its usages are {', '.join(usages) or 'none'}"
    return ""


def _names(node: str, asked: Asked, policy: Policy) -> str:
    names = (*asked.dns_names, *asked.ip_addresses)
    if not names:
        return "it names no host and no address"
    for name in names:
        owners = policy.owners_of(name)
        if len(owners) > 1:
            return f"the inventory gives {name} to {' and '.join(owners)}, so that it proves none of them"
        if not owners and not policy.allows(name):
            return f"the inventory does not give {name} to {node}"
    return ""


def _key(asked: Asked, policy: Policy) -> str:
    return weakness(asked.key_kind, asked.key_bits, policy.rsa_bits, policy.ecdsa_bits)
