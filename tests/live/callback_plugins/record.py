# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Notes what each task of a play reported, for tests to read."""

from __future__ import annotations

import json
import os
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: record
type: notification
short_description: Notes what each task reported
description:
  - Appends a line of JSON for each task to the file that the environment variable KUBEPHASE_LIVE_RECORD names.
"""

_KEPT = ("changed", "diff", "pending", "msg", "skip_reason", "warnings")


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core ships no types
    """Writes a line when a task starts, and one when it has ended in whatever way."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "record"

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Note that a task is about to run."""
        self._write(task, "started", {})

    def v2_runner_on_ok(self, result: Any) -> None:
        """Note a task that did what it was asked."""
        self._write(result._task, "ok", result._result, result._host.get_name())

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note a task that failed."""
        self._write(result._task, "failed", result._result, result._host.get_name())

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Note a task that was not needed."""
        self._write(result._task, "skipped", result._result, result._host.get_name())

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note a task whose host did not answer."""
        self._write(result._task, "unreachable", result._result, result._host.get_name())

    def _write(self, task: Any, state: str, result: dict[str, Any], host: str = "") -> None:
        row = {"task": task.name, "module": task.action.rpartition(".")[2], "tags": list(task.tags), "state": state, "host": host}
        row.update({name: result[name] for name in _KEPT if name in result})
        with open(os.environ["KUBEPHASE_LIVE_RECORD"], "a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
