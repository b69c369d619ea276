# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof of a cluster: what counts as shown, what a failure names, and that nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from unit.verify.small_cluster import Fate, SmallCluster, ready_node
from unit.world import Host, StandingClock

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.workload import WorkloadApi
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload import (
    STEPS,
    PodVerdict,
    ProveCluster,
    answering,
    asking,
    node_problem,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload_manifests import answer, neighbour, question
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._verify.phase import ClusterVerifyPhase

NOT_READY = {"type": "Ready", "status": "False", "message": "the network is not ready"}
NOW = datetime(2026, 11, 16, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (ready_node("a"), ""),
        (None, "the cluster has no such Node"),
        (ready_node("a", NOT_READY), "it is not Ready: the network is not ready"),
        (ready_node("a", {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}), "it is not Ready: NodeStatusUnknown"),
        ({"metadata": {"name": "a"}}, "it has not told whether it is Ready"),
    ],
)
def test_when_a_node_is_ready(node: Any, problem: str) -> None:
    assert node_problem(node) == problem


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}], "podIP": "10.0.0.1"}, PodVerdict(done=True)),
        ({"phase": "Pending"}, PodVerdict(found="its phase is Pending")),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no node fits"}]},
            PodVerdict(found="it is not scheduled: no node fits"),
        ),
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]},
            PodVerdict(found="ErrImagePull: not found"),
        ),
        (
            {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]},
            PodVerdict(found="its phase is Pending"),
        ),
    ],
)
def test_when_a_pod_answers(status: Any, verdict: PodVerdict) -> None:
    assert answering({"status": status}) == verdict


def ended(**steps: Any) -> list[dict[str, Any]]:
    return [{"name": step, "state": {"terminated": state} if state else {"running": {}}} for step, state in steps.items()]


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        (ended(reach={"exitCode": 0}, dns={"exitCode": 0}), PodVerdict(done=True, steps={"reach": "", "dns": ""})),
        (
            ended(reach={"exitCode": 0}, dns={"exitCode": 1, "message": "DNS: no such\nhost\n"}),
            PodVerdict(failed=True, steps={"reach": "", "dns": "DNS: no such host"}),
        ),
        (ended(reach={"exitCode": 0}, dns={"exitCode": 137}), PodVerdict(failed=True, steps={"reach": "", "dns": "it ended with 137"})),
        (ended(reach={"exitCode": 0}, dns=None), PodVerdict(found="its phase is not known", steps={"reach": ""})),
        ([], PodVerdict(found="its phase is not known")),
    ],
)
def test_how_the_asking_went(statuses: Any, verdict: PodVerdict) -> None:
    pod = {"spec": {"containers": [{"name": "reach"}, {"name": "dns"}]}, "status": {"containerStatuses": statuses}}
    assert asking(pod) == verdict


def test_a_pod_that_is_not_there_has_shown_nothing() -> None:
    assert not asking({}).done
    assert not answering({}).done


def test_every_node_is_asked_once_and_from_another() -> None:
    nodes = ("a", "b", "c")
    assert sorted(neighbour(index, nodes) for index in range(3)) == [0, 1, 2]
    assert all(neighbour(index, nodes) != index for index in range(3))
    assert neighbour(0, ("a",)) == 0


def test_pods_are_such_as_the_strictest_rules_let_in() -> None:
    for pod in (answer("n", 0, "a", "image"), question("n", "ask", "a", "image", ("fd00::1", "10.0.0.1"), "name")):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert all(each["securityContext"]["capabilities"] == {"drop": ["ALL"]} for each in spec["containers"])
        assert not any(each["securityContext"]["allowPrivilegeEscalation"] for each in spec["containers"])
    asked = {each["name"]: each["args"][1] for each in spec["containers"]}
    assert asked == {"reach": "[fd00::1]:8080", "service": "10.0.0.1:80", "dns": "name:80"}


Start = Callable[..., SmallCluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Make a cluster of which everything is gone afterwards."""
    made: list[SmallCluster] = []

    def begin(nodes: list[Any], fate: Fate = lambda node, step, count: "") -> SmallCluster:
        made.append(SmallCluster(tmp_path, nodes, fate))
        return made[-1]

    yield begin
    for each in made:
        each.close()


def prove(root: Path, *nodes: str, seconds: float = 30.0) -> Any:
    action = ProveCluster(nodes, "image", "cluster.local", "kubephase-verify", seconds, removal_seconds=2, poll_seconds=0.01)
    return WorkloadApi(Files(str(root)), deadline=2).apply(action)


def test_a_cluster_that_works(start: Start, tmp_path: Path) -> None:
    cluster = start([ready_node("a"), ready_node("b")])
    found = prove(tmp_path, "a", "b")
    assert found["verified"] == [
        {"node": "a", "asked": "b", "steps": list(STEPS)},
        {"node": "b", "asked": "a", "steps": list(STEPS)},
    ]
    assert cluster.left == []
    assert cluster.made[0].startswith("Namespace kubephase-verify-")
    assert sorted(cluster.made[1:]) == [
        *(f"Pod {name}" for name in ("answer-0", "answer-1", "ask-0-0", "ask-1-0")),
        *(f"Service answer-{index}" for index in (0, 1)),
    ]


def test_a_first_try_may_fail(start: Start, tmp_path: Path) -> None:
    cluster = start([ready_node("a"), ready_node("b")], lambda node, step, count: "TIMEOUT" if count < 2 and step == "dns" else "")
    assert len(prove(tmp_path, "a", "b")["verified"]) == 2
    assert "Pod ask-0-2" in cluster.made
    assert cluster.left == []


@pytest.mark.parametrize(
    ("failing", "node", "said"),
    [
        ("reach", "b", "a pod on another node is reached from it: asking for a: no route"),
        ("service", "b", "the address of a Service answers on it: asking for a: no route"),
        ("dns", "a", "the name of a Service is found on it: asking for b: no route"),
        ("answers", "a", "a pod runs on it: ImagePullBackOff: no route"),
    ],
)
def test_a_failure_names_the_node_and_the_step_and_leaves_nothing(start: Start, tmp_path: Path, failing: str, node: str, said: str) -> None:
    cluster = start([ready_node("a"), ready_node("b")], lambda where, step, count: "no route" if (where, step) == (node, failing) else "")
    with pytest.raises(ManyUnusable) as failed:
        prove(tmp_path, "a", "b", seconds=2)
    (finding,) = failed.value.findings
    assert finding.where == f"node {node}, step {failing}"
    assert said in finding.found
    assert cluster.left == []


def test_nodes_that_are_not_ready_or_not_there_are_named_before_anything_is_made(start: Start, tmp_path: Path) -> None:
    cluster = start([ready_node("a"), ready_node("b", NOT_READY)])
    with pytest.raises(ManyUnusable) as failed:
        prove(tmp_path, "a", "b", "c", seconds=0.5)
    assert [each.where for each in failed.value.findings] == ["node b, step ready", "node c, step ready"]
    assert cluster.made == []


def test_an_interrupt_leaves_nothing_either(start: Start, tmp_path: Path) -> None:
    cluster = start([ready_node("a")], lambda node, step, count: "no route" if step == "dns" else "")

    class Interrupted(WorkloadApi):
        def _ask(self, *words: Any) -> None:
            raise KeyboardInterrupt

    action = ProveCluster(("a",), "image", "cluster.local", "kubephase-verify", 5, removal_seconds=2, poll_seconds=0.01)
    with pytest.raises(KeyboardInterrupt):
        Interrupted(Files(str(tmp_path)), deadline=2).apply(action)
    assert cluster.left == []
    assert any(each.startswith("Namespace") for each in cluster.made)


class Listed:
    """An API that lists what it is told."""

    def __init__(self, nodes: list[Any], namespaces: list[Any]) -> None:
        self._listed = {"Node": nodes, "Namespace": namespaces}

    def list(self, api_version: str, kind: str, label_selector: str = "") -> Any:
        return tuple({"apiVersion": api_version, "kind": kind, **each} for each in self._listed[kind])


def planned(root: Path, nodes: list[Any], namespaces: list[Any], **options: Any) -> Any:
    world = World(files=Files(str(root)), api=Listed(nodes, namespaces), clock=StandingClock(NOW), host=Host())
    given = {"nodes": [], "image": "image", "timeout": timedelta(minutes=5), **options}
    return execute(ClusterVerifyPhase(), world, {"ClusterConfiguration": {"networking": {"dnsDomain": "example.test"}}}, given, check=True)


@pytest.fixture
def control_plane(tmp_path: Path) -> Path:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/admin.conf").write_text("")
    return tmp_path


def old(hours: float, **metadata: Any) -> dict[str, Any]:
    made = (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"name": f"kubephase-verify-{hours}", "creationTimestamp": made, **metadata}}


def test_the_plan_is_no_change_and_names_all_nodes(control_plane: Path) -> None:
    outcome = planned(control_plane, [ready_node("b"), ready_node("a", NOT_READY)], [old(0.5), old(3, deletionTimestamp="x")])
    assert not outcome.changed
    (proof,) = outcome.plan.changes
    assert (proof.action.nodes, proof.action.dns_domain) == (("a", "b"), "example.test")
    assert outcome.facts["nodes"][0] == {"node": "a", "ready": False, "found": "it is not Ready: the network is not ready"}
    assert outcome.facts["verified"] == []


def test_what_a_killed_run_left_goes(control_plane: Path) -> None:
    outcome = planned(control_plane, [ready_node("a")], [old(0.9), old(1.1)])
    assert [change.action.key.name for change in outcome.plan.changes if isinstance(change.action, DeleteObject)] == [
        "kubephase-verify-1.1"
    ]
    assert outcome.changed


def test_a_host_without_a_cluster_and_a_cluster_without_nodes_are_refused(control_plane: Path, tmp_path_factory: Any) -> None:
    with pytest.raises(Unusable, match="Run this on a control plane"):
        planned(tmp_path_factory.mktemp("virgin"), [], [])
    with pytest.raises(Unusable, match="the cluster has none"):
        planned(control_plane, [], [])
