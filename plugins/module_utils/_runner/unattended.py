# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One turn of a phase without Ansible: what a timer runs on a host, with options that a module left there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Phase, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter, options
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute

_ERROR, _WARNING, _NOTICE = 3, 4, 5


def turn(
    phase: Phase[Any],
    world: interpreter.World,
    settings: str,
    figures: str,
    told: Callable[[bytes | None, Mapping[str, Any] | None], bytes],
    say: Callable[[str], object] = sys.stdout.write,
) -> int:
    """Run a phase with the options in a file, tell the journal of it, and write its figures; the result is an exit status."""
    facts: Mapping[str, Any] | None = None
    try:
        given = _given(settings, world.files.read(settings))
        outcome = execute(phase, world, options.documents(given), given)
        facts = outcome.facts
        for warning in outcome.warnings:
            _tell(say, _WARNING, warning)
        for change in outcome.plan.real_changes:
            _tell(say, _NOTICE, f"{change.target}: {change.reason}")
    except (Unusable, ManyUnusable, InvalidDocuments) as problem:
        _tell(say, _ERROR, str(problem))
    try:
        before = world.files.read(figures)
        world.files.write([WriteFile(figures, told(None if before is None else before.content, facts), 0o644)])
    except Unusable as problem:
        _tell(say, _ERROR, str(problem))
        return 1
    return 1 if facts is None else 0


def _given(path: str, found: Any) -> dict[str, Any]:
    try:
        settings: Any = json.loads(found.content) if found is not None else {}
        return {**settings["options"], **{name: timedelta(seconds=value) for name, value in settings["seconds"].items()}}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Unusable(path, "it is missing, or not what the module writes there", "Run kubelet_serving_cert, which writes it") from None


def _tell(say: Callable[[str], object], priority: int, text: str) -> None:
    # The journal takes the priority from the mark in front of each line.
    for line in text.splitlines():
        say(f"<{priority}>{line}\n")
