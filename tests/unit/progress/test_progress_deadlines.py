# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a task gives up: its own words first, then the documents, then what kubeadm does."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_deadlines import Asked, limit, seconds, timeouts_of

WAIT = "kubephase.cluster.wait_control_plane"


@pytest.mark.parametrize(
    ("asked", "timeouts", "expected"),
    [
        (Asked("ansible.builtin.command"), {}, None),
        (Asked("ansible.builtin.wait_for", timeout=30), {}, 30.0),
        (Asked("ansible.builtin.wait_for", timeout="{{ patience }}"), {}, None),
        (Asked("kubephase.cluster.serving_csr", timeout="2m"), {}, 120.0),
        (Asked("ansible.builtin.command", asynchronous=900), {}, 900.0),
        (Asked("ansible.builtin.command", asynchronous="{{ 0 if x else 900 }}"), {}, None),
        (Asked("ansible.builtin.uri", retries=10, delay=5), {}, 50.0),
        (Asked("ansible.builtin.uri", retries="{{ many }}", delay=5), {}, None),
        (Asked(WAIT), {}, 240.0),
        (Asked(WAIT), {"controlPlaneComponentHealthCheck": "10m"}, 600.0),
        (Asked(WAIT), {"controlPlaneComponentHealthCheck": "nonsense"}, 240.0),
        (Asked(WAIT, timeout=7), {"controlPlaneComponentHealthCheck": "10m"}, 7.0),
        (Asked("kubephase.cluster.cluster_discovery"), {"discovery": "1m0s"}, 60.0),
        (Asked("kubephase.cluster.kubelet_wait_bootstrap"), {}, 300.0),
        (Asked("kubephase.cluster.pki_cert"), {"discovery": "1m0s"}, None),
        (Asked("someone.else.wait_control_plane"), {}, None),
    ],
)
def test_the_limit(asked: Asked, timeouts: dict[str, Any], expected: float | None) -> None:
    assert limit(asked, timeouts) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5.0),
        ("5", 5.0),
        (0.5, 0.5),
        ("1h30m", 5400.0),
        (0, None),
        (-3, None),
        ("inf", None),
        ("nan", None),
        (True, None),
        (None, None),
        ([1], None),
    ],
)
def test_seconds(value: Any, expected: float | None) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        (None, {}),
        ("text", {}),
        ({"InitConfiguration": None}, {}),
        ({"InitConfiguration": {"timeouts": "soon"}}, {}),
        (
            {
                "InitConfiguration": {"timeouts": {"discovery": "1m"}},
                "JoinConfiguration": {},
                "ClusterConfiguration": {"timeouts": {"a": 1}},
            },
            {"InitConfiguration": {"discovery": "1m"}},
        ),
    ],
)
def test_only_timeouts_are_taken_from_documents(documents: Any, expected: dict[str, Any]) -> None:
    assert timeouts_of(documents) == expected
