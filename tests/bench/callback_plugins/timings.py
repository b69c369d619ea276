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
        self._started: dict[str, float] = {}

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """Remember when the task was started on the host."""
        self._started[task._uuid] = time.monotonic()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Append the task's line."""
        task = result._task
        seconds = time.monotonic() - self._started.pop(task._uuid)
        with open(os.environ["KUBEPHASE_BENCH_TIMINGS"], "a", encoding="utf-8") as lines:
            lines.write(json.dumps({"label": task.name, "seconds": seconds, "changed": result._result.get("changed", False)}) + "\n")
