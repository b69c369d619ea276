# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's commands and their options."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Callable

from lab import check, cluster, inventory, layout, preconditions, recipes
from lab.build import Offered, build, build_bare, kubeadm
from lab.cache import Store, cache_root
from lab.errors import LabError
from lab.instance import Instance, load, recorded
from lab.nodes import states
from lab.progress import Progress
from lab.selftest import selftest, ssh_command

CHECKOUT = Path(__file__).resolve().parent.parent


def main(argv: list[str]) -> int:
    """Run one command; a refusal or failure is one message and status 1."""
    arguments = parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments, Store(cache_root(os.environ)))
    except LabError as refusal:
        print(f"lab: {refusal}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; run the same command again to go on", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    whole = argparse.ArgumentParser(prog="python3 -m lab", description="Real Kubernetes nodes and binaries on one Linux machine.")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str, release: bool = False, instance: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        if release:
            added.add_argument("--release", choices=sorted(recipes.RELEASES), help="Kubernetes version of the cluster")
        if instance:
            added.add_argument("--instance", help="name of the lab (default: one for this checkout, or KUBEPHASE_INSTANCE)")
        return added

    command("kubeadm", "build kubeadm of any version from 1.22 on and print its path", instance=False).add_argument("version")
    command("build", "build everything that a cluster of a release needs", release=True, instance=False)
    command("repository", "build the apt repository of a release and print its path", release=True, instance=False)
    command("bundle", "build the offline bundle of a release and print its path", release=True, instance=False)
    up = command("up", "bring nodes up, or put right what stopped; prints the inventory's path", release=True)
    up.add_argument("--nodes", type=int, help="how many nodes: one control plane, the rest workers")
    up.add_argument("--control-planes", type=int)
    up.add_argument("--workers", type=int)
    up.add_argument("--bare", action="store_true", help="nodes without anything of Kubernetes, and a repository to prepare them from")
    up.add_argument("--images", action="store_true", help="with --bare: new nodes have the images already, though no containerd")
    command("down", "remove what up made")
    command("status", "show this instance's nodes and the other instances of this cache")
    command("check", "prove that no packet leaves the machine and that the nodes reach each other")
    command("inventory", "print the inventory's path")
    ssh = command("ssh", "log in to a node or run a command there")
    ssh.add_argument("node", help="name of the node, or its last part: cp1")
    ssh.add_argument("remote", nargs=argparse.REMAINDER, metavar="COMMAND")
    command("selftest", "prove the lab with the real kubeadm, on an instance of its own", release=True)
    return whole


def instance_of(arguments: argparse.Namespace) -> str:
    """Settle which instance is meant."""
    asked = arguments.instance or os.environ.get("KUBEPHASE_INSTANCE") or layout.default_instance(CHECKOUT)
    return layout.instance_name(asked)


def counts_of(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """Settle how many nodes are asked for; None leaves it to what is there."""
    split = arguments.control_planes is not None or arguments.workers is not None
    if arguments.nodes is not None and split:
        raise LabError("give either --nodes or --control-planes and --workers")
    if arguments.nodes is not None:
        return 1, arguments.nodes - 1
    if split:
        return (1 if arguments.control_planes is None else arguments.control_planes), arguments.workers or 0
    return None


def existing(store: Store, name: str) -> Instance:
    """Load an instance that must be up."""
    found = load(store, name)
    if found is None:
        raise LabError(f"there is no instance {name}; `python3 -m lab up --instance {name}` makes it")
    return found


def _kubeadm(arguments: argparse.Namespace, store: Store) -> int:
    version = recipes.kubeadm_version(arguments.version)
    preconditions.refuse_unless_possible(nodes=False)
    print(kubeadm(store, version))
    return 0


def _prepare(arguments: argparse.Namespace, default: str = recipes.DEFAULT_RELEASE) -> recipes.Release:
    """Refuse what cannot be, then install what is missing."""
    of = recipes.release(arguments.release or default)
    preconditions.refuse_unless_possible(nodes=True)
    preconditions.install_missing()
    preconditions.allow_watching()
    return of


def _build(arguments: argparse.Namespace, store: Store) -> int:
    build(store, _prepare(arguments))
    return 0


def _up(arguments: argparse.Namespace, store: Store) -> int:
    name, counts = instance_of(arguments), counts_of(arguments)
    before = load(store, name)
    of = _prepare(arguments, default=before.release if before else recipes.DEFAULT_RELEASE)
    bare = arguments.bare or (before is not None and before.bare)
    cluster.refuse_other_kind(before, name, of, bare)
    if arguments.images and not bare:
        raise LabError("--images goes with --bare; other nodes have the images anyway")
    built = build_bare(store, of, arguments.images) if bare else build(store, of)
    print(cluster.up(store, name, of, counts, built))
    return 0


def _offered(arguments: argparse.Namespace, store: Store) -> Offered:
    offered = build_bare(store, _prepare(arguments)).offered
    if offered is None:
        raise LabError("nothing was built that a bare node could be prepared from")
    return offered


def _repository(arguments: argparse.Namespace, store: Store) -> int:
    print(_offered(arguments, store).repository)
    return 0


def _bundle(arguments: argparse.Namespace, store: Store) -> int:
    print(_offered(arguments, store).bundle)
    return 0


def _down(arguments: argparse.Namespace, store: Store) -> int:
    name = instance_of(arguments)
    preconditions.refuse_unless_possible(nodes=True)
    # Without podman there never was an instance, and none is installed to find that out.
    there = shutil.which("podman") is not None and cluster.down(store, name)
    Progress(0).note(f"lab: {name} is gone" if there else f"lab: there is no {name}, nothing to remove")
    return 0


def _status(arguments: argparse.Namespace, store: Store) -> int:
    name = instance_of(arguments)
    for instance in recorded(store):
        containers = states(instance.name)
        mark = "*" if instance.name == name else " "
        print(f"{mark} {instance.name}  Kubernetes {instance.release}  {instance.subnet}{'  bare' if instance.bare else ''}")
        for node in instance.nodes:
            print(f"    {node.name:<24} {node.role:<14} {node.address:<16} {containers.get(node.name, 'absent')}")
    if load(store, name) is None:
        print(f"* {name}  not there; `python3 -m lab up` makes it")
    return 0


def _check(arguments: argparse.Namespace, store: Store) -> int:
    instance = existing(store, instance_of(arguments))
    preconditions.refuse_unless_possible(nodes=True)
    check.check(instance, Progress(0).note)
    print(f"lab: no packet leaves the machine from {instance.name}")
    return 0


def _inventory(arguments: argparse.Namespace, store: Store) -> int:
    print(inventory.path(store, existing(store, instance_of(arguments)).name))
    return 0


def _ssh(arguments: argparse.Namespace, store: Store) -> int:
    instance = existing(store, instance_of(arguments))
    wanted = (arguments.node, f"{instance.name}-{arguments.node}")
    for node in instance.nodes:
        if node.name in wanted:
            command = [*ssh_command(store, instance.name, node), *arguments.remote]
            os.execvp(command[0], command)
    raise LabError(f"{instance.name} has no node {arguments.node}; there are {', '.join(node.name for node in instance.nodes)}")


def _selftest(arguments: argparse.Namespace, store: Store) -> int:
    of = _prepare(arguments)
    selftest(store, instance_of(arguments), of, build(store, of))
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace, Store], int]] = {
    "kubeadm": _kubeadm,
    "build": _build,
    "repository": _repository,
    "bundle": _bundle,
    "up": _up,
    "down": _down,
    "status": _status,
    "check": _check,
    "inventory": _inventory,
    "ssh": _ssh,
    "selftest": _selftest,
}
