# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the init playbook against kubeadm init, each on a fresh node of its own, in one run."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import Row, show

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
MOST_OF_KUBEADM = 1.5
MOST_AGAIN_SECONDS = 5.0


def lab(*words: str) -> str:
    """Call the lab; its progress is shown, its answer returned."""
    return subprocess.run([sys.executable, "-m", "lab", *words], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def kubeadm_init(instance: str, node: str, document: str) -> float:
    """Time the real kubeadm on a node."""
    ssh = [sys.executable, "-m", "lab", "ssh", "--instance", instance, node]
    subprocess.run([*ssh, "cat > /run/kubeadm.yaml"], cwd=CHECKOUT, input=document, text=True, check=True)
    started = time.monotonic()
    subprocess.run(
        [*ssh, "kubeadm init --config /run/kubeadm.yaml"], cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return time.monotonic() - started


def our_init(inventory: Path, document: Path, timings: Path) -> tuple[float, str]:
    """Time the playbook; also what its recap said."""
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "timings",
        "KUBEPHASE_BENCH_TIMINGS": str(timings),
        "ANSIBLE_NOCOLOR": "1",
    }
    command = ["ansible-playbook", "kubephase.cluster.init", "-i", str(inventory), "-e", f"kubephase_config_file={document}"]
    started = time.monotonic()
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"init failed:\n{done.stdout[-4000:]}")
    return time.monotonic() - started, done.stdout


def alone(inventory: Path, node: str, target: Path) -> None:
    """Write an inventory that has one control plane only."""
    listed = subprocess.run(["ansible-inventory", "-i", str(inventory), "--list"], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    variables = json.loads(listed.stdout)["_meta"]["hostvars"][node]
    target.write_text(json.dumps({"all": {"children": {"control_plane": {"hosts": {node: variables}}}}}))


def address_of(document: str) -> str:
    """The address in an instance's documents, which are those of its first node."""
    found = re.search(r"advertiseAddress: (\S+)", document)
    return found.group(1) if found else ""


def calls(timings: Path) -> int:
    """How many of our modules were called."""
    return sum(1 for line in timings.read_text().splitlines() if json.loads(line)["seconds"] > 0)


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", required=True, help="name of the lab instance to make, and to remove afterwards")
    arguments = parser.parse_args()
    try:
        inventory = Path(lab("up", "--instance", arguments.instance, "--control-planes", "2", "--workers", "0"))
        first, second = (f"{arguments.instance}-cp{number}" for number in (1, 2))
        document = (inventory.parent / "manifests/kubeadm.yaml").read_text()
        with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
            place = Path(home)
            alone(inventory, second, place / "inventory.json")
            other = json.loads((place / "inventory.json").read_text())["all"]["children"]["control_plane"]["hosts"][second]["ansible_host"]
            (place / "kubeadm.yaml").write_text(document.replace(address_of(document), other))
            theirs = kubeadm_init(arguments.instance, first, document)
            ours, _ = our_init(place / "inventory.json", place / "kubeadm.yaml", place / "first.jsonl")
            again, said = our_init(place / "inventory.json", place / "kubeadm.yaml", place / "again.jsonl")
            show(
                [
                    Row(
                        "init to healthy",
                        f"{ours:.1f} s; kubeadm init {theirs:.1f} s; ratio {ours / theirs:.2f}",
                        f"at most {MOST_OF_KUBEADM}",
                        ours / theirs <= MOST_OF_KUBEADM,
                    ),
                    Row("run again, nothing to do", f"{again:.1f} s", f"at most {MOST_AGAIN_SECONDS:.0f} s", again <= MOST_AGAIN_SECONDS),
                    Row("run again reports a change", "no" if "changed=0 " in said else "yes", "no", "changed=0 " in said),
                    Row("tasks with a result, first run and again", f"{calls(place / 'first.jsonl')} and {calls(place / 'again.jsonl')}"),
                ]
            )
    finally:
        lab("down", "--instance", arguments.instance)
    return 0


if __name__ == "__main__":
    sys.exit(main())
