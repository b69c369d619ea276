# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a kubelet asks for: its names and addresses, who signs, and what the certificate is good for."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

SIGNER = "kubernetes.io/kubelet-serving"
USER = "system:node:"
ORGANIZATION = "system:nodes"

_SIGNATURE, _ENCIPHERMENT, _SERVER = "digital signature", "key encipherment", "server auth"
USAGES = (_SIGNATURE, _SERVER)
USAGES_WITH_ENCIPHERMENT = (_SIGNATURE, _ENCIPHERMENT, _SERVER)

_IP_TYPES = ("ExternalIP", "InternalIP")
_DNS_TYPES = ("ExternalDNS", "InternalDNS")


@dataclass(frozen=True)
class Template:
    """The names that a serving certificate must carry; two requests with equal ones ask for the same."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]


def user_of(node: str) -> str:
    """The name of a node's kubelet, as a user and as the common name in its certificates."""
    return f"{USER}{node}"


def template_of(node: str, addresses: Sequence[Mapping[str, Any]], needs_ip: bool) -> Template | None:
    """Make a template from the addresses in a Node's status; None while there are none to ask for.

    ``needs_ip`` says that a host name alone is not enough, which depends on the kubelet's release.
    """
    dns_names, texts = set(), set()
    for each in addresses:
        kind, text = str(each.get("type") or ""), str(each.get("address") or "")
        if not text:
            continue
        if kind in _DNS_TYPES or (kind == "Hostname" and parsed_ip(text) is None):
            dns_names.add(text)
        elif (kind == "Hostname" or kind in _IP_TYPES) and parsed_ip(text) is not None:
            texts.add(text)
    if not texts and (needs_ip or not dns_names):
        return None
    found = {str(address) for address in map(parsed_ip, texts) if address is not None}
    return Template(user_of(node), (ORGANIZATION,), tuple(sorted(dns_names)), tuple(sorted(found)))


def parsed_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address as Go does: leading zeros are let pass, and an IPv4 address inside IPv6 is that IPv4 address."""
    try:
        return plain(ipaddress.ip_address(_without_zeros(text)))
    except ValueError:
        return None


def plain(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Take an IPv4 address out of the IPv6 address that carries it: to whoever verifies, both are one."""
    inside = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if inside is None else inside


def usages(rsa: bool, by_key: bool) -> tuple[str, ...]:
    """Tell what the certificate of a key may be used for; before usages went by the key, encipherment was always asked for."""
    return USAGES_WITH_ENCIPHERMENT if rsa or not by_key else USAGES


def expiration_seconds(lifetime: timedelta | None) -> int | None:
    """Tell a wanted lifetime in the request's unit; None leaves it to the signer."""
    return None if lifetime is None else int(lifetime.total_seconds())


def _without_zeros(text: str) -> str:
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return text
    return ".".join(str(int(part)) for part in parts)
