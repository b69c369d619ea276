# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a playbook of the collection as a user would, and tells what each phase reported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from live.node import ROOT, Node

# What only looks or waits; the plan names both whenever anything else is to be done.
COMPANIONS = frozenset({"preflight", "wait-control-plane"})
_TIMES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?( UTC)?"), "<time>"),
    (re.compile(r"\b(pid|process) \d+\b"), "<process>"),
)


@dataclass(frozen=True)
class Report:
    """What a play printed and what its tasks reported."""

    code: int
    output: str = field(repr=False)
    rows: tuple[dict[str, Any], ...] = field(repr=False)

    @property
    def pending(self) -> frozenset[str]:
        """The phases that the plan named."""
        ((_, pending),) = [(row, row["pending"]) for row in self.rows if "pending" in row]
        return frozenset(pending)

    @property
    def changed(self) -> frozenset[str]:
        """The phases whose module reported a change."""
        return frozenset(_phase(row) for row in self.rows if row.get("changed"))

    @property
    def ran(self) -> frozenset[str]:
        """The phases whose module was run at all."""
        return frozenset(_phase(row) for row in self.rows if row["state"] in ("ok", "failed")) - {""}

    @property
    def diffs(self) -> dict[str, Any]:
        """The diff of each phase, without the times in it."""
        return {_phase(row): _timeless(row["diff"]) for row in self.rows if row.get("diff")}

    @property
    def changes(self) -> set[tuple[str, str]]:
        """What was changed, or would be, with the host that it is on; a task without a diff by its name."""
        return {
            (row["host"], change.get("before_header") or row["task"])
            for row in self.rows
            if row.get("changed")
            for change in (row.get("diff") or [{}])
        }

    @property
    def failure(self) -> str:
        """What the failed task said."""
        return "\n".join(str(row.get("msg")) for row in self.rows if row["state"] == "failed")

    def succeeded(self) -> Report:
        """Insist that the play went through."""
        if self.code != 0:
            raise AssertionError(self.output[-6000:])
        return self


@dataclass(frozen=True)
class Playbook:
    """A playbook, init unless another is named, with a node, or an inventory of several, and variables of its own."""

    node: Node
    variables: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    name: str = "init"
    inventory: Path | None = None

    def using(self, **variables: Any) -> Playbook:
        """The same with further variables."""
        return replace(self, variables={**self.variables, **variables})

    def play(self, *arguments: str) -> Report:
        """Run it to its end."""
        with tempfile.TemporaryDirectory() as place:
            record = Path(place, "record")
            done = subprocess.run(
                self.command(*arguments),
                cwd=ROOT,
                env=self.surroundings(record),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            return Report(done.returncode, done.stdout, rows(record))

    def command(self, *arguments: str) -> list[str]:
        """Spell the command line."""
        given = {
            "kubephase_config_file": str(self.node.manifests / "kubeadm.yaml"),
            "kubephase_addon_manifest": str(self.node.manifests / "flannel.yaml"),
            **self.variables,
        }
        given = {name: value for name, value in given.items() if value is not None}
        inventory = self.inventory or self.node.inventory
        playbook = self.name if "/" in self.name else f"kubephase.cluster.{self.name}"
        return ["ansible-playbook", playbook, "-i", str(inventory), "-e", json.dumps(given), *arguments]

    def surroundings(self, record: Path) -> dict[str, str]:
        """Give the environment in which the tasks' reports land in a file."""
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "collections"),
            "ANSIBLE_CALLBACK_PLUGINS": str(Path(__file__).parent / "callback_plugins"),
            "ANSIBLE_CALLBACKS_ENABLED": "record",
            "ANSIBLE_NOCOLOR": "1",
            "KUBEPHASE_LIVE_RECORD": str(record),
            **self.environment,
        }


def rows(record: Path) -> tuple[dict[str, Any], ...]:
    """Read what was recorded so far; a last line that is still being written does not count."""
    text = record.read_text() if record.exists() else ""
    return tuple(json.loads(line) for line in text.split("\n")[:-1])


def _phase(row: dict[str, Any]) -> str:
    return next((tag for tag in row["tags"] if tag != "always"), "")


def _timeless(value: Any) -> Any:
    text = json.dumps(value, sort_keys=True)
    for pattern, word in _TIMES:
        text = pattern.sub(word, text)
    return json.loads(text)
