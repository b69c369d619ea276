# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses, networks and endpoints as texts: what Go's network package takes for valid, without its sloppiness."""

from __future__ import annotations

import ipaddress
import re
from typing import Union

from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import is_dns_subdomain

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

_PREFIX = re.compile(r"[0-9]{1,3}")
_LEADING_ZERO = re.compile(r"(?:^|[.])0[0-9]")
_FOUR_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(\S*)", re.ASCII)


def parse_address(text: str) -> Address | None:
    """The address, or None; no zone and no leading zeros, which some programs read as octal."""
    if "%" in text or "/" in text or _LEADING_ZERO.search(text):
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def parse_network(text: str) -> Network | None:
    """The network that a CIDR names, host bits cut off, or None."""
    address, slash, prefix = text.partition("/")
    parsed = parse_address(address)
    if parsed is None or not slash or not _PREFIX.fullmatch(prefix) or int(prefix) > parsed.max_prefixlen:
        return None
    return ipaddress.ip_network((parsed, int(prefix)), strict=False)


def parse_networks(text: str) -> list[Network] | None:
    """The networks of a comma-separated list, or None when one of them is none."""
    networks = []
    for part in text.split(","):
        network = parse_network(part)
        if network is None:
            return None
        networks.append(network)
    return networks


def has_host_bits(text: str) -> bool:
    """Whether a valid CIDR names an address inside its network instead of the network."""
    network = parse_network(text)
    return network is not None and parse_address(text.partition("/")[0]) != network.network_address


def is_host(text: str) -> bool:
    """An address or a DNS name; four numbers that make no address are a slip, though a DNS name by the letter."""
    return parse_address(text) is not None or (is_dns_subdomain(text) and not _FOUR_NUMBERS.fullmatch(text))


def overlap(one: Network, other: Network) -> bool:
    """Whether two networks of the same family share an address."""
    if one.version != other.version:
        return False
    return int(one[0]) <= int(other[-1]) and int(other[0]) <= int(one[-1])


def parse_port(text: str) -> int | None:
    """A TCP port from 1 to 65535, or None."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 1 <= int(text) <= 65535:
        return None
    return int(text)


def split_host_port(text: str) -> tuple[str, str] | None:
    """Host and port of host:port or [address]:port, or None when there is no port or a bracket is missing."""
    host, colon, port = text.rpartition(":")
    if not colon:
        return None
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    return None if "[" in host or "]" in host else (host, port)


def parse_endpoint(text: str) -> tuple[str, int | None] | None:
    """Host and port of an endpoint whose port may be missing; None when host or port is not valid."""
    host, port = split_host_port(text) or (text, "")
    number = parse_port(port) if port else None
    if port and number is None:
        return None
    return (host, number) if is_host(host) else None


def join_host_port(host: str, port: int) -> str:
    """host:port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def url_parts(text: str) -> tuple[str, str] | None:
    """Scheme and rest of a URL, or None when it has no scheme or nothing after it."""
    match = _URL.fullmatch(text)
    return (match[1], match[2]) if match and match[2] else None
