# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests for certificates: listed, decided on, and waited for until the kubelets show what was signed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import ADMIN, Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kubelet_port import KubeletPorts
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import DecideRequest, RefuseClaims, ServeNodes, Serving

API_VERSION = "certificates.k8s.io/v1"
KIND = "CertificateSigningRequest"
_PAGE = 250
_TRIES = 5


class SigningApi(Api):
    """An API server whose requests for certificates we decide on."""

    applies: tuple[type[Action], ...] = (DecideRequest, RefuseClaims, ServeNodes)

    def __init__(
        self, files: Any, ports: KubeletPorts | None = None, kubeconfig: str = ADMIN, server: str = "", deadline: float | None = None
    ) -> None:
        super().__init__(files, kubeconfig, server, deadline)
        self._ports = ports or KubeletPorts()

    def requests(self, signer: str, wanted: Callable[[Manifest], bool]) -> tuple[Manifest, ...]:
        """List the requests to a signer that are wanted, page by page: a node may file as many as it likes."""
        path = self._path(ObjectKey(API_VERSION, KIND, "", ""))
        found: list[Manifest] = []
        if path is None:
            return ()
        query = {"fieldSelector": f"spec.signerName={signer}", "limit": str(_PAGE)}
        while True:
            reply = self._send("GET", path, query)
            if reply.status == 410 and "continue" in query:
                # The list is too old to be read on: from the start, without what was seen already.
                del query["continue"]
                found = []
                continue
            body = self._body(reply, f"{KIND} objects", "listed")
            found += [each for each in body.get("items") or () if wanted(each)]
            following = (body.get("metadata") or {}).get("continue")
            if not following:
                return tuple({"apiVersion": API_VERSION, "kind": KIND, **each} for each in found)
            query["continue"] = following

    def apply(self, action: Action) -> Mapping[str, Any] | None:  # type: ignore[override]
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, DecideRequest):
            self.decide(action)
        elif isinstance(action, RefuseClaims):
            raise ManyUnusable(action.claims, action.facts)
        elif isinstance(action, ServeNodes):
            return self._serve(action)
        return None

    def decide(self, action: DecideRequest) -> bool:
        """Write the decision onto what was judged; False when it is gone, or somebody else was faster."""
        request = action.request
        key = ObjectKey(API_VERSION, KIND, "", request["metadata"]["name"])
        condition = {
            "type": "Approved" if action.approve else "Denied",
            "status": "True",
            "reason": action.reason,
            "message": action.message,
        }
        for _try in range(_TRIES):
            status = request.get("status") or {}
            body = {**request, "status": {**status, "conditions": [*(status.get("conditions") or ()), condition]}}
            # With the version of what was judged in it: another request that took its name is not touched.
            reply = self._send("PUT", f"{self._known_path(key)}/approval", {"fieldManager": api_fields.MANAGER}, body)
            if reply.status == 404:
                return False
            if reply.status != 409:
                self._body(reply, str(key), "approved" if action.approve else "denied")
                return True
            now = self.get(key)
            if now is None or now["metadata"]["uid"] != request["metadata"]["uid"] or (now.get("status") or {}).get("conditions"):
                return False
            request = now
        raise Unusable(str(key), "others kept writing it at the same time", "Find out which controller writes it, and run again")

    def _serve(self, action: ServeNodes) -> dict[str, Any]:
        facts: dict[str, list[Mapping[str, Any]]] = {name: list(listed) for name, listed in action.facts.items()}
        told = {str(fact["name"]) for listed in facts.values() for fact in listed}
        claims = list(action.claims)
        end = time.monotonic() + action.seconds
        while True:
            begun = time.monotonic()
            for request in self.requests(action.signer, action.opened):
                decision = action.decide(request)
                done = decision.action is None or self.decide(decision.action)
                if done and str(decision.fact["name"]) not in told:
                    told.add(str(decision.fact["name"]))
                    facts[decision.outcome].append(decision.fact)
                    claims += [decision.claim] if decision.claim else []
            found = self._ports.look(action.places, action.authority)
            result = {**facts, "serving": [_fact(each) for each in found]}
            if all(each.served for each in found):
                break
            if time.monotonic() >= end:
                late = [_late(each, facts, action.seconds) for each in found if not each.served]
                raise ManyUnusable((*claims, *late), result)
            # As long again as a look took: in a large cluster they must not follow each other without a pause.
            time.sleep(max(action.poll_seconds, time.monotonic() - begun))
        if claims:
            raise ManyUnusable(tuple(claims), result)
        return result


def _fact(found: Serving) -> dict[str, Any]:
    return {**asdict(found), "served": found.served}


def _late(found: Serving, facts: Mapping[str, list[Mapping[str, Any]]], seconds: float) -> Unusable:
    """Say what is known of a kubelet that does not serve, and of its requests."""
    own = [
        f"its request {fact['name']} is {outcome}: {fact['reason']}"
        for outcome, all_of in facts.items()
        for fact in all_of
        if fact["node"] == found.node
    ]
    said = "; ".join([f"after {seconds:.0f} s {found.problem}", *(own[-3:] or ["no request of it was seen"])])
    fix = "Is serverTLSBootstrap on in its KubeletConfiguration, and does kube-controller-manager hold the CA's key? See the kubelet's log"
    return Unusable(f"node {found.node}, {found.address}", said, fix)
