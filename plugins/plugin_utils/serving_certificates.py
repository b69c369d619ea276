# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the variable for serving certificates means on the controller: for the documents, for modules, for who owns which name."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleActionFail

VARIABLE = "kubephase_kubelet_serving_certificates"
SELF_SIGNED, BY_KUBELET, BY_COLLECTION = MODES = ("self-signed", "kubelet", "collection")

_BOOTSTRAP = "serverTLSBootstrap"
_JUDGES = ("serving_csr", "serving_approver")


def checked(mode: Any) -> str:
    """Read the variable; nothing means what kubeadm does."""
    if mode is None:
        return SELF_SIGNED
    if mode not in MODES:
        raise AnsibleActionFail(f"{VARIABLE}: found {mode!r}; expected one of {', '.join(MODES)}")
    return str(mode)


def settle(mode: str, documents: dict[str, dict[str, Any]], joins: bool) -> None:
    """Turn the request by the kubelet itself on in the documents; who joins with none takes those of the cluster, which have it."""
    given = documents.get("KubeletConfiguration", {}).get(_BOOTSTRAP)
    contradiction = {BY_KUBELET: False, BY_COLLECTION: True}.get(mode)
    if given is not None and given is contradiction:
        raise AnsibleActionFail(
            f"{VARIABLE} is {mode}, and KubeletConfiguration.{_BOOTSTRAP} is {str(given).lower()}: they contradict each other. "
            f"Leave {_BOOTSTRAP} out, or choose another value for {VARIABLE}"
        )
    if mode == BY_KUBELET and not (joins and not documents.keys() & {"ClusterConfiguration", "KubeletConfiguration"}):
        documents.setdefault("KubeletConfiguration", {})[_BOOTSTRAP] = True


def serving_options(module: str, mode: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Tell modules what the variable says; what a task itself says wins."""
    found: dict[str, Any] = {}
    if mode != SELF_SIGNED and module in ("static_pod", "etcd_member", "phase_plan"):
        found["verify_kubelets"] = "keep"
    if module == "phase_plan":
        found["serving_certificates"] = mode
    return {name: value for name, value in found.items() if options.get(name) is None}


def needs_policy(module: str, options: Mapping[str, Any]) -> bool:
    """Say whether a task leaves it to the inventory who owns which name."""
    return module in _JUDGES and options.get("policy") is None and options.get("state") != "absent"


@dataclass(frozen=True)
class KnownHost:
    """A host as the inventory states it and, if it was looked at in this run, as it was found."""

    inventory_name: str
    stated: Sequence[str] = ()
    # What phase_plan returned as serving; empty for a host that this run has not looked at.
    found: Mapping[str, Any] = field(default_factory=dict)


def known_host(name: str, variables: Mapping[str, Any]) -> KnownHost:
    """Take from a host's variables what the inventory says, and what a plan found."""
    own = variables.get("kubephase_serving_names") or []
    stated = [variables.get("ansible_host"), *([own] if isinstance(own, str) else own)]
    plans = (variables.get(each) for each in ("kubephase_plan", "init_plan", "join_plan"))
    found: Mapping[str, Any] = next(
        (plan["serving"] for plan in plans if isinstance(plan, Mapping) and (plan.get("serving") or {}).get("addresses")), {}
    )
    return KnownHost(name, tuple(str(each) for each in stated if each), found)


def policy(hosts: Sequence[KnownHost]) -> dict[str, dict[str, list[str]]]:
    """Say to which node each name and address belongs.

    What the inventory states counts for more than what was found on a host. What was found on several hosts belongs to
    none of them. While some host was not looked at, nodes that the approver knows already stay as they are.
    """
    stated = {each.inventory_name: _split([each.inventory_name, *each.stated]) for each in hosts}
    taken = {name for dns_names, addresses in stated.values() for name in (*dns_names, *addresses)}
    found = {each.inventory_name: _split([each.found.get("hostname"), *(each.found.get("addresses") or ())]) for each in hosts}
    counts: dict[str, int] = {}
    for dns_names, addresses in found.values():
        for name in {*dns_names, *addresses}:
            counts[name] = counts.get(name, 0) + 1
    result: dict[str, dict[str, list[str]]] = {}
    claimed: dict[str, str] = {}
    for each in hosts:
        node = str(each.found.get("node") or each.inventory_name)
        if node in claimed:
            raise AnsibleActionFail(
                f"{claimed[node]} and {each.inventory_name} are both the node {node}, so nobody can tell whose certificates are whose. "
                "Give each host a name of its own, in nodeRegistration.name or on the host, and see that none passes for another"
            )
        claimed[node] = each.inventory_name
        own = [[name for name in kind if name not in taken and counts[name] == 1] for kind in found[each.inventory_name]]
        dns_names, addresses = stated[each.inventory_name]
        result[node] = {
            "dns_names": sorted({*dns_names, *own[0]}),
            "ip_addresses": sorted({*addresses, *own[1]}),
        }
    if all(each.found for each in hosts):
        return result
    kept = {node: dict(given) for each in hosts for node, given in (each.found.get("policy") or {}).items()}
    return {**kept, **{node: given for node, given in result.items() if node not in kept or _was_found(hosts, node)}}


def _was_found(hosts: Sequence[KnownHost], node: str) -> bool:
    return any(each.found.get("node") == node for each in hosts)


def _split(names: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Tell names from addresses, each in one spelling."""
    dns_names, addresses = [], []
    for name in names:
        try:
            addresses.append(str(ipaddress.ip_address(str(name))))
        except ValueError:
            dns_names += [str(name).lower()] if name else []
    return dns_names, addresses
