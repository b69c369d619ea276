# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the proxy that variables name, as Go's HTTP client would choose it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address, parse_network, parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import MODES, discovery_host
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import JOIN


def to_the_server(case: Case) -> Iterator[Verdict]:
    """The way to the API server, or to the one that a join asks."""
    hosts = [] if case.mode == "join" else [case.docs.node.advertise_address]
    if JOIN in MODES[case.mode]:
        hosts.append(discovery_host(case.docs))
    for host in filter(None, hosts):
        proxy = proxy_for(host, case.proxies)
        if proxy:
            fix = f"Unless that is meant, add {host} to NO_PROXY"
            yield against(case.check.severity, f"the connection to https://{host} would go through the proxy {proxy}", fix)


def to_the_networks(case: Case) -> Iterator[Verdict]:
    """The way to Services and pods, by the first address of each network."""
    networking = case.docs.cluster.networking
    for network in [*(parse_networks(networking.service_subnet) or ()), *(parse_networks(networking.pod_subnet) or ())]:
        first = str(network.network_address + 1) if network.num_addresses > 1 else str(network.network_address)
        proxy = proxy_for(first, case.proxies, port="1234")
        if proxy:
            fix = f"Add {network} to NO_PROXY"
            yield against(case.check.severity, f"connections to {network} would go through the proxy {proxy}", fix)


def proxy_for(host: str, variables: Mapping[str, str], port: str = "443") -> str:
    """The proxy of an https request, without what might be its password; nothing when there is none."""
    proxy = variables.get("https_proxy", "")
    if not proxy or host == "localhost" or _spared(host.lower(), port, variables.get("no_proxy", "")):
        return ""
    address = parse_address(host)
    if address is not None and address.is_loopback:
        return ""
    return proxy.rpartition("://")[2].rpartition("@")[2].partition("/")[0] or "(without a name)"


def _spared(host: str, port: str, exceptions: str) -> bool:
    address = parse_address(host)
    for raw in exceptions.split(","):
        entry = raw.strip().lower()
        if entry == "*":
            return True
        if entry and _matches(entry, host, port, address):
            return True
    return False


def _matches(entry: str, host: str, port: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    network = parse_network(entry)
    if network is not None:
        return address is not None and address in network
    name, only_port = entry, ""
    if parse_address(entry) is None and ":" in entry.rpartition("]")[2]:
        name, _colon, only_port = entry.rpartition(":")
    if only_port and only_port != port:
        return False
    name = name.strip("[]")
    if parse_address(name) is not None:
        return address is not None and parse_address(name) == address
    if name.startswith("*."):
        name = name[1:]
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")
