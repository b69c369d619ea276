# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action plugin tells a host about the code and about who may stay there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.action import documents
from ansible_collections.kubephase.cluster.plugins.plugin_utils import node_code


class Call(documents.ActionModule):
    """The plugin with a host that lacks the code until it is sent, and writes down what it is told."""

    def __init__(self, **task: Any) -> None:
        self._task = SimpleNamespace(**{"action": "kubephase.cluster.cluster_discovery", "async_val": 0, "no_log": False, **task})
        self._connection = SimpleNamespace(transport="ssh")
        self.told: list[dict[str, Any]] = []

    def _execute_module(self, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        self.told.append(module_args["kept_code"])
        return {"changed": False} if "archive" in module_args["kept_code"] else {"kept_code_missing": True}


@pytest.mark.parametrize(
    ("options", "task", "stays"),
    [
        ({"becomes": "worker"}, {}, True),
        ({"becomes": "init"}, {}, True),
        ({"token": "abcdef.0123456789abcdef"}, {}, False),
        ({"becomes": "worker"}, {"no_log": True}, False),
    ],
)
def test_who_may_stay(options: dict[str, Any], task: dict[str, Any], stays: bool) -> None:
    call = Call(**task)
    assert call._with_kept_code(options, {}) == {"changed": False}
    wanted = {"module": "cluster_discovery", "digest": node_code.digest(), "stays": stays}
    assert call.told == [wanted, {**wanted, "archive": node_code.archive()}]


def test_the_usual_way_for_what_goes_on_by_itself() -> None:
    call = Call(async_val=60)
    assert (call._with_kept_code({}, {}), call.told) == (None, [])
