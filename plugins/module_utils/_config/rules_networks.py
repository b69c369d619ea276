# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for networks: subnets, families, the cluster's domain and its endpoint."""

from __future__ import annotations

from ipaddress import IPv6Network

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import (
    Network,
    has_host_bits,
    is_host,
    overlap,
    parse_address,
    parse_endpoint,
    parse_networks,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg, ClusterConfiguration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import SUBDOMAIN_RULE, is_dns_subdomain
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, shown

_PATH = "ClusterConfiguration.networking"
_ENDPOINT = "ClusterConfiguration.controlPlaneEndpoint"
_LEAST_SERVICE_ADDRESSES = 10
_LEAST_POD_ADDRESSES = 14
# The API server keeps a bitmap of all service addresses in etcd.
_MOST_SERVICE_BITS = 20
_MOST_NODE_NETWORK_BITS = 16
_NODE_MASKS = {4: ("node-cidr-mask-size-ipv4", 24), 6: ("node-cidr-mask-size-ipv6", 64)}
_SITE_LOCAL = IPv6Network("fec0::/10")
_ONE_OR_TWO = "one network such as 10.96.0.0/12, or one IPv4 and one IPv6 network with a comma between them"


def check_networks(cluster: ClusterConfiguration, advertise_address: str, findings: Findings) -> None:
    """Judge the networks, alone and against each other and the node's address."""
    networking = cluster.networking
    if not is_dns_subdomain(networking.dns_domain):
        findings.problem(f"{_PATH}.dnsDomain", shown(networking.dns_domain), SUBDOMAIN_RULE)
    services = _read(networking.service_subnet, "serviceSubnet", _LEAST_SERVICE_ADDRESSES, findings)
    pods = _read(networking.pod_subnet, "podSubnet", _LEAST_POD_ADDRESSES, findings) if networking.pod_subnet else []
    _check_service_size(services, findings)
    if last_value(cluster.controller_manager.extra_args, "allocate-node-cidrs") != "false":
        _check_node_masks(pods, cluster, findings)
    _check_overlap(services, pods, findings)
    _check_families(services, pods, findings)
    _check_node(advertise_address, services, pods, findings)
    if cluster.control_plane_endpoint and parse_endpoint(cluster.control_plane_endpoint) is None:
        _refuse_endpoint(cluster.control_plane_endpoint, findings)


def last_value(args: tuple[Arg, ...], name: str) -> str:
    """The value that an argument ends up with, or an empty text."""
    values = [arg.value for arg in args if arg.name == name]
    return values[-1] if values else ""


def _refuse_endpoint(endpoint: str, findings: Findings) -> None:
    hint = ""
    if "://" in endpoint:
        hint = "Leave the scheme away."
    elif endpoint.startswith("["):
        hint = "An IPv6 address stands in brackets only when a port follows."
    elif endpoint != endpoint.lower():
        hint = "Write it in lower case."
    expected = "an IP address or a DNS name in lower case, with or without :port from 1 to 65535"
    findings.problem(_ENDPOINT, shown(endpoint), expected, hint)


def _read(text: str, name: str, least: int, findings: Findings) -> list[Network]:
    path = f"{_PATH}.{name}"
    networks = parse_networks(text)
    if networks is None:
        findings.problem(path, shown(text), _ONE_OR_TWO, _cidr_hint(text))
        return []
    if len(networks) > 2 or (len(networks) == 2 and networks[0].version == networks[1].version):
        findings.problem(path, shown(text), _ONE_OR_TWO)
        return []
    for part, network in zip(text.split(","), networks):
        if network.num_addresses < least:
            findings.problem(path, f"{part} with {network.num_addresses} addresses", f"at least {least} addresses")
        if has_host_bits(part):
            # Only a warning: every Kubernetes program cuts the bits off, and the text of a running cluster cannot be changed.
            findings.warn(path, f"{part} is an address inside {network}; the network itself was probably meant")
        if overlap(network, _SITE_LOCAL):
            findings.warn(path, f"{part} holds IPv6 site-local addresses (fec0::/10), which RFC 3879 deprecates")
    return networks


def _cidr_hint(text: str) -> str:
    if " " in text:
        return "Leave the spaces away."
    if parse_address(text) is not None:
        return "A length after '/' is missing."
    return ""


def _check_service_size(services: list[Network], findings: Findings) -> None:
    for network in services:
        if network.max_prefixlen - network.prefixlen > _MOST_SERVICE_BITS:
            least = network.max_prefixlen - _MOST_SERVICE_BITS
            findings.problem(f"{_PATH}.serviceSubnet", str(network), f"at most {2**_MOST_SERVICE_BITS} addresses: /{least} or longer")


def _check_node_masks(pods: list[Network], cluster: ClusterConfiguration, findings: Findings) -> None:
    path = f"{_PATH}.podSubnet"
    for network in pods:
        argument, mask = _NODE_MASKS[network.version]
        given = last_value(cluster.controller_manager.extra_args, argument)
        if given:
            if not given.isascii() or not given.isdigit() or len(given) > 3:
                findings.problem("ClusterConfiguration.controllerManager.extraArgs", f"{argument}={shown(given)}", "a whole number")
                continue
            mask = int(given)
        if network.prefixlen > mask:
            expected = f"a network that holds at least one node network of /{mask}"
            findings.problem(path, str(network), expected, f"The controller manager's {argument} sets the length of a node's network.")
        elif mask - network.prefixlen > _MOST_NODE_NETWORK_BITS:
            expected = f"/{mask - _MOST_NODE_NETWORK_BITS} to /{mask} for node networks of /{mask}"
            findings.problem(path, str(network), expected, f"The controller manager's {argument} sets the length of a node's network.")


def _check_overlap(services: list[Network], pods: list[Network], findings: Findings) -> None:
    for service in services:
        for pod in pods:
            if overlap(service, pod):
                # A service could get the address of a pod: no cluster works with that.
                findings.problem(f"{_PATH}.podSubnet", str(pod), f"a network apart from serviceSubnet {service}")


def _check_families(services: list[Network], pods: list[Network], findings: Findings) -> None:
    of_services, of_pods = [network.version for network in services], [network.version for network in pods]
    if not of_services or not of_pods:
        return
    if not set(of_services) & set(of_pods):
        expected = f"a network of IPv{of_services[0]}, the family of serviceSubnet"
        findings.problem(f"{_PATH}.podSubnet", f"IPv{of_pods[0]} only", expected)
    elif of_services != of_pods:
        # Works, with services of one family only: some dual-stack migrations pass through this state.
        findings.warn(f"{_PATH}.podSubnet", "its address families are not those of serviceSubnet, in the same order")


def _check_node(advertise_address: str, services: list[Network], pods: list[Network], findings: Findings) -> None:
    address = parse_address(advertise_address) if advertise_address else None
    if address is None or address.is_loopback:
        return
    if services and services[0].version != address.version:
        # The API server exits when the first service network and its address are of different families.
        expected = f"an IPv{address.version} network first, the family of the advertise address {address}"
        findings.problem(f"{_PATH}.serviceSubnet", f"{services[0]} first", expected, "Or set localAPIEndpoint.advertiseAddress.")
    for network in services:
        if address in network:
            findings.problem(f"{_PATH}.serviceSubnet", str(network), f"a network that does not hold the node's address {address}")
    for network in pods:
        if address in network:
            # Only a warning: network plugins of clouds give pods and nodes addresses of one network.
            findings.warn(f"{_PATH}.podSubnet", f"{network} holds the node's address {address}")


def check_api_address(address: str, path: str, findings: Findings) -> None:
    """An advertise address is one IP address that other hosts can use; loopback and 'any' ask for detection."""
    parsed = parse_address(address)
    if parsed is None:
        hint = "A DNS name belongs in controlPlaneEndpoint." if is_host(address) else ""
        findings.problem(path, shown(address), "an IP address", hint)
    elif parsed.is_multicast or parsed.is_link_local or str(parsed) == "255.255.255.255":
        findings.problem(path, shown(address), "an address that other hosts can reach")
