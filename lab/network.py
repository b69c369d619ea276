# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance's network: internal, and on a subnet of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from pathlib import Path

from lab.cache import Store
from lab.command import run
from lab.errors import LabError
from lab.instance import recorded
from lab.layout import choose_subnet, gateway, network_name
from lab.podman import INSTANCE_LABEL, networks, podman, succeeds


def ensure_network(store: Store, name: str, preferred: IPv4Network | None) -> IPv4Network:
    """Make the instance's network unless it is there, and say which subnet it has."""
    # One at a time on this machine, or two instances could pick the same free subnet.
    with store.lock("networks"):
        there = _existing(name)
        if there is not None:
            return there
        taken = list(_taken(store, name))
        keeps = preferred is not None and not any(preferred.overlaps(other) for other in taken)
        subnet = preferred if preferred is not None and keeps else choose_subnet(name, taken)
        label = f"{INSTANCE_LABEL}={name}"
        podman(
            "network", "create", "--internal", "--disable-dns", "--label", label,
            "--subnet", str(subnet), "--gateway", gateway(subnet), network_name(name),
        )  # fmt: skip
        return subnet


def _existing(name: str) -> IPv4Network | None:
    for network in networks():
        if network["name"] == network_name(name):
            if not network["internal"]:
                raise LabError(f"the network {network_name(name)} is there, but not internal; remove it with podman network rm")
            return IPv4Network(network["subnets"][0]["subnet"])
    return None


def _taken(store: Store, name: str) -> Iterator[IPv4Network]:
    yield from (other.network for other in recorded(store) if other.name != name)
    for network in networks():
        yield from _ipv4(subnet["subnet"] for subnet in network.get("subnets") or [])
    for route in json.loads(run(["ip", "-json", "-4", "route", "show", "table", "all"])):
        if route["dst"] != "default":
            yield from _ipv4([route["dst"]])


def _ipv4(texts: Iterable[str]) -> Iterator[IPv4Network]:
    for text in texts:
        try:
            yield IPv4Network(text, strict=False)
        except ValueError:
            continue


def bridge(name: str) -> str:
    """Say which interface of the machine the instance's nodes hang on."""
    return str(json.loads(podman("network", "inspect", network_name(name)))[0]["network_interface"])


def ensure_gateway(name: str, subnet: IPv4Network) -> None:
    """Give the bridge its address, which some engines leave out on internal networks; it exists once a node hangs on it."""
    run(["ip", "address", "replace", f"{gateway(subnet)}/{subnet.prefixlen}", "dev", bridge(name)])
    run(["ip", "link", "set", bridge(name), "up"])


def remove(name: str) -> None:
    """Take the network away, if it is there, and its bridge with it."""
    if succeeds("network", "exists", network_name(name)):
        interface = bridge(name)
        podman("network", "rm", "--force", network_name(name))
        if Path(f"/sys/class/net/{interface}/bridge").exists():
            run(["ip", "link", "delete", interface])
