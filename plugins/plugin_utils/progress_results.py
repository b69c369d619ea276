# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a task's result is for people: its reason when it failed, what it has to say, how an item is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HIDDEN = "what it said is hidden, because the task has no_log"
_LONGEST_LABEL = 60
_MOST_OUTPUT = 30
# Where a program's words are, those that tell most first.
_PRINTED = ("stderr", "module_stderr", "stdout", "module_stdout")


def hidden(no_log: Any, found: Mapping[str, Any]) -> bool:
    """Say whether nothing of a result may be shown; a no_log that is still a template counts."""
    return bool(no_log) or "censored" in found or bool(found.get("_ansible_no_log"))


def reason(found: Mapping[str, Any]) -> str:
    """Give the message of a failure and, for a program, the end of what that printed."""
    said = [str(found.get("msg") or "it gave no reason")]
    attempts = found.get("attempts")
    if isinstance(attempts, int) and attempts > 1:
        said.append(f"after {attempts} tries")
    printed = next((str(found[name]) for name in _PRINTED if found.get(name)), "")
    return "\n".join(said + printed.strip().splitlines()[-_MOST_OUTPUT:])


def words(action: str, found: Mapping[str, Any]) -> object:
    """Give what a task that went well has to say, a text or several; None when it has nothing to say."""
    if action.rpartition(".")[2] == "debug":
        return found.get("msg")
    pending = found.get("pending")
    if action == "kubephase.cluster.phase_plan" and isinstance(pending, list):
        return f"has work for {', '.join(map(str, pending))}" if pending else "has nothing to do"
    return None


def item_name(label: Any) -> str:
    """Name an item that has a name; a structure may hold anything, and a long text says little."""
    return str(label) if isinstance(label, (str, int, float)) and len(str(label)) <= _LONGEST_LABEL else ""
