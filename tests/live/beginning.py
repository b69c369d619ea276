# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a virgin node becomes a cluster: a check, a run and a run again, with what the node looked like in between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from live import looks
from live.node import Node
from live.playbook import Playbook, Report

# Secrets that must never be seen again; the first half of a token is public.
TOKENS = ("cana01.5ecre7ha1f0fat0k", "cana02.5ecre7ha1f0fat02")
CERTIFICATE_KEY = "ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a71234"


@dataclass(frozen=True)
class Look:
    """A node at a moment."""

    files: list[str] = field(repr=False)
    processes: str = field(repr=False)
    serials: str = field(default="", repr=False)
    objects: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Beginning:
    """The first three runs on a node; where the controller logged, and what the node looked like around them."""

    node: Node
    playbook: Playbook
    controller: Path
    virgin: Look
    after_check: Look
    after_run: Look
    after_again: Look
    checked: Report
    ran: Report
    again: Report


def usual(node: Node) -> Playbook:
    """The playbook with the documents of the lab, and secrets in them."""
    secret_init = {"bootstrapTokens": [{"token": token} for token in TOKENS], "certificateKey": CERTIFICATE_KEY}
    return Playbook(node, {"kubephase_init_configuration": secret_init, "kubephase_upload_certs": True})


def begin(node: Node, controller: Path) -> Beginning:
    """Make a cluster of a node, with secrets in its documents and every way for them to leak open."""
    watched = {
        "ANSIBLE_LOG_PATH": str(controller / "ansible.log"),
        "ANSIBLE_CACHE_PLUGIN": "jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(controller / "facts"),
    }
    playbook = replace(usual(node), environment=watched)
    node.run("mkdir -p /root/.ansible")
    virgin = _virgin(node)
    checked = playbook.play("--check", "--diff").succeeded()
    after_check = _virgin(node)
    ran = playbook.play("--diff", "-vvv").succeeded()
    looks.settle(node)
    after_run = _living(node)
    again = playbook.play("--diff").succeeded()
    return Beginning(node, usual(node), controller, virgin, after_check, after_run, _living(node), checked, ran, again)


def _virgin(node: Node) -> Look:
    return Look(looks.files(node, living=False), looks.processes(node, living=False))


def _living(node: Node) -> Look:
    return Look(looks.files(node), looks.processes(node), looks.serials(node), looks.objects(node))
