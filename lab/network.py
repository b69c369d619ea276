# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance's network: internal, on a subnet of its own, with a rule that lets nothing out of the machine."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError

from lab.cache import Store
from lab.command import attempt, run
from lab.errors import LabError
from lab.instance import recorded
from lab.layout import choose_subnet, gateway, network_name
from lab.podman import INSTANCE_LABEL, networks, podman, succeeds

# The guard sits in mangle, before the filter table where container engines add rules that accept.
# The pass is for machines whose FORWARD policy drops what is bridged as well.
GUARD, PASS = ("mangle", "DROP"), ("filter", "ACCEPT")
FAMILIES = ("iptables", "ip6tables")


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
        except (AddressValueError, NetmaskValueError, ValueError):
            continue


def bridge(name: str) -> str:
    """Say which interface of the machine the instance's nodes hang on."""
    return str(json.loads(podman("network", "inspect", network_name(name)))[0]["network_interface"])


def comment(name: str) -> str:
    """Mark the rules of an instance, so that they are found again whatever their bridge was called."""
    return f"kubephase:{name}"


def ensure_rules(name: str) -> None:
    """Put the guard and the pass in place, and take away what an earlier bridge left."""
    for family in FAMILIES:
        for table, verdict in (GUARD, PASS):
            wanted = rule(name, bridge(name), verdict)
            there = rules(family, table, name)
            if there == [wanted]:
                continue
            run([family, "-w", "-t", table, "-I", "FORWARD", "1", *wanted])
            for old in there:
                run([family, "-w", "-t", table, "-D", "FORWARD", *old])


def rule(name: str, interface: str, verdict: str) -> list[str]:
    """Spell a rule as iptables lists it: what leaves the bridge is dropped, what stays on it passes."""
    out = ["!", "-o", interface] if verdict == "DROP" else ["-o", interface]
    return ["-i", interface, *out, "-m", "comment", "--comment", comment(name), "-j", verdict]


def rules(family: str, table: str, name: str) -> list[list[str]]:
    """List the instance's rules of one table."""
    listed = attempt([family, "-w", "-t", table, "-S", "FORWARD"])
    return instance_rules(listed.stdout, name)


def instance_rules(listing: str, name: str) -> list[list[str]]:
    """Find an instance's rules in a listing, without the words that append them."""
    found = [shlex.split(line) for line in listing.splitlines() if line.startswith("-A FORWARD ")]
    return [words[2:] for words in found if comment(name) in words]


def dropped(name: str) -> tuple[int, int]:
    """Read how many packets the guard has stopped, of IPv4 and IPv6; without a guard there is nothing to prove."""
    counts = []
    for family in FAMILIES:
        listed = run([family, "-w", "-t", "mangle", "-v", "-S", "FORWARD"])
        found = [line for line in listed.splitlines() if comment(name) in shlex.split(line)]
        counted = re.search(r"-c (\d+) \d+", found[0]) if found else None
        if counted is None:
            raise LabError(f"the rule that keeps {name} inside the machine is missing; `python3 -m lab up` puts it back")
        counts.append(int(counted[1]))
    return counts[0], counts[1]


def remove(name: str) -> None:
    """Take away the network and its rules, if they are there."""
    for family in FAMILIES:
        for table, _ in (GUARD, PASS):
            for old in rules(family, table, name):
                run([family, "-w", "-t", table, "-D", "FORWARD", *old])
    if succeeds("network", "exists", network_name(name)):
        podman("network", "rm", "--force", network_name(name))
