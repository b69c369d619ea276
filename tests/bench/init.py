# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the init playbook against kubeadm init, each on a fresh node of its own, in one run."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench import PEAK_MEGABYTES, Row, show
from nodes import Nodes, Played, play

MOST_OF_KUBEADM = 1.5
MOST_AGAIN_SECONDS = 5.0


def kubeadm_init(nodes: Nodes, node: str, document: str) -> float:
    """Time the real kubeadm on a node."""
    nodes.run(node, "cat > /run/kubeadm.yaml", document)
    started = time.monotonic()
    nodes.run(node, "kubeadm init --config /run/kubeadm.yaml")
    return time.monotonic() - started


def measure(nodes: Nodes, home: Path, rounds: int) -> list[Row]:
    """Kubeadm and ours in turn, each on a fresh node that has the machine for itself: a cluster at rest takes its share, too."""
    theirs: list[float] = []
    ours: list[Played] = []
    for _round in range(rounds):
        nodes.up(1, 0)
        theirs.append(kubeadm_init(nodes, nodes.names[0], (nodes.manifests / "kubeadm.yaml").read_text()))
        nodes.down()
        nodes.up(1, 0)
        nodes.watch()
        ours.append(play("kubephase.cluster.init", nodes.inventory, {"kubephase_config_file": str(nodes.manifests / "kubeadm.yaml")}, home))
        seen = nodes.seen()[nodes.names[0]]
        if len(ours) < rounds:
            nodes.down()
    nodes.watch()
    again = play("kubephase.cluster.init", nodes.inventory, {"kubephase_config_file": str(nodes.manifests / "kubeadm.yaml")}, home)
    seen_again = nodes.seen()[nodes.names[0]]
    peak = max(seen.megabytes, seen_again.megabytes)
    middle, kubeadm = statistics.median(played.seconds for played in ours), statistics.median(theirs)
    ratio = middle / kubeadm
    return [
        Row(
            f"init to healthy, middle of {rounds}",
            f"{middle:.1f} s; kubeadm init {kubeadm:.1f} s; ratio {ratio:.2f}",
            f"at most {MOST_OF_KUBEADM}",
            ratio <= MOST_OF_KUBEADM,
        ),
        Row("each round", ", ".join(f"{played.seconds:.1f} s and {kubeadm:.1f} s" for played, kubeadm in zip(ours, theirs))),
        Row(
            "run again, nothing to do",
            f"{again.seconds:.1f} s",
            f"at most {MOST_AGAIN_SECONDS:.0f} s",
            again.seconds <= MOST_AGAIN_SECONDS,
        ),
        Row("run again reports a change", "yes" if again.changed else "no", "no", again.changed == 0),
        Row("module calls, first run and again", f"{ours[-1].calls.total()} and {again.calls.total()}"),
        Row("sent to the node, first run and again", f"{seen.kilobytes:.0f} kB and {seen_again.kilobytes:.0f} kB"),
        Row("peak memory of a module", f"{peak:.0f} MB", f"under {PEAK_MEGABYTES:.0f} MB", peak < PEAK_MEGABYTES),
    ]


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", required=True, help="name of the lab instance to make, and to remove afterwards")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: 3)")
    arguments = parser.parse_args()
    nodes = Nodes(arguments.instance)
    try:
        with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
            show(measure(nodes, Path(home), arguments.rounds))
    finally:
        nodes.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
