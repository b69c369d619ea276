# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Up and down of a whole instance."""

from __future__ import annotations

from pathlib import Path

from lab import firewall, identity, inventory, manifests, network, nodes, offers, server
from lab.build import Built
from lab.cache import Store
from lab.errors import LabError
from lab.instance import Instance, directory, load, save
from lab.layout import gateway
from lab.layout import nodes as laid_out
from lab.progress import Progress
from lab.recipes import Release

# Control planes and workers.
Counts = tuple[int, int]
SMALLEST: Counts = (1, 0)


def up(store: Store, name: str, of: Release, counts: Counts | None, built: Built) -> Path:
    """Bring an instance to the asked state from whatever state it is in; say where its inventory is."""
    with store.lock(f"instance-{name}"):
        before = load(store, name)
        refuse_other_kind(before, name, of, built.offered is not None)
        control_planes, workers = counts or (before.counts if before else SMALLEST)
        subnet = network.ensure_network(store, name, before.network if before else None)
        bare = built.offered is not None
        instance = Instance(name, of.version, str(subnet), laid_out(name, subnet, control_planes, workers), bare)
        # Recorded before the first node, so that down finds everything even after a kill.
        save(store, instance)
        # Before the first node as well: no packet may leave while the nodes start.
        firewall.ensure(name, network.bridge(name), subnet)
        _remove_surplus(store, instance)
        identity.write(store, instance)
        manifests.write(store, instance, of)
        if built.offered is not None:
            offers.write(store, instance, built.offered)
            server.ensure(store, name, gateway(subnet), built.offered.repository)
        _start(store, instance, built)
        if built.offered is not None:
            server.wait(store, name)
        return inventory.write(store, instance)


def refuse_other_kind(before: Instance | None, name: str, of: Release, bare: bool) -> None:
    """Nodes keep the release that they were made with, and bare ones are made bare."""
    if before is not None and before.bare != bare:
        kinds = ("whole", "bare") if bare else ("bare", "whole")
        raise LabError(
            f"the nodes of instance {name} were made {kinds[0]}; take it down first (python3 -m lab down --instance {name}), "
            f"or give the {kinds[1]} ones another --instance"
        )
    if before is not None and before.release != of.version:
        raise LabError(
            f"instance {name} holds Kubernetes {before.release}; take it down first (python3 -m lab down --instance {name}), "
            f"or give the {of.version} one another --instance"
        )


def _start(store: Store, instance: Instance, built: Built) -> None:
    progress = Progress(len(instance.nodes))
    for node in instance.nodes:
        state = nodes.states(instance.name).get(node.name, "absent")
        with progress.step(f"node {node.name} {node.address}", done={"running": "runs", "absent": "made"}.get(state, "started")):
            nodes.ensure(store, instance, node, built)
            network.ensure_gateway(instance.name, instance.network)
    network.ensure_gateway(instance.name, instance.network)
    for node in instance.nodes:
        nodes.put_right(node)
    nodes.wait_for_ssh(instance.nodes)


def _remove_surplus(store: Store, instance: Instance) -> None:
    wanted = {node.name for node in instance.nodes}
    surplus = sorted(set(nodes.states(instance.name)) - wanted)
    if surplus:
        Progress(0).note(f"lab: removing {', '.join(surplus)}, which the asked size has no place for")
        nodes.remove(surplus)
    homes = directory(store, instance.name) / "nodes"
    for home in homes.iterdir() if homes.is_dir() else ():
        if home.name not in wanted:
            nodes.remove_tree(home)


def down(store: Store, name: str) -> bool:
    """Remove exactly what up made; say whether there was anything."""
    with store.lock(f"instance-{name}"):
        server.end(store, name)
        there = sorted(nodes.states(name))
        home = directory(store, name)
        nodes.remove(there)
        network.remove(name)
        firewall.remove(name)
        existed = bool(there) or home.exists()
        nodes.remove_tree(home)
    return existed
