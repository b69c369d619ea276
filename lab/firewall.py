# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules that keep an instance inside the machine, and their counters that prove it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from lab.command import attempt, run
from lab.errors import LabError

FAMILIES = ("iptables", "ip6tables")
# Every chain that may hold a rule of ours.
PLACES = (("mangle", "PREROUTING"), ("mangle", "FORWARD"), ("filter", "FORWARD"))
SEEN, GUARD, PASS = PLACES


@dataclass(frozen=True)
class Counted:
    """Packets from the nodes for elsewhere: how many came to the bridge, and how many the guard stopped there."""

    seen: int
    stopped: int


def comment(name: str) -> str:
    """Mark the rules of an instance, so that they are found again whatever their bridge was called."""
    return f"kubephase:{name}"


def wanted(family: str, place: tuple[str, str], name: str, bridge: str, subnet: IPv4Network) -> list[list[str]]:
    """Spell an instance's rules of one chain, as iptables lists them.

    The guard drops what would leave the bridge. It sits in mangle, before the filter table where container engines
    add rules that accept. The pass is for machines that drop bridged packets by policy. The first rule only counts:
    on a machine that forwards nothing anyway, the guard has nothing to stop.
    """
    marked = ["-m", "comment", "--comment", comment(name)]
    if place == SEEN:
        return [["!", "-d", str(subnet), "-i", bridge, *marked]] if family == "iptables" else []
    if place == GUARD:
        return [["-i", bridge, "!", "-o", bridge, *marked, "-j", "DROP"]]
    return [["-i", bridge, "-o", bridge, *marked, "-j", "ACCEPT"]]


def ensure(name: str, bridge: str, subnet: IPv4Network) -> None:
    """Put the rules in place, and take away what an earlier bridge left."""
    for family in FAMILIES:
        for table, chain in PLACES:
            needed = wanted(family, (table, chain), name, bridge, subnet)
            there = _present(family, table, chain, name)
            if there == needed:
                continue
            for rule in needed:
                run([family, "-w", "-t", table, "-I", chain, "1", *rule])
            for rule in there:
                run([family, "-w", "-t", table, "-D", chain, *rule])


def remove(name: str) -> None:
    """Take an instance's rules away, if there are any."""
    for family in FAMILIES:
        for table, chain in PLACES:
            for rule in _present(family, table, chain, name):
                run([family, "-w", "-t", table, "-D", chain, *rule])


def _present(family: str, table: str, chain: str, name: str) -> list[list[str]]:
    return instance_rules(attempt([family, "-w", "-t", table, "-S", chain]).stdout, name)


def instance_rules(listing: str, name: str) -> list[list[str]]:
    """Find an instance's rules in a listing, without the words that append them."""
    found = [shlex.split(line) for line in listing.splitlines() if line.startswith("-A ")]
    return [words[2:] for words in found if comment(name) in words]


def counted(name: str) -> Counted:
    """Read the counters; without the rules there is nothing to prove."""
    counts = [packets(run(["iptables", "-w", "-t", table, "-v", "-S", chain]), name) for table, chain in (SEEN, GUARD)]
    return Counted(*counts)


def packets(listing: str, name: str) -> int:
    """Read from a listing with counters how many packets an instance's rule has met."""
    for line in listing.splitlines():
        if comment(name) in shlex.split(line):
            found = re.search(r" -c (\d+) \d+", line)
            if found is not None:
                return int(found[1])
    raise LabError(f"a rule that keeps {name} inside the machine is missing; `python3 -m lab up` puts it back")


def forwards(bridge: str) -> bool:
    """Say whether the machine would forward what comes from the bridge, were it not for the guard."""
    return Path(f"/proc/sys/net/ipv4/conf/{bridge}/forwarding").read_text().strip() == "1"
