# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names and addresses of an instance: which nodes, which subnet, who gets which address."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from lab.errors import LabError

# Clear of the usual pod (10.244/16) and service (10.96/12) ranges.
POOL = IPv4Network("10.213.0.0/16")
CONTROL_PLANE, WORKER = "control_plane", "workers"
SHORT = {CONTROL_PLANE: "cp", WORKER: "w"}
# An address stays with its node however many are added later.
FIRST_HOST = {CONTROL_PLANE: 10, WORKER: 100}
MOST = {CONTROL_PLANE: 89, WORKER: 150}


@dataclass(frozen=True)
class Node:
    """One node of an instance."""

    name: str
    role: str
    address: str


def default_instance(checkout: Path) -> str:
    """Name the instance after the checkout, so that two checkouts never share one."""
    return "kp" + hashlib.sha256(str(checkout).encode()).hexdigest()[:6]


def instance_name(asked: str) -> str:
    """Take a name that can begin a host name, and refuse any other."""
    if re.fullmatch(r"[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?", asked) is None:
        raise LabError(f"{asked!r} cannot name an instance: take up to 32 lower-case letters, digits and dashes, a letter first")
    return asked


def network_name(instance: str) -> str:
    """Name the instance's network in podman."""
    return f"kubephase-{instance}"


def choose_subnet(instance: str, taken: Iterable[IPv4Network]) -> IPv4Network:
    """Pick a free subnet, beginning at a place that depends on the name so that instances rarely compete."""
    used = list(taken)
    candidates = list(POOL.subnets(new_prefix=24))
    start = int(hashlib.sha256(instance.encode()).hexdigest(), 16) % len(candidates)
    for candidate in candidates[start:] + candidates[:start]:
        if not any(candidate.overlaps(other) for other in used):
            return candidate
    raise LabError(f"every subnet of {POOL} is in use on this machine; take an instance down first")


def gateway(subnet: IPv4Network) -> str:
    """Say which address the bridge has."""
    return str(subnet[1])


def nodes(instance: str, subnet: IPv4Network, control_planes: int, workers: int) -> tuple[Node, ...]:
    """List the nodes of an instance."""
    found: list[Node] = []
    for role, count in ((CONTROL_PLANE, control_planes), (WORKER, workers)):
        if not 0 <= count <= MOST[role]:
            raise LabError(f"{count} nodes as {role} do not fit; there is room for {MOST[role]}")
        found += [Node(f"{instance}-{SHORT[role]}{number}", role, str(subnet[FIRST_HOST[role] + number])) for number in range(1, count + 1)]
    if not found:
        raise LabError("an instance needs at least one node")
    return tuple(found)
