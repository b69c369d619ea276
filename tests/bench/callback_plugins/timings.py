# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Notes how long each named task took, as the controller sees it."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: timings
type: notification
short_description: Notes how long each task took
description:
  - Appends a line of JSON for each task to the file that the environment variable KUBEPHASE_BENCH_TIMINGS names.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core ships no types
    """Writes a line when a task has ended well."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "timings"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._started: dict[tuple[str, str], float] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """Remember when the task was started on the host."""
        self._started[host.get_name(), task._uuid] = time.monotonic()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Append the task's line."""
        task, host = result._task, result._host.get_name()
        started, ended = self._started.pop((host, task._uuid)), time.monotonic()
        row = {
            "label": task.name,
            "module": task.action.rpartition(".")[2],
            "host": host,
            "started": started,
            "ended": ended,
            "seconds": ended - started,
            "changed": result._result.get("changed", False),
        }
        with open(os.environ["KUBEPHASE_BENCH_TIMINGS"], "a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
