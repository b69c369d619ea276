# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the init playbook against kubeadm init, each on a fresh node of its own, in one run."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import PEAK_MEGABYTES, Row, show
from nodes import CHECKOUT, Nodes, play

MOST_OF_KUBEADM = 1.5
MOST_AGAIN_SECONDS = 5.0


def kubeadm_init(nodes: Nodes, node: str, document: str) -> float:
    """Time the real kubeadm on a node."""
    nodes.run(node, "cat > /run/kubeadm.yaml", document)
    started = time.monotonic()
    nodes.run(node, "kubeadm init --config /run/kubeadm.yaml")
    return time.monotonic() - started


def alone(inventory: Path, node: str, target: Path) -> str:
    """Write an inventory that has one control plane only, and give its address."""
    listed = subprocess.run(["ansible-inventory", "-i", str(inventory), "--list"], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    variables = json.loads(listed.stdout)["_meta"]["hostvars"][node]
    target.write_text(json.dumps({"all": {"children": {"control_plane": {"hosts": {node: variables}}}}}))
    return str(variables["ansible_host"])


def address_of(document: str) -> str:
    """The address in an instance's documents, which are those of its first node."""
    found = re.search(r"advertiseAddress: (\S+)", document)
    return found.group(1) if found else ""


def measure(nodes: Nodes, home: Path) -> list[Row]:
    """Kubeadm on the first node, ours on the second."""
    nodes.up(2, 0)
    first, second = nodes.names
    document = (nodes.manifests / "kubeadm.yaml").read_text()
    other = alone(nodes.inventory, second, home / "inventory.json")
    (home / "kubeadm.yaml").write_text(document.replace(address_of(document), other))
    variables = {"kubephase_config_file": str(home / "kubeadm.yaml")}
    theirs = kubeadm_init(nodes, first, document)
    nodes.watch()
    ours = play("kubephase.cluster.init", home / "inventory.json", variables, home)
    seen = nodes.seen()[second]
    nodes.watch()
    again = play("kubephase.cluster.init", home / "inventory.json", variables, home)
    seen_again = nodes.seen()[second]
    peak = max(seen.megabytes, seen_again.megabytes)
    ratio = ours.seconds / theirs
    return [
        Row(
            "init to healthy",
            f"{ours.seconds:.1f} s; kubeadm init {theirs:.1f} s; ratio {ratio:.2f}",
            f"at most {MOST_OF_KUBEADM}",
            ratio <= MOST_OF_KUBEADM,
        ),
        Row(
            "run again, nothing to do",
            f"{again.seconds:.1f} s",
            f"at most {MOST_AGAIN_SECONDS:.0f} s",
            again.seconds <= MOST_AGAIN_SECONDS,
        ),
        Row("run again reports a change", "yes" if again.changed else "no", "no", again.changed == 0),
        Row("module calls, first run and again", f"{ours.calls.total()} and {again.calls.total()}"),
        Row("sent to the node, first run and again", f"{seen.kilobytes:.0f} kB and {seen_again.kilobytes:.0f} kB"),
        Row("peak memory of a module", f"{peak:.0f} MB", f"under {PEAK_MEGABYTES:.0f} MB", peak < PEAK_MEGABYTES),
    ]


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", required=True, help="name of the lab instance to make, and to remove afterwards")
    arguments = parser.parse_args()
    nodes = Nodes(arguments.instance)
    try:
        with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
            show(measure(nodes, Path(home)))
    finally:
        nodes.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
