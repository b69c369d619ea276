# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes of the lab to measure on: made, watched while a playbook runs on them, and removed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
# What never leaves the controller.
ON_CONTROLLER = frozenset({"add_host", "assert", "debug", "documents", "fail", "group_by", "set_fact", "validate_argument_spec"})

# A rule without a target only counts. A Python that has loaded the collection notes its peak when it ends.
_WATCH = """\
set -eu
rule="INPUT --protocol tcp --dport 22 --match comment --comment bench"
iptables --check $rule 2>/dev/null || iptables --insert $rule
iptables --zero INPUT
rm -f /run/bench-peaks
place=$(python3 -c 'import site; print(site.getsitepackages()[0])')
cat > $place/bench_peak.py <<'END'
import atexit
import resource
import sys


def note():
    if any(name.startswith("ansible_collections.kubephase") for name in sys.modules):
        with open("/run/bench-peaks", "a") as lines:
            lines.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}\\n")


atexit.register(note)
END
echo 'import bench_peak' > $place/bench_peak.pth
"""
_SEEN = """\
iptables --list INPUT --verbose --exact --numeric | awk '/bench/ { print $2 }'
cat /run/bench-peaks 2>/dev/null || true
"""


@dataclass(frozen=True)
class Seen:
    """What came to a node over ssh, and the most memory that a module of ours had there."""

    kilobytes: float
    megabytes: float


@dataclass(frozen=True)
class Played:
    """A playbook that went through: how long it took, what it printed and what its tasks noted."""

    seconds: float
    output: str = field(repr=False)
    rows: list[dict[str, Any]] = field(repr=False)

    @property
    def calls(self) -> Counter[str]:
        """How many modules were called for each host."""
        return Counter(row["host"] for row in self.rows if row["module"] not in ON_CONTROLLER)

    @property
    def changed(self) -> int:
        """How many tasks reported a change."""
        return sum(bool(row["changed"]) for row in self.rows)

    @property
    def longest(self) -> list[tuple[str, float]]:
        """The tasks that took longest, each from its first start to its last end."""
        spans = {label: self.span(label) for label in {row["label"] for row in self.rows}}
        return sorted(spans.items(), key=lambda each: -each[1])[:3]

    def span(self, label: str) -> float:
        """How long a task took from its start on the first host to its end on the last."""
        rows = [row for row in self.rows if row["label"] == label]
        return float(max(row["ended"] for row in rows) - min(row["started"] for row in rows))


@dataclass(frozen=True)
class Nodes:
    """The nodes of an instance of the lab."""

    instance: str

    @property
    def inventory(self) -> Path:
        """Where the lab has written the inventory."""
        return Path(lab("inventory", "--instance", self.instance))

    @property
    def manifests(self) -> Path:
        """Where the lab has laid the documents and manifests that fit these nodes."""
        return self.inventory.parent / "manifests"

    @property
    def documents(self) -> dict[str, str]:
        """The variables of a playbook on these nodes."""
        return {
            "kubephase_config_file": str(self.manifests / "kubeadm.yaml"),
            "kubephase_addon_manifest": str(self.manifests / "flannel.yaml"),
        }

    @property
    def hosts(self) -> dict[str, dict[str, Any]]:
        """What the inventory says of every node."""
        listed = ["ansible-inventory", "-i", str(self.inventory), "--list"]
        content = json.loads(subprocess.run(listed, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout)
        found: dict[str, dict[str, Any]] = content["_meta"]["hostvars"]
        return found

    @property
    def names(self) -> list[str]:
        """Every node."""
        return sorted(self.hosts)

    def logins(self, short: str) -> list[list[str]]:
        """The plain ssh command of each node whose last part begins with some letters: nothing of the lab's takes time then."""
        chosen = [host for name, host in sorted(self.hosts.items()) if name.rpartition("-")[2].startswith(short)]
        return [["ssh", *_trust(host), f"{host['ansible_user']}@{host['ansible_host']}"] for host in chosen]

    def up(self, control_planes: int, workers: int) -> None:
        """Bring the instance to a size; nodes that are new are fresh."""
        lab("up", "--instance", self.instance, "--control-planes", str(control_planes), "--workers", str(workers))

    def down(self) -> None:
        """Remove the instance."""
        lab("down", "--instance", self.instance)

    def run(self, node: str, script: str, given: str = "") -> str:
        """Run a script on a node, by its name or its last part."""
        ssh = [sys.executable, "-m", "lab", "ssh", "--instance", self.instance, node, script]
        done = subprocess.run(ssh, cwd=CHECKOUT, input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"on {node}: {script}\n{done.stdout}{done.stderr}")
        return done.stdout

    def watch(self) -> None:
        """Count from now on what is sent to each node and what the modules need there."""
        with ThreadPoolExecutor() as together:
            list(together.map(lambda node: self.run(node, _WATCH), self.names))

    def seen(self) -> dict[str, Seen]:
        """Tell what was counted."""
        with ThreadPoolExecutor() as together:
            return dict(zip(names := self.names, together.map(self._seen, names)))

    def _seen(self, node: str) -> Seen:
        sent, *peaks = (int(line) for line in self.run(node, _SEEN).split())
        return Seen(sent / 1024, max(peaks, default=0) / 1024)


def _trust(host: dict[str, Any]) -> list[str]:
    return [*shlex.split(host["ansible_ssh_common_args"]), "-i", host["ansible_ssh_private_key_file"]]


def lab(*words: str) -> str:
    """Call the lab; its progress is shown, its answer returned."""
    done = subprocess.run([sys.executable, "-m", "lab", *words], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def play(playbook: str, inventory: Path, variables: dict[str, Any], home: Path) -> Played:
    """Time a playbook; its connections are its own, since a node of an earlier play may be another one by now."""
    number = len(list(home.glob("play-*")))
    place = home / f"play-{number}"
    place.mkdir(parents=True)
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "timings",
        "ANSIBLE_FORKS": "10",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(place / "cp"),
        "KUBEPHASE_BENCH_TIMINGS": str(place / "timings"),
    }
    command = ["ansible-playbook", playbook, "-i", str(inventory), "-e", json.dumps(variables)]
    started = time.monotonic()
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    taken = time.monotonic() - started
    if done.returncode:
        sys.exit(f"{playbook} failed:\n{done.stdout[-4000:]}")
    return Played(taken, done.stdout, [json.loads(line) for line in (place / "timings").read_text().splitlines()])
