# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs plays as a user would, on this machine, below a directory of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Played:
    """How a play ended and everything that it printed."""

    code: int
    output: str

    def recap(self, host: str = "cp1") -> dict[str, int]:
        """The numbers of the recap for a host."""
        line = re.search(rf"^{host}\s+:(.*)$", self.output, re.MULTILINE)
        return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", line.group(1))} if line else {}


def play(
    place: Path,
    tasks: list[dict[str, Any]],
    *arguments: str,
    hosts: dict[str, Any] | None = None,
    groups: dict[str, list[str]] | None = None,
    **environment: str,
) -> Played:
    """Run tasks on hosts that all are this machine; variables by host."""
    inventory: dict[str, Any] = {"all": {"hosts": hosts or {"cp1": {}}, "vars": {"ansible_connection": "local"}}}
    inventory["all"]["children"] = {name: {"hosts": {member: {} for member in members}} for name, members in (groups or {}).items()}
    inventory["all"]["vars"]["ansible_python_interpreter"] = environment.pop("INTERPRETER", sys.executable)
    (place / "inventory.yml").write_text(yaml.safe_dump(inventory))
    (place / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    (place / "ansible.cfg").touch()
    done = subprocess.run(
        ["ansible-playbook", "-i", "inventory.yml", "play.yml", *arguments],
        cwd=place,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "collections"),
            "ANSIBLE_CONFIG": str(place / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_REMOTE_TMP": str(place / "remote-tmp"),
            "ANSIBLE_LOCAL_TEMP": str(place / "local-tmp"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
            # Results tell what a module was given, as they always did before ansible-core 2.21: the most that can leak.
            "ANSIBLE_INJECT_INVOCATION": "1",
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Played(done.returncode, done.stdout)


def cluster(place: Path, **fields: Any) -> dict[str, Any]:
    """A ClusterConfiguration whose files lie below a place; elliptic keys are quick to make."""
    return {
        "kubernetesVersion": "v1.37.1",
        "certificatesDir": str(place / "pki"),
        "encryptionAlgorithm": "ECDSA-P256",
        **fields,
    }
