# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the verdict on a request comes to: approved, told of, denied or refused."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import DecideRequest, Decision
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approval import APPROVE, LEAVE, Verdict, judge
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy

APPROVED, REFUSED, PENDING, DENIED = "approved", "refused", "pending", "denied"
OUTCOMES = (APPROVED, REFUSED, PENDING, DENIED)
_REASON = "KubephaseInventory"


def decided(request: Manifest, policy: Policy, deny: bool) -> Decision:
    """Turn the verdict on a request into what is done about it."""
    verdict = judge(request, policy)
    if verdict.decision == APPROVE:
        return Decision(APPROVED, verdict.fact(), DecideRequest(request, True, _REASON, verdict.reason))
    denial = DecideRequest(request, False, _REASON, verdict.reason) if deny else None
    if verdict.decision == LEAVE:
        return Decision(DENIED if deny else PENDING, verdict.fact(), denial)
    return Decision(REFUSED, verdict.fact(), denial, claimed(verdict))


def claimed(verdict: Verdict) -> Unusable:
    """Say that somebody wants to pass for another host."""
    return Unusable(
        f"CertificateSigningRequest {verdict.request} of {verdict.requester or 'nobody'}",
        f"REFUSED: {verdict.reason}",
        "Find out who filed it and with whose credentials. If the inventory is wrong, correct it. Then delete the request",
    )
