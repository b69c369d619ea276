# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who owns which name and address, as the inventory and facts gathered over ssh know it; never as a node says of itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import MIN_ECDSA_BITS, MIN_RSA_BITS
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import parsed_ip

_Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
_FIX = "Give each node its dns_names and ip_addresses as lists, and allowed_names as a list of names, addresses or networks"
_EVERYBODYS = ("localhost",)


@dataclass(frozen=True)
class Policy:
    """Names and addresses by their owners; ``allowed`` and ``networks`` may be carried by any node that has its own name right."""

    owners: Mapping[str, tuple[str, ...]]
    # The address at which a node's kubelet is reached: the first that was given for it.
    reached_at: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] = frozenset()
    networks: tuple[_Network, ...] = ()
    # What belongs to the API server: who can show a certificate for it can pass for the cluster itself.
    reserved: frozenset[str] = frozenset()
    rsa_bits: int = MIN_RSA_BITS
    ecdsa_bits: int = MIN_ECDSA_BITS

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that the inventory knows."""
        return tuple(self.reached_at)

    def owners_of(self, name: str) -> tuple[str, ...]:
        """The nodes to which a name or address was given."""
        return self.owners.get(key_of(name), ())

    def allows(self, name: str) -> bool:
        """Say whether the allow-list has a name or address."""
        address = parsed_ip(name)
        return key_of(name) in self.allowed or (address is not None and any(address in network for network in self.networks))

    def is_reserved(self, name: str) -> bool:
        """Say whether a name or address is the API server's."""
        return key_of(name) in self.reserved

    @property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """What was given to more than one node, and therefore proves none."""
        return {name: nodes for name, nodes in self.owners.items() if len(nodes) > 1}


def key_of(name: str) -> str:
    """Write a name or address the one way in which they are compared: case and a last dot do not tell names apart."""
    address = parsed_ip(name)
    return name.lower().rstrip(".") if address is None else str(address)


def policy_of(
    nodes: Mapping[str, Any] | None,
    allowed: Sequence[str] = (),
    reserved: Iterable[str] = (),
    rsa_bits: int = MIN_RSA_BITS,
    ecdsa_bits: int = MIN_ECDSA_BITS,
) -> Policy:
    """Build a policy from what was given for each node; everything that is wrong with it is told at once."""
    problems: list[Unusable] = []
    owners: dict[str, list[str]] = {}
    reached_at: dict[str, str] = {}
    for node, given in (nodes or {}).items():
        found = _given(str(node), given, problems)
        for name in found:
            holders = owners.setdefault(key_of(name), [])
            holders += [str(node)] if str(node) not in holders else []
        reached_at[str(node)] = _reached(found)
    names, networks = _allowed(allowed, problems)
    if problems:
        raise ManyUnusable(tuple(problems))
    return Policy(
        owners={name: tuple(holders) for name, holders in owners.items()},
        reached_at=reached_at,
        allowed=frozenset(names),
        networks=tuple(networks),
        reserved=frozenset(map(key_of, reserved)),
        rsa_bits=rsa_bits,
        ecdsa_bits=ecdsa_bits,
    )


def api_server_names(dns_domain: str, service_addresses: Iterable[str]) -> tuple[str, ...]:
    """The names by which pods know the API server."""
    return ("kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{dns_domain}", *service_addresses)


def _given(node: str, given: Any, problems: list[Unusable]) -> list[str]:
    """All that was given for a node, addresses first, its own name last; what every host has proves nothing and is left out."""
    where = f"policy.{node}"
    if not isinstance(given, Mapping) or set(given) - {"dns_names", "ip_addresses"}:
        problems.append(Unusable(where, "expected a map with dns_names and ip_addresses", _FIX))
        return [node]
    lists = {kind: given.get(kind) or [] for kind in ("ip_addresses", "dns_names")}
    for kind, values in lists.items():
        if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) and value for value in values):
            problems.append(Unusable(f"{where}.{kind}", "expected a list of texts", _FIX))
            return [node]
    problems += [
        Unusable(f"{where}.ip_addresses", f"{value!r} is not an IP address", _FIX)
        for value in lists["ip_addresses"]
        if parsed_ip(value) is None
    ]
    problems += [
        Unusable(f"{where}.dns_names", f"{value!r} stands for many names", "Name each host by itself")
        for value in lists["dns_names"]
        if "*" in value
    ]
    return [name for name in dict.fromkeys([*lists["ip_addresses"], *lists["dns_names"], node]) if not _everybodys(name)]


def _everybodys(name: str) -> bool:
    address = parsed_ip(name)
    if address is None:
        return key_of(name) in _EVERYBODYS
    return address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified


def _reached(names: Sequence[str]) -> str:
    return next((name for name in names if parsed_ip(name) is not None), names[0] if names else "")


def _allowed(given: Sequence[str], problems: list[Unusable]) -> tuple[list[str], list[_Network]]:
    names, networks = [], []
    for each in given:
        if "/" not in each and "*" not in each and each:
            names.append(key_of(each))
            continue
        try:
            networks.append(ipaddress.ip_network(each, strict=False))
        except ValueError:
            problems.append(Unusable("allowed_names", f"{each!r} is neither a name nor an address nor a network", _FIX))
    return names, networks
