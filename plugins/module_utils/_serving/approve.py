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
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.decision import OUTCOMES, decided
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy, api_server_names, policy_of
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import MIN_ECDSA_BITS, MIN_RSA_BITS
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import SIGNER

_PORT = 10250
# In the order in which kubeadm lets the API server choose.
_PREFERRED = ("InternalIP", "ExternalIP", "Hostname")
_MOST_SHARED = 5


@dataclass(frozen=True)
class Observed:
    """The requests that nobody has decided on, and what the kubelets show that are to be served."""

    requests: tuple[Manifest, ...] = field(repr=False)
    places: tuple[KubeletPlace, ...] = ()
    serving: tuple[Serving, ...] = ()
    # What the other kubelets of the cluster show, when that was asked for.
    others: tuple[Serving, ...] = ()
    authority: bytes = field(default=b"", repr=False)


class ServingCsrPhase:
    """Approval of serving certificates by the inventory, as read and plan."""

    name = "serving-csr"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """List the open requests; with nodes to wait for, look at what their kubelets show."""
        policy = policy_from(docs, options)
        awaited = _awaited(policy, options)
        told = _told(world) if awaited or options.get("whole_cluster") else {}
        places = tuple(_place(docs, name, told.get(name) or policy.reached_at[name]) for name in awaited)
        rest = [name for name in told if name not in awaited] if options.get("whole_cluster") else []
        others = tuple(_place(docs, name, told[name] or name) for name in rest)
        authority = _authority(docs, world) if places or others else b""
        requests = tuple(world.signing.requests(SIGNER, is_open))
        found = world.ports.look((*places, *others), authority)
        return Observed(requests, places, found[: len(places)], found[len(places) :], authority)

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
                places=seen.places,
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
        shown = {"serving": [_shown(each) for each in seen.serving], "others": [_shown(each) for each in seen.others]}
        return Plan(tuple(changes), {**facts, **shown}, (*map(str, claims), *shared_names(policy)))


def policy_from(docs: Documents, options: Mapping[str, Any]) -> Policy:
    """Take the policy from the options, and the API server's own names from the documents."""
    networks = parse_networks(docs.cluster.networking.service_subnet) or []
    first = [str(network[1]) for network in networks if network.num_addresses > 1]
    return policy_of(
        options.get("policy") or {},
        options.get("allowed_names") or (),
        api_server_names(docs.cluster.networking.dns_domain, first),
        options.get("min_rsa_bits") or MIN_RSA_BITS,
        options.get("min_ecdsa_bits") or MIN_ECDSA_BITS,
    )


def _awaited(policy: Policy, options: Mapping[str, Any]) -> list[str]:
    names = list(dict.fromkeys(options.get("wait_for") or ()))
    strange = [name for name in names if name not in policy.nodes]
    if strange:
        raise Unusable("wait_for", f"the policy has no node {', '.join(strange)}", "Give the names and addresses of each node in policy")
    return names


def _told(world: Any) -> dict[str, str]:
    """Where the API server reaches the kubelet of each Node. That nothing is approved by; it is only where one looks."""
    found = {}
    for node in world.signing.list("v1", "Node"):
        addresses = {
            str(each.get("type")): str(each.get("address") or "") for each in reversed((node.get("status") or {}).get("addresses") or ())
        }
        found[str(node["metadata"]["name"])] = next((addresses[kind] for kind in _PREFERRED if addresses.get(kind)), "")
    return found


def _place(docs: Documents, name: str, address: str) -> KubeletPlace:
    return KubeletPlace(name, address, int(docs.kubelet.get("port") or _PORT))


def _shown(found: Serving) -> dict[str, Any]:
    return {"node": found.node, "address": found.address, "served": found.served, "problem": found.problem, "expires": found.expires}


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
