# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Marks on a node: added where they lack, taints of others kept, nothing touched when all is there."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_change
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import is_virgin
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.nodes import marks
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import PatchNode

MINE = {"key": "role/control-plane", "effect": "NoSchedule"}
OTHER = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
WANTED = PatchNode("cp1", labels={"role/control-plane": ""}, annotations={"socket": "unix:///a"}, taints=(MINE,))
MARKED = {"metadata": {"labels": {"role/control-plane": "", "x": "y"}, "annotations": {"socket": "unix:///a"}}, "spec": {"taints": [MINE]}}


@pytest.mark.parametrize(
    ("node", "patch"),
    [
        (MARKED, {}),
        ({**MARKED, "spec": {"taints": [OTHER, MINE]}}, {}),
        ({**MARKED, "spec": {"taints": [OTHER, {**MINE, "value": ""}]}}, {}),
        ({**MARKED, "spec": {"taints": [OTHER]}}, {"spec": {"taints": [MINE, OTHER]}}),
        ({**MARKED, "spec": {}}, {"spec": {"taints": [MINE]}}),
        ({**MARKED, "spec": {"taints": [{**MINE, "value": "no"}, OTHER]}}, {"spec": {"taints": [MINE, OTHER]}}),
        ({**MARKED, "spec": {"taints": [{**MINE, "effect": "NoExecute"}]}}, {"spec": {"taints": [MINE, {**MINE, "effect": "NoExecute"}]}}),
        (
            {"metadata": {"labels": {"role/control-plane": "x"}}, "spec": {"taints": [MINE]}},
            {"metadata": {"labels": {"role/control-plane": ""}, "annotations": {"socket": "unix:///a"}}},
        ),
    ],
)
def test_the_patch(node: dict[str, Any], patch: dict[str, Any]) -> None:
    assert marks(node, WANTED) == patch


def test_what_is_told() -> None:
    change = node_change({"metadata": {"labels": {"x": "y"}}, "spec": {"taints": [OTHER]}}, WANTED)
    assert change is not None
    assert change.reason == "it lacks the label role/control-plane, the annotation socket, the taint role/control-plane:NoSchedule"
    assert change.before == "taints:\n- node.kubernetes.io/not-ready:NoExecute\n"
    assert change.after == (
        "annotations:\n  socket: unix:///a\nlabels:\n  role/control-plane: ''\n"
        "taints:\n- role/control-plane:NoSchedule\n- node.kubernetes.io/not-ready:NoExecute\n"
    )
    assert node_change(MARKED, WANTED) is None


def test_a_node_that_has_not_registered_is_marked_later() -> None:
    change = node_change(None, WANTED)
    assert change is not None
    assert (change.target, change.before) == ("Node cp1", "")
    assert "has not registered yet" in change.reason


@pytest.mark.parametrize(
    ("present", "virgin"),
    [
        ([], True),
        (["/etc/kubernetes/manifests/kube-vip.yaml", "/etc/kubernetes/kubelet.conf"], True),
        (["/etc/kubernetes/admin.conf"], False),
        (["/etc/kubernetes/manifests/etcd.yaml"], False),
        (["/etc/kubernetes/manifests/kube-apiserver.yaml"], False),
    ],
)
def test_which_host_is_virgin(present: list[str], virgin: bool) -> None:
    assert is_virgin(present) is virgin
