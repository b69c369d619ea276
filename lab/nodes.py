# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes as containers: made, started, put right and removed."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from lab.build import Built
from lab.cache import Store
from lab.command import attempt, run
from lab.errors import LabError
from lab.identity import handed_in, node_directory
from lab.instance import Instance
from lab.layout import Node, gateway, network_name
from lab.podman import INSTANCE_LABEL, LIMITS, PODMAN, containers, podman, succeeds

BOOT_SECONDS = 90.0

# Host directory of a node: where it is mounted, and its mode. Overlay on overlay does not work, hence containerd's.
VOLUMES = {"containerd": ("/var/lib/containerd", 0o711), "etcd": ("/var/lib/etcd", 0o700), "kubelet": ("/var/lib/kubelet", 0o700)}


_REMOVE = ("rm", "--force", "--ignore", "--time", "2", "--volumes")


def states(instance: str) -> dict[str, str]:
    """Say how each container of an instance is, by node name."""
    return {container["Names"][0]: container["State"] for container in containers(instance)}


def ensure(store: Store, instance: Instance, node: Node, built: Built) -> str:
    """Make the node, or start it where it stopped; say which of these was needed."""
    state = states(instance.name).get(node.name)
    if state == "running":
        return "runs"
    if state is None:
        _make_volumes(store, instance.name, node, built)
        podman(*_run_arguments(store, instance, node, built.node_image))
        return "made"
    if state == "paused":
        podman("unpause", node.name)
        return "resumed"
    podman("start", node.name)
    return "started"


def _make_volumes(store: Store, instance: str, node: Node, built: Built) -> None:
    """Give a new node new volumes: whatever an earlier node of that name left must not reach it."""
    place = node_directory(store, instance, node)
    for volume, (_, mode) in VOLUMES.items():
        remove_tree(place / volume)
        if volume != "containerd" or built.containerd_template is None:
            (place / volume).mkdir(parents=True)
            (place / volume).chmod(mode)
    if built.containerd_template is not None:
        copy_template(built.containerd_template, place / "containerd")


def copy_template(template: Path, target: Path) -> None:
    """Copy containerd's root; image content is never written to again, so nodes share it by hard links.

    Shared files are shared in memory as well: the second API server of a machine finds its program there already.
    """
    run(["cp", "-al", str(template), str(target)])
    for database in target.rglob("*.db"):
        database.unlink()
        shutil.copy2(template / database.relative_to(target), database)


def _run_arguments(store: Store, instance: Instance, node: Node, image: str) -> list[str]:
    place = node_directory(store, instance.name, node)
    mounts = [f"--volume={place / volume}:{target}" for volume, (target, _) in VOLUMES.items()]
    modules = ["--volume=/lib/modules:/lib/modules:ro"] if Path("/lib/modules").is_dir() else []
    return [
        "run", "--detach", "--name", node.name, "--hostname", node.name,
        "--label", f"{INSTANCE_LABEL}={instance.name}",
        "--network", network_name(instance.name), "--ip", node.address,
        "--no-hosts", "--dns", gateway(instance.network),
        # Not --systemd=always: on cgroups v1 that shows each node the machine's own systemd hierarchy, shared by all.
        "--privileged", "--systemd=false", "--cgroupns=private", "--stop-signal", "SIGRTMIN+3",
        *LIMITS,
        "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/run/lock",
        f"--volume={handed_in(store, instance.name, node)}:/etc/lab:ro",
        *mounts, *modules,
        image, "/sbin/init",
    ]  # fmt: skip


def put_right(node: Node) -> None:
    """Bring back what a stop, or a meddling hand, took from a node: route, names, kernel switches."""
    deadline = time.monotonic() + BOOT_SECONDS
    while True:
        done = attempt([*PODMAN, "exec", node.name, "/usr/local/sbin/lab-node"])
        if done.returncode == 0:
            break
        if time.monotonic() > deadline:
            raise LabError(f"{node.name} did not come up within {BOOT_SECONDS:.0f} s: {done.stderr.strip()}")
        time.sleep(0.5)


def wait_for_ssh(nodes: Sequence[Node]) -> None:
    """Wait until every node greets as an ssh server does."""
    deadline = time.monotonic() + BOOT_SECONDS
    for node in nodes:
        while not _greets(node.address):
            if time.monotonic() > deadline:
                raise LabError(f"{node.name} does not answer ssh on {node.address}; see: podman exec {node.name} journalctl -b")
            time.sleep(0.2)


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=2) as connection:
            connection.settimeout(5)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def remove(names: Sequence[str]) -> None:
    """Remove containers and what podman keeps for them.

    On a busy machine a container may end by itself just when podman wants to end it, which podman takes for a failure.
    """
    if not names:
        return
    for _attempt in range(2):
        if succeeds(*_REMOVE, *names):
            return
    podman(*_REMOVE, *names)


def remove_tree(path: Path) -> None:
    """Remove a directory of a node, first letting go of anything still mounted below it."""
    for mount in reversed(_mounts_below(path)):
        run(["umount", "--lazy", mount])
    if path.exists():
        shutil.rmtree(path)


def _mounts_below(path: Path) -> list[str]:
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{path}/")]
