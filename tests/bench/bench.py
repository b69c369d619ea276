# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures pki_cert and kubeconfig_file against kubeadm on the same node in the same run, as ratios."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]

FIRST_V1BETA4_MINOR = 31
FIRST_SUPER_ADMIN_MINOR = 29

NO_OP_SECONDS = 0.2
PEAK_MEGABYTES = 80.0
KEY_SHARE = 0.5


class Figures:
    """What was measured, by label; each is the median of all rounds."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rows = [json.loads(line) for line in lines]

    def median(self, label: str, figure: str = "seconds") -> float:
        """The middle one of a label's values."""
        return statistics.median(float(row[figure]) for row in self._rows if row["label"] == label)

    def most(self, label: str, figure: str) -> float:
        """The largest of a label's values."""
        return max(float(row[figure]) for row in self._rows if row["label"] == label)

    def changed(self, label: str) -> int:
        """How many times a task reported a change."""
        return sum(1 for row in self._rows if row["label"] == label and row["changed"])


def read_figures(path: Path) -> Figures:
    """The figures of a file of JSON lines."""
    return Figures(path.read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True)
class Row:
    """A line of the table; without a target it is there to be read only."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


def minor_of(version: str) -> int:
    """The 37 of 1.37.1."""
    return int(version.split(".")[1])


def document(version: str, algorithm: str) -> str:
    """A kubeadm.yaml that needs nothing of the node."""
    api = "v1beta4" if minor_of(version) >= FIRST_V1BETA4_MINOR else "v1beta3"
    wanted = f"encryptionAlgorithm: {algorithm}\n" if algorithm != "RSA-2048" else ""
    return (
        f"apiVersion: kubeadm.k8s.io/{api}\nkind: InitConfiguration\nlocalAPIEndpoint:\n  advertiseAddress: 192.0.2.10\n"
        f"nodeRegistration:\n  name: bench\n  criSocket: unix:///run/containerd/containerd.sock\n"
        f"---\napiVersion: kubeadm.k8s.io/{api}\nkind: ClusterConfiguration\nkubernetesVersion: v{version}\n{wanted}"
    )


def key_count(version: str) -> int:
    """Ten certificates and the service account's key, and a key in each kubeconfig."""
    return 11 + (5 if minor_of(version) >= FIRST_SUPER_ADMIN_MINOR else 4)


def inventory_host(inventory: str) -> tuple[str, str]:
    """The first control plane of an inventory and the release that its kubeadm has."""
    listed = subprocess.run(["ansible-inventory", "-i", inventory, "--list"], capture_output=True, text=True, check=True, cwd=CHECKOUT)
    content = json.loads(listed.stdout)
    host = content["control_plane"]["hosts"][0]
    return host, str(content["_meta"]["hostvars"][host].get("lab_kubernetes_version", "1.37.1"))


def play(inventory: str, host: str, version: str, arguments: argparse.Namespace, home: Path) -> tuple[Figures, Figures]:
    """Run the rounds; what the controller saw of the tasks, and what the node saw of the processes."""
    (home / "kubeadm.yaml").write_text(document(version, arguments.algorithm), encoding="utf-8")
    variables = {
        "bench_host": host,
        "bench_rounds": arguments.rounds,
        "bench_config": str(home / "kubeadm.yaml"),
        "bench_result": str(home / "log.jsonl"),
        "bench_algorithm": arguments.algorithm,
        "bench_keys": key_count(version),
    }
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "timings",
        "KUBEPHASE_BENCH_TIMINGS": str(home / "timings.jsonl"),
    }
    command = ["ansible-playbook", "-i", inventory, str(HERE / "bench.yml"), "-e", json.dumps(variables)]
    with (home / "output").open("w", encoding="utf-8") as output:
        code = subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        sys.exit(f"the rounds failed:\n{(home / 'output').read_text(encoding='utf-8')[-4000:]}")
    return read_figures(home / "timings.jsonl"), read_figures(home / "log.jsonl")


def table(tasks: Figures, processes: Figures) -> list[Row]:
    """What a person wants to know, with the targets."""
    kubeadm_tasks = tasks.median("[kubeadm certs]") + tasks.median("[kubeadm kubeconfig]")
    our_tasks = tasks.median("[certs]") + tasks.median("[kubeconfig]")
    kubeadm_processes = processes.median("kubeadm-certs") + processes.median("kubeadm-kubeconfig")
    our_processes = processes.median("certs") + processes.median("kubeconfig")
    keys = processes.median("keys")
    peak = max(processes.most(label, "megabytes") for label in ("certs", "kubeconfig", "certs-again", "kubeconfig-again"))
    kubeadm_peak = max(processes.most(label, "megabytes") for label in ("kubeadm-certs", "kubeadm-kubeconfig"))
    rows = [
        Row(
            "first run, both tasks",
            f"{our_tasks:.2f} s; kubeadm's two as command tasks {kubeadm_tasks:.2f} s; ratio {our_tasks / kubeadm_tasks:.2f}",
        ),
        Row(
            "first run, processes on the node",
            f"{our_processes:.2f} s; kubeadm {kubeadm_processes:.2f} s; ratio {our_processes / kubeadm_processes:.2f}",
        ),
        Row(
            "key generation's share of the processes",
            f"{keys / our_processes:.0%} ({keys:.2f} s alone)",
            f"more than {KEY_SHARE:.0%}",
            keys / our_processes > KEY_SHARE,
        ),
        Row("key generation's share of the tasks", f"{keys / our_tasks:.0%}"),
    ]
    for label in ("certs", "kubeconfig"):
        over = tasks.median(f"[{label} again]") - tasks.median("[ping]")
        on_node = processes.median(f"{label}-again") - processes.median("ping")
        rows.append(
            Row(
                f"{label} with nothing to do, over ping",
                f"{over:+.2f} s as a task, {on_node:+.2f} s on the node",
                f"at most {NO_OP_SECONDS} s",
                over <= NO_OP_SECONDS,
            )
        )
        again = tasks.changed(f"[{label} again]")
        rows.append(Row(f"{label} again reports a change", f"{again} times", "never", again == 0))
    rows.append(
        Row("peak memory", f"{peak:.0f} MB (kubeadm {kubeadm_peak:.0f} MB)", f"under {PEAK_MEGABYTES:.0f} MB", peak < PEAK_MEGABYTES)
    )
    return rows


def show(rows: list[Row]) -> None:
    """Print the table."""
    widths = [max(len(getattr(row, column)) for row in rows) for column in ("what", "measured", "target")]
    for row in rows:
        verdict = "" if row.met is None else "met" if row.met else "missed"
        print(f"{row.what:<{widths[0]}}  {row.measured:<{widths[1]}}  {row.target:<{widths[2]}}  {verdict}".rstrip())


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inventory", required=True, help="inventory with a control_plane group; its first host is used")
    parser.add_argument("--rounds", type=int, default=5, help="how many times everything is measured (default: 5)")
    parser.add_argument("--algorithm", default="RSA-2048", help="encryptionAlgorithm of the documents (default: RSA-2048)")
    arguments = parser.parse_args()
    inventory = str(Path(arguments.inventory).resolve())
    host, version = inventory_host(inventory)
    print(f"bench: {host}, Kubernetes {version}, {arguments.algorithm}, median of {arguments.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
        show(table(*play(inventory, host, version, arguments, Path(home))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
