# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node of the lab: made, spoken to and removed."""

from __future__ import annotations

import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s"


@dataclass(frozen=True)
class Node:
    """The one control plane of an instance."""

    instance: str
    name: str
    address: str
    ssh: tuple[str, ...]
    inventory: Path

    @property
    def manifests(self) -> Path:
        """Where the lab has laid the documents and manifests that fit this node."""
        return self.inventory.parent / "manifests"

    def attempt(self, script: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a script on the node, however it ends."""
        command = ["ssh", *self.ssh, f"root@{self.address}", f"bash --norc -euo pipefail -c {shlex.quote(script)}"]
        return subprocess.run(command, input=given, capture_output=True, check=False, timeout=180)

    def run(self, script: str, given: bytes = b"") -> str:
        """Run a script that has to succeed, and give what it printed."""
        done = self.attempt(script, given)
        if done.returncode != 0:
            raise AssertionError(f"on {self.name}: {script}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done.stdout.decode()

    def kubectl(self, arguments: str) -> str:
        """Ask the cluster as its administrator."""
        return self.run(f"{KUBECTL} {arguments}")

    def read(self, path: str) -> bytes:
        """Give the content of a file of the node."""
        return self.run(f"base64 -w0 {path} | base64 -d").encode()

    def put(self, path: str, content: bytes) -> None:
        """Replace the content of a file, in one step and with nothing beside it."""
        self.run(f"cat > /run/put && chmod --reference={path} /run/put && mv /run/put {path}", content)

    def until(self, script: str, seconds: float = 90) -> str:
        """Wait until a script succeeds."""
        deadline = time.monotonic() + seconds
        while True:
            done = self.attempt(script)
            if done.returncode == 0:
                return done.stdout.decode()
            if time.monotonic() > deadline:
                raise AssertionError(f"on {self.name}, not within {seconds} s: {script}\n{done.stdout.decode()}{done.stderr.decode()}")
            time.sleep(0.5)


def lab(*arguments: str) -> str:
    """Call the lab as a person would."""
    done = subprocess.run(["python3", "-m", "lab", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"lab {' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout.strip()


def virgin_node(instance: str) -> Node:
    """Make an instance of one control plane; what an earlier run left of it goes first."""
    remove(instance)
    return attach(Path(lab("up", "--instance", instance, "--control-planes", "1", "--workers", "0").splitlines()[-1]))


def attach(inventory: Path) -> Node:
    """Speak to the control plane of an inventory."""
    content: dict[str, Any] = yaml.safe_load(inventory.read_text())["all"]
    ((name, host),) = content["children"]["control_plane"]["hosts"].items()
    settings = content["vars"]
    instance = settings["lab_instance"]
    ssh = (
        *("-i", settings["ansible_ssh_private_key_file"]),
        *shlex.split(settings["ansible_ssh_common_args"]),
        *("-o", "ControlMaster=auto", "-o", f"ControlPath=/tmp/.{instance}-%C", "-o", "ControlPersist=60"),
    )
    return Node(instance, name, host["ansible_host"], ssh, inventory)


def remove(instance: str) -> None:
    """Remove an instance, if it is there."""
    lab("down", "--instance", instance)
