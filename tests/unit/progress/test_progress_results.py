# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a result may be shown, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_results import hidden, item_name, reason, words

CANARY = "canary.t0k3nt0k3nt0k3n1"


@pytest.mark.parametrize(
    ("no_log", "found", "expected"),
    [
        (False, {"msg": "x"}, False),
        (None, {}, False),
        (True, {}, True),
        ("{{ secret }}", {}, True),
        (False, {"censored": "hidden"}, True),
        (False, {"_ansible_no_log": True}, True),
        (False, {"_ansible_no_log": False}, False),
    ],
)
def test_what_is_hidden(no_log: Any, found: dict[str, Any], expected: bool) -> None:
    assert hidden(no_log, found) is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"msg": "one\ntwo", "token": CANARY, "invocation": {"module_args": {"token": CANARY}}}, "one\ntwo"),
        ({}, "it gave no reason"),
        ({"msg": "no", "attempts": 1}, "no"),
        ({"msg": "no", "attempts": 3}, "no\nafter 3 tries"),
        ({"msg": "non-zero return code", "stderr": "why\n", "stdout": "so far"}, "non-zero return code\nwhy"),
        ({"msg": "non-zero return code", "stderr": "", "stdout": "so far"}, "non-zero return code\nso far"),
        ({"msg": "x", "stderr": "\n".join(map(str, range(100)))}, "\n".join(["x", *map(str, range(70, 100))])),
    ],
)
def test_the_reason_of_a_failure(found: dict[str, Any], expected: str) -> None:
    assert reason(found) == expected


@pytest.mark.parametrize(
    ("action", "found", "expected"),
    [
        ("debug", {"msg": "hello"}, "hello"),
        ("ansible.builtin.debug", {"msg": ["a", "b"]}, ["a", "b"]),
        ("ansible.builtin.debug", {"variable": CANARY}, None),
        ("ansible.builtin.command", {"msg": "x", "stdout": CANARY}, None),
        ("kubephase.cluster.phase_plan", {"pending": ["preflight", "certs"]}, "has work for preflight, certs"),
        ("kubephase.cluster.phase_plan", {"pending": []}, "has nothing to do"),
        ("someone.else.phase_plan", {"pending": [CANARY]}, None),
        ("kubephase.cluster.join_secrets", {"token": CANARY}, None),
    ],
)
def test_what_a_task_has_to_say(action: str, found: dict[str, Any], expected: object) -> None:
    assert words(action, found) == expected


@pytest.mark.parametrize(
    ("label", "expected"), [("cp1", "cp1"), (3, "3"), ({"password": CANARY}, ""), ([CANARY], ""), (None, ""), ("x" * 61, "")]
)
def test_an_item_that_has_a_name(label: Any, expected: str) -> None:
    assert item_name(label) == expected
