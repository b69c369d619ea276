# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One pass over the requests for serving certificates, and the wait until kubelets show what was signed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import (
    DecideRequest,
    KubeletPlace,
    RefuseClaims,
    ServeNodes,
    Serving,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approval import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.decision import OUTCOMES, decided
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy, api_server_names, policy_of
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import MIN_ECDSA_BITS, MIN_RSA_BITS
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import SIGNER

_PORT = 10250
_MOST_SHARED = 5


@dataclass(frozen=True)
class Observed:
    """The requests that nobody has decided on, and what the kubelets show that are to be served."""

    requests: tuple[Manifest, ...] = field(repr=False)
    serving: tuple[Serving, ...] = ()
    authority: bytes = field(default=b"", repr=False)


class ServingCsrPhase:
    """Approval of serving certificates by the inventory, as read and plan."""

    name = "serving-csr"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """List the open requests; with nodes to wait for, look at what their kubelets show."""
        places = _places(docs, policy_from(docs, options), options)
        authority = _authority(docs, world) if places else b""
        requests = tuple(world.signing.requests(SIGNER, is_open))
        return Observed(requests, world.ports.look(places, authority), authority)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Judge each request; approve what is right, leave or deny the rest, and stop in the end if somebody claims another's name."""
        policy = policy_from(docs, options)
        decide = partial(decided, policy=policy, deny=bool(options.get("deny")))
        decisions = [decide(request) for request in seen.requests]
        facts = {outcome: [each.fact for each in decisions if each.outcome == outcome] for outcome in OUTCOMES}
        claims = tuple(each.claim for each in decisions if each.claim is not None)
        changes = [_change(each.action, each.fact) for each in decisions if each.action is not None]
        unserved = [each for each in seen.serving if not each.served]
        if unserved:
            action = ServeNodes(
                places=_places(docs, policy, options),
                authority=seen.authority,
                signer=SIGNER,
                seconds=options["timeout"].total_seconds(),
                opened=is_open,
                decide=decide,
                facts=facts,
                claims=claims,
            )
            changes.append(_served(unserved, action))
        elif claims and changes:
            changes.append(Change("requests that claim others' names", "they are refused", "", "", RefuseClaims(claims, facts)))
        elif claims:
            raise ManyUnusable(claims, facts)
        serving = [
            {"node": each.node, "address": each.address, "served": each.served, "problem": each.problem, "expires": each.expires}
            for each in seen.serving
        ]
        return Plan(tuple(changes), {**facts, "serving": serving}, (*map(str, claims), *shared_names(policy)))


def policy_from(docs: Documents, options: Mapping[str, Any]) -> Policy:
    """Take the policy from the options, and the API server's own names from the documents."""
    networks = parse_networks(docs.cluster.networking.service_subnet) or []
    first = [str(network[1]) for network in networks if network.num_addresses > 1]
    return policy_of(
        options.get("policy"),
        options.get("allowed_names") or (),
        api_server_names(docs.cluster.networking.dns_domain, first),
        options.get("min_rsa_bits") or MIN_RSA_BITS,
        options.get("min_ecdsa_bits") or MIN_ECDSA_BITS,
    )


def _places(docs: Documents, policy: Policy, options: Mapping[str, Any]) -> tuple[KubeletPlace, ...]:
    names = list(dict.fromkeys(options.get("wait_for") or ()))
    strange = [name for name in names if name not in policy.nodes]
    if strange:
        raise Unusable("wait_for", f"the policy has no node {', '.join(strange)}", "Give the names and addresses of each node in policy")
    return tuple(KubeletPlace(name, policy.reached_at[name], int(docs.kubelet.get("port") or _PORT)) for name in names)


def _authority(docs: Documents, world: Any) -> bytes:
    path = f"{docs.cluster.certificates_dir}/ca.crt"
    found = world.files.read(path)
    if found is None:
        raise Unusable(path, "the certificate authority is missing", "Run this on a control plane, after the certs phase (pki_cert)")
    content: bytes = found.content
    return content


def _change(action: DecideRequest, fact: Mapping[str, Any]) -> Change:
    names = ", ".join(fact["names"])
    after = f"condition: {'Approved' if action.approve else 'Denied'}\nnode: {fact['node']}\nnames: {names}\n"
    return Change(f"CertificateSigningRequest {fact['name']}", action.message, "", after, action)


def _served(unserved: Sequence[Serving], action: ServeNodes) -> Change:
    before = "".join(f"{each.node}: {each.problem}\n" for each in unserved)
    after = "".join(f"{each.node}: a certificate that the cluster's CA signed\n" for each in unserved)
    names = ", ".join(each.node for each in unserved)
    return Change("serving certificates of kubelets", f"{names} cannot be verified yet", before, after, action)


def shared_names(policy: Policy) -> list[str]:
    """Warn of what a policy gives to several nodes."""
    shared = list(policy.shared.items())
    told = [f"{name} is given to {' and '.join(nodes)}: no request that carries it is approved" for name, nodes in shared[:_MOST_SHARED]]
    return [*told, f"… and {len(shared) - _MOST_SHARED} more are given to several nodes"] if len(shared) > _MOST_SHARED else told
