# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures join and site against kubeadm, each on fresh nodes of its own, in one run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from bench import PEAK_MEGABYTES, Row, show
from nodes import HERE, Nodes, Played, Seen, play

IGNORED = "SystemVerification,NumCPU,Mem"
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
MOST_OF_ONE_WORKER = 1.5
# Nodes that have just booted, or just gone, keep the machine busy for a while.
AT_REST_SECONDS = 5
MOST_OF_CONTROL_PLANES, GOAL_OF_CONTROL_PLANES = 0.7, 0.4
MOST_OF_SITE, GOAL_OF_SITE = 0.8, 0.5
MOST_AGAIN, GOAL_AGAIN = 1.2, 0.6


def ratio(what: str, ours: list[float], theirs: list[float], name: str, most: float, goal: float) -> Row:
    """A line that compares the middle of some rounds."""
    share = median(ours) / median(theirs)
    return Row(what, f"{listed(ours)}; {name} {listed(theirs)}; ratio {share:.2f}", f"at most {most}, goal {goal}", share <= most)


def cost(what: str, played: Played, seen: dict[str, Seen], short: str) -> list[Row]:
    """Lines that tell what a run called, sent and needed, for the nodes whose last part begins with some letters."""
    chosen = {node: figures for node, figures in seen.items() if node.rpartition("-")[2].startswith(short)}
    peak = max(figures.megabytes for figures in chosen.values())
    calls = [count for node, count in played.calls.items() if node in chosen]
    longest = "; ".join(f"{label[:40]} {seconds:.1f} s" for label, seconds in played.longest)
    return [
        Row(f"{what}: longest tasks", longest),
        Row(f"{what}: module calls of a node", f"{min(calls, default=0)} to {max(calls, default=0)}"),
        Row(f"{what}: sent to a node", f"{max(figures.kilobytes for figures in chosen.values()):.0f} kB at most"),
        Row(f"{what}: peak memory of a module", f"{peak:.0f} MB", f"under {PEAK_MEGABYTES:.0f} MB", peak < PEAK_MEGABYTES),
    ]


def workers(instance: str, steps: list[int], rounds: int, home: Path) -> list[Row]:
    """Join fresh workers at once, so many more step by step; the first number of them and five several times, and with kubeadm."""
    least, most = min(steps), 5 if 5 in steps else max(steps)
    nodes = Nodes(f"{instance}-w")
    ours: dict[int, list[float]] = {}
    theirs: dict[int, list[float]] = {}
    reached: dict[int, list[float]] = {}
    rows: list[Row] = []
    try:
        nodes.up(1, 0)
        play("kubephase.cluster.init", nodes.inventory, nodes.documents, home)
        for number in range(rounds):
            for count in steps if number == 0 else (least, most):
                fresh(nodes, count)
                if count in (least, most):
                    reached.setdefault(count, []).append(play(str(HERE / "ping.yml"), nodes.inventory, {}, home).seconds)
                nodes.watch()
                time.sleep(AT_REST_SECONDS)
                played = play("kubephase.cluster.join_workers", nodes.inventory, nodes.documents, home)
                ours.setdefault(count, []).append(played.seconds)
                if count == max(steps):
                    rows = cost(f"join of {count} workers", played, nodes.seen(), "w")
                if count in (least, most):
                    fresh(nodes, count)
                    theirs.setdefault(count, []).append(kubeadm_workers(nodes))
    finally:
        nodes.down()
    grown = median(ours[most]) / median(ours[least])
    return [
        Row(
            f"join of {most} workers at once",
            f"{median(ours[most]):.1f} s; {least} alone {median(ours[least]):.1f} s; ratio {grown:.2f}",
            f"at most {MOST_OF_ONE_WORKER}",
            grown <= MOST_OF_ONE_WORKER,
        ),
        Row("join by number of workers", ", ".join(f"{count}: {listed(seconds)}" for count, seconds in ours.items())),
        Row(f"kubeadm join of {least} and of {most} at once, by ssh", growth(theirs, least, most)),
        Row(f"ping by Ansible of {least} and of {most}", growth(reached, least, most)),
        floor(ours, theirs, reached, least, most),
        *rows,
    ]


def listed(seconds: list[float]) -> str:
    """Every value of some rounds."""
    return "/".join(f"{each:.1f}" for each in seconds) + " s"


def growth(taken: dict[int, list[float]], least: int, most: int) -> str:
    """How much longer many take than few."""
    return f"{listed(taken[least])} and {listed(taken[most])}; ratio {median(taken[most]) / median(taken[least]):.2f}"


def floor(ours: dict[int, list[float]], theirs: dict[int, list[float]], reached: dict[int, list[float]], least: int, most: int) -> Row:
    """Tell what many would take if nothing of ours grew: the kubelets that start, and Ansible's way to the hosts, grow all the same."""
    least_of_all = median(ours[least]) + sum(median(taken[most]) - median(taken[least]) for taken in (theirs, reached))
    share = least_of_all / median(ours[least])
    return Row(f"the least that {most} could take on this machine", f"{least_of_all:.1f} s; ratio {share:.2f}")


def fresh(nodes: Nodes, count: int) -> None:
    """Have so many workers that nobody has used, on a machine that has come to rest."""
    leave(nodes)
    nodes.up(1, count)
    time.sleep(AT_REST_SECONDS)


def kubeadm_workers(nodes: Nodes) -> float:
    """Time the real kubeadm on all workers at once."""
    command = nodes.run("cp1", "kubeadm token create --print-join-command").strip()
    logins = nodes.logins("w")

    def join(login: list[str]) -> None:
        subprocess.run([*login, f"{command} --ignore-preflight-errors {IGNORED}"], capture_output=True, check=True)

    started = time.monotonic()
    with ThreadPoolExecutor(len(logins)) as together:
        list(together.map(join, logins))
    return time.monotonic() - started


def leave(nodes: Nodes) -> None:
    """Take every worker away, so that the next ones are fresh."""
    nodes.run("cp1", f"{KUBECTL} delete node --selector '!node-role.kubernetes.io/control-plane' --wait=false")
    nodes.up(1, 0)


def site(instance: str, home: Path, control_planes: int, others: int, rounds: int) -> list[Row]:
    """Make a whole cluster with the thin playbook, with ours, and once more to join control planes alone; several times.

    One run alone says little: a poll of five seconds that kubeadm just misses, or a start of etcd that takes seven seconds more
    when its first announcement comes to it with the snapshot, is a third of what is compared.
    """
    size = f"{control_planes} + {others}"
    taken: dict[str, list[float]] = defaultdict(list)
    changed = 0
    for _round in range(rounds):
        theirs, theirs_again, thin_seen = whole(f"{instance}-t", str(HERE / "thin.yml"), home, control_planes, others)
        first, second, seen = whole(f"{instance}-s", "kubephase.cluster.site", home, control_planes, others)
        joined, joined_seen = further(f"{instance}-c", home, control_planes)
        taken["thin"].append(theirs.seconds)
        taken["thin again"].append(theirs_again.seconds)
        taken["in a row"].append(theirs.span("[kubeadm join, control planes]"))
        taken["site"].append(first.seconds)
        taken["site again"].append(second.seconds)
        taken["at once"].append(joined.seconds)
        changed += second.changed
    return [
        ratio(f"site of {size}", taken["site"], taken["thin"], "thin playbook", MOST_OF_SITE, GOAL_OF_SITE),
        ratio(
            f"{control_planes - 1} further control planes at once",
            taken["at once"],
            taken["in a row"],
            "kubeadm's task, in a row",
            MOST_OF_CONTROL_PLANES,
            GOAL_OF_CONTROL_PLANES,
        ),
        ratio(f"site of {size} again", taken["site again"], taken["thin again"], "thin playbook", MOST_AGAIN, GOAL_AGAIN),
        Row("site again reports changes", f"{changed}; thin playbook {theirs_again.changed} each time", "none", changed == 0),
        Row(
            "site: module calls in all, first run and again",
            f"{first.calls.total()} and {second.calls.total()}; thin playbook {theirs.calls.total()} and {theirs_again.calls.total()}",
        ),
        *cost("site, control planes", first, seen, "cp"),
        *cost("site, workers", first, seen, "w"),
        Row("thin playbook: sent to a node", f"{max(figures.kilobytes for figures in thin_seen.values()):.0f} kB at most"),
        *cost("join of control planes", joined, {node: each for node, each in joined_seen.items() if not node.endswith("-cp1")}, "cp"),
    ]


def whole(instance: str, playbook: str, home: Path, control_planes: int, others: int) -> tuple[Played, Played, dict[str, Seen]]:
    """Run a playbook twice on fresh nodes; what was sent is that of the first run."""
    nodes = Nodes(instance)
    try:
        nodes.up(control_planes, others)
        nodes.watch()
        time.sleep(AT_REST_SECONDS)
        # Neither prepares hosts that are ready.
        variables = {**nodes.documents, "thin_ignored": IGNORED, "kubephase_prepare": False}
        first = play(playbook, nodes.inventory, variables, home)
        seen = nodes.seen()
        return first, play(playbook, nodes.inventory, variables, home), seen
    finally:
        nodes.down()


def further(instance: str, home: Path, control_planes: int) -> tuple[Played, dict[str, Seen]]:
    """Join all control planes but the first at once."""
    nodes = Nodes(instance)
    try:
        nodes.up(1, 0)
        play("kubephase.cluster.init", nodes.inventory, nodes.documents, home)
        nodes.up(control_planes, 0)
        nodes.watch()
        time.sleep(AT_REST_SECONDS)
        joined = play("kubephase.cluster.join_control_plane", nodes.inventory, nodes.documents, home)
        return joined, nodes.seen()
    finally:
        nodes.down()


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", required=True, help="beginning of the names of the lab instances to make, and to remove afterwards")
    parser.add_argument("--parts", nargs="+", choices=["workers", "site"], default=["workers", "site"], help="what to measure")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 5, 6], help="how many workers at once, step by step")
    parser.add_argument("--rounds", type=int, default=3, help="how often one worker and five are joined, and sites made (default: 3)")
    parser.add_argument("--size", type=int, nargs=2, default=[3, 2], help="control planes and workers of the site (default: 3 2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
        if "workers" in arguments.parts:
            show(workers(arguments.instance, arguments.workers, arguments.rounds, Path(home)))
        if "site" in arguments.parts:
            show(site(arguments.instance, Path(home), *arguments.size, arguments.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
