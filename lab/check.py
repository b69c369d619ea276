# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proof that nothing leaves the machine and that the nodes reach each other."""

from __future__ import annotations

import json
from typing import Callable

from lab import firewall
from lab.command import run
from lab.errors import LabError
from lab.images import FILES
from lab.instance import Instance
from lab.layout import Node
from lab.network import bridge
from lab.podman import PODMAN

# Addresses kept for documentation: routed to the outside like any other, and nobody's.
OUTSIDE = ("192.0.2.1", "198.51.100.1")
REACH = FILES / "reach.py"


def check(instance: Instance, say: Callable[[str], None]) -> None:
    """Try to get out of every node and to reach every other one; raise on the first surprise."""
    outside = sorted({*OUTSIDE, *machine_gateways()})
    forwards = firewall.forwards(bridge(instance.name))
    for node in instance.nodes:
        _no_way_out(instance, node, outside, forwards, say)
    for node in instance.nodes:
        others = [other.address for other in instance.nodes if other != node]
        if others:
            _neighbours(node, others, say)


def _no_way_out(instance: Instance, node: Node, outside: list[str], forwards: bool, say: Callable[[str], None]) -> None:
    before = firewall.counted(instance.name)
    results = reach(node, outside)
    after = firewall.counted(instance.name)
    out = sorted(target for target, reached in results.items() if reached)
    if out:
        raise LabError(f"{node.name} reached {', '.join(out)} outside the machine")
    # A failed attempt proves nothing by itself: its packets must have come to the bridge and ended there.
    seen, stopped = after.seen - before.seen, after.stopped - before.stopped
    if seen < len(results):
        raise LabError(f"{node.name} made {len(results)} attempts to leave, but only {seen} of their packets came to the bridge")
    if forwards and stopped < len(results):
        raise LabError(f"{node.name} made {len(results)} attempts to leave, but the guard stopped only {stopped} packets")
    ended = f"the guard stopped {stopped}" if forwards else "the machine forwards none"
    say(f"{node.name}: {len(results)} attempts to reach {', '.join(outside)} failed; {seen} packets came to the bridge, {ended}")


def _neighbours(node: Node, others: list[str], say: Callable[[str], None]) -> None:
    results = reach(node, others, ports=(22,))
    lost = sorted(target for target, reached in results.items() if not reached)
    if lost:
        raise LabError(f"{node.name} cannot reach {', '.join(lost)}")
    say(f"{node.name}: reaches {', '.join(others)}")


def reach(node: Node, addresses: list[str], ports: tuple[int, ...] = (53, 80, 443)) -> dict[str, bool]:
    """Try addresses from inside a node, by TCP on each port."""
    asked = json.dumps({"addresses": addresses, "ports": list(ports)})
    said = run([*PODMAN, "exec", "--interactive", node.name, "python3", "-c", REACH.read_text()], stdin=asked, timeout=120)
    found: dict[str, bool] = json.loads(said)
    return found


def machine_gateways() -> list[str]:
    """Name the machine's own routers: the nearest things outside it that would really answer."""
    routes = json.loads(run(["ip", "-json", "-4", "route", "show", "default"]))
    return sorted({route["gateway"] for route in routes if "gateway" in route})
