# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints of the inventory: what is added, what goes, what of others stays, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.tokens.cluster import Cluster
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.phase import NodeSettingsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.state import NodeSettingsState
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.wanted import read
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.node_settings import (
    MANAGER,
    OWN_TAINTS,
    SettleNode,
    labels_after,
    settled,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

GPU = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
THEIRS = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
KEY = ObjectKey("v1", "Node", "", "worker1")


def owner(manager: str, *labels: str, operation: str = "Apply") -> dict[str, Any]:
    fields = {"f:metadata": {"f:labels": {".": {}, **{f"f:{label}": {} for label in labels}}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


def node(labels: dict[str, str] | None = None, taints: Any = (), note: str = "", owners: Any = ()) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "worker1", "labels": {"kubernetes.io/os": "linux", **(labels or {})}, "managedFields": list(owners)}
    if note:
        metadata["annotations"] = {OWN_TAINTS: note}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": list(taints)} if taints else {}}


OURS = owner(MANAGER, "zone")


@pytest.mark.parametrize(
    ("found", "labels", "applied", "after"),
    [
        (node(), {}, None, {}),
        (node(), {"zone": "a"}, {"zone": "a"}, {"zone": "a"}),
        (node({"zone": "a"}, owners=[OURS]), {"zone": "a"}, None, {"zone": "a"}),
        # Set back, taken over, taken away, let go of.
        (node({"zone": "b"}, owners=[OURS]), {"zone": "a"}, {"zone": "a"}, {"zone": "a"}),
        (node({"zone": "a"}, owners=[owner("kubectl", "zone", operation="Update")]), {"zone": "a"}, {"zone": "a"}, {"zone": "a"}),
        (node({"zone": "a"}, owners=[OURS]), {}, {}, {}),
        (node({"zone": "a"}, owners=[OURS]), {"tier": "x"}, {"tier": "x"}, {"tier": "x"}),
        (node({"zone": "a"}, owners=[OURS, owner("kubelet", "zone", operation="Update")]), {}, {}, {"zone": "a"}),
        # What only others own is none of our business.
        (node({"zone": "a"}, owners=[owner("kubephase", "zone", operation="Update")]), {}, None, {"zone": "a"}),
    ],
)
def test_labels(found: dict[str, Any], labels: dict[str, str], applied: Any, after: dict[str, str]) -> None:
    wanted = SettleNode("worker1", labels)
    assert settled(found, wanted).labels == applied
    assert labels_after(found, wanted) == {"kubernetes.io/os": "linux", **after}


@pytest.mark.parametrize(
    ("found", "taints", "after", "note"),
    [
        (node(), (), None, ""),
        (node(), (GPU,), (GPU,), "dedicated=gpu:NoSchedule"),
        (node(taints=[THEIRS]), (GPU,), (THEIRS, GPU), "dedicated=gpu:NoSchedule"),
        (node(taints=[THEIRS, GPU], note="dedicated=gpu:NoSchedule"), (GPU,), None, "dedicated=gpu:NoSchedule"),
        (node(taints=[THEIRS, GPU], note="dedicated=gpu:NoSchedule"), (), (THEIRS,), ""),
        (node(taints=[GPU], note="dedicated=gpu:NoSchedule"), (), (), ""),
        # Another value of the same taint is put right.
        (node(taints=[{**GPU, "value": "x"}], note="dedicated=gpu:NoSchedule"), (GPU,), (GPU,), "dedicated=gpu:NoSchedule"),
        # The same taint with another effect is another taint.
        (node(taints=[{**GPU, "effect": "NoExecute"}]), (GPU,), ({**GPU, "effect": "NoExecute"}, GPU), "dedicated=gpu:NoSchedule"),
        # Somebody else's that is alike stays theirs, and so stays when it is not wanted any more.
        (node(taints=[GPU]), (GPU,), None, ""),
        (node(taints=[GPU]), (), None, ""),
        # A run that was killed: noted and not there.
        (node(note="dedicated=gpu:NoSchedule"), (), (), ""),
        (node(taints=[THEIRS], note="rubbish,:,=:"), (), (THEIRS,), ""),
    ],
)
def test_taints(found: dict[str, Any], taints: Any, after: Any, note: str) -> None:
    result = settled(found, SettleNode("worker1", taints=taints))
    assert (result.taints, result.own_taints) == (after, note)


@pytest.mark.parametrize(("value", "spelled"), [("north", "north"), (True, "true"), (False, "false"), (3, "3"), (None, ""), ("", "")])
def test_values_are_spelled_as_yaml_shows_them(value: Any, spelled: str) -> None:
    assert read({"a": value}, [{"key": "k", "value": value, "effect": "NoExecute"}]) == (
        {"a": spelled},
        ({"key": "k", **({"value": spelled} if spelled else {}), "effect": "NoExecute"},),
    )


@pytest.mark.parametrize(
    ("labels", "taints", "said"),
    [
        ({"a b": "x"}, [], "node_labels.a b: 'a b' is not the name of a label"),
        ({"/a": "x"}, [], "is not the name of a label"),
        ({"Upper.Case/a": "x"}, [], "is not the name of a label"),
        ({f"{'d.' * 130}x/a": "x"}, [], "is not the name of a label"),
        ({"a": "x" * 64}, [], "is not the value of a label"),
        ({"a": ["x"]}, [], "is not the value of a label"),
        ({"a": 1.5}, [], "1.5 is not the value of a label"),
        ({}, [{"key": "a"}], r"node_taints\[0\]: it is not a taint"),
        ({}, [{"key": "a", "effect": "NoSchedule", "operator": "Exists"}], "it is not a taint"),
        ({}, [{"key": "a", "effect": "noschedule"}], "'noschedule' is no effect. Choose one of NoSchedule, PreferNoSchedule, NoExecute"),
        ({}, [{"key": "a", "effect": "NoSchedule", "value": "x y"}], "is not the value of a taint"),
        ({}, [GPU, {**GPU, "value": "other"}], "dedicated:NoSchedule is listed twice"),
    ],
)
def test_what_is_refused(labels: Any, taints: Any, said: str) -> None:
    with pytest.raises(ManyUnusable, match=said):
        read(labels, taints)


def test_every_finding_is_told_at_once() -> None:
    with pytest.raises(ManyUnusable) as refused:
        read({"a b": "x", "c": "x" * 64}, [{"key": "a", "effect": "x"}])
    assert len(refused.value.findings) == 3


class KubeletsView:
    """The API as a kubelet sees it, or does not yet."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def admitted(self) -> bool:
        return self._found is not None

    def get(self, key: ObjectKey) -> Any:
        return self._found


def plan(root: Path, found: Any, kubelets: Any = None, phase: Any = None, **options: Any) -> Any:
    cluster = Cluster({KEY: found} if found else {})
    world = World(files=Files(str(root)), api=cluster, node_api=KubeletsView(kubelets), host=Host("worker1"))
    return execute(phase or NodeSettingsPhase(), world, {}, {"node": None, **options}, check=True)


@pytest.fixture
def control_plane(tmp_path: Path) -> Path:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/admin.conf").write_text("")
    return tmp_path


def test_what_is_told(control_plane: Path) -> None:
    found = node({"zone": "a"}, [THEIRS, GPU], "dedicated=gpu:NoSchedule", [OURS])
    outcome = plan(control_plane, found, node_labels={"tier": "front"}, node_taints=[{"key": "new", "effect": "NoExecute"}])
    (change,) = outcome.plan.changes
    assert change.reason == (
        "it lacks the label tier, the taint new:NoExecute; "
        "the inventory does not ask for the label zone, the taint dedicated=gpu:NoSchedule any more"
    )
    assert change.before == "labels:\n  zone: a\ntaints:\n- node.kubernetes.io/unreachable:NoExecute\n- dedicated=gpu:NoSchedule\n"
    assert change.after == "labels:\n  tier: front\ntaints:\n- node.kubernetes.io/unreachable:NoExecute\n- new:NoExecute\n"
    assert outcome.facts["objects"] == [{"object": "Node worker1", "done": "changed", "reason": change.reason}]


def test_nothing_is_told_where_all_is_as_it_should_be(control_plane: Path) -> None:
    found = node({"zone": "a"}, owners=[OURS])
    assert plan(control_plane, found, node_labels={"zone": "a"}).plan.changes == ()
    assert plan(control_plane, None).plan.changes == ()


def test_a_node_that_has_not_registered_gets_them_later(control_plane: Path) -> None:
    (change,) = plan(control_plane, None, node_labels={"zone": "a"}).plan.changes
    assert (change.before, change.after) == ("", "labels:\n  zone: a\n")
    assert "has not registered yet" in change.reason


def test_a_worker_plans_with_what_its_kubelet_may_see(tmp_path: Path) -> None:
    (change,) = plan(tmp_path, None, node({"zone": "a"}, owners=[OURS]), node_labels={}).plan.changes
    assert change.reason == "the inventory does not ask for the label zone any more"


class Silent(KubeletsView):
    """An API server that does not answer."""

    def get(self, key: ObjectKey) -> Any:
        raise Unusable("API", "no answer", "wait")


@pytest.mark.parametrize(
    ("kubelets", "options", "pending"),
    [
        (node(), {}, False),
        (node(), {"node_labels": {}}, False),
        (node(), {"node_labels": {"zone": "a"}}, True),
        (node(), {"node_taints": [GPU]}, True),
        (node({"zone": "a"}, owners=[OURS]), {"node_labels": {"zone": "a"}}, False),
        (node({"zone": "a"}, owners=[OURS]), {"node_labels": {}}, True),
        # Nothing in the inventory: not even a look.
        (node({"zone": "a"}, owners=[OURS]), {}, False),
        (None, {"node_labels": {"zone": "a"}}, True),
    ],
)
def test_whether_there_is_something_to_do(tmp_path: Path, kubelets: Any, options: dict[str, Any], pending: bool) -> None:
    outcome = plan(tmp_path, None, kubelets, NodeSettingsState(), **options)
    assert outcome.facts["node_settings"] == {"node": "worker1", "pending": pending}
    assert outcome.plan.changes == ()


def test_an_api_server_that_does_not_answer_leaves_it_to_who_sets_them(tmp_path: Path) -> None:
    world = World(files=Files(str(tmp_path)), api=Cluster({}), node_api=Silent(node()), host=Host("worker1"))
    outcome = execute(NodeSettingsState(), world, {}, {"node_labels": {"zone": "a"}}, check=True)
    assert outcome.facts["node_settings"]["pending"]
