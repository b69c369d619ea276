# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""upload-config, mark-control-plane and the administrators' binding: documents × what the API says → changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ApplyObject, Manifest, ObjectKey, ObjectState, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.super_admin import ApplyAsSuperAdmin
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.cluster_admins import BINDING, ClusterAdminsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.mark import MarkControlPlanePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.upload import UploadConfigPhase

CONFIGS = ["ConfigMap kube-system/kubeadm-config", "ConfigMap kube-system/kubelet-config"]
SOCKET = "unix:///var/run/containerd/containerd.sock"
ROLE = "node-role.kubernetes.io/control-plane"


class Told:
    """An API that knows some objects, takes every manifest as it is, and remembers whom it was asked as."""

    def __init__(self, *objects: Manifest, forbidden: bool = False) -> None:
        self.objects = {key_of(each): each for each in objects}
        self.server: str | None = None
        self._forbidden = forbidden

    def talk_to(self, server: str) -> None:
        self.server = server

    def forbidden(self, key: ObjectKey) -> bool:
        return self._forbidden

    def get(self, key: ObjectKey) -> Manifest | None:
        return self.objects.get(key)

    def observe(self, manifests: Iterable[Manifest]) -> dict[ObjectKey, ObjectState]:
        return {key_of(each): ObjectState(self.get(key_of(each)), each if key_of(each) in self.objects else None) for each in manifests}


class Services:
    def __init__(self, *active: str) -> None:
        self._active = active

    def state(self, name: str) -> ServiceState:
        return ServiceState(name, known=True, active=name in self._active, enabled=True)


def look(phase: Any, root: Path, api: Told, version: str = "v1.37.1", used: bool = True, **more: Any) -> Outcome:
    """Run a phase in check mode on a host that has, or has not, been initialised."""
    if used:
        (root / "etc/kubernetes").mkdir(parents=True, exist_ok=True)
        (root / "etc/kubernetes/admin.conf").touch()
    world = World(
        files=Files(str(root)),
        api=api,
        super_api=more.get("super_api"),
        systemd=Services(*more.get("services", ())),
        host=Host(),
    )
    cluster = {"kubernetesVersion": version, **more.get("cluster", {})}
    given = {"ClusterConfiguration": cluster, "InitConfiguration": more.get("init", {})}
    return execute(phase, world, given, more.get("options", {}), check=True)


def targets(outcome: Outcome) -> list[str]:
    return [change.target for change in outcome.plan.changes]


def node(**fields: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp1", **fields.pop("metadata", {})}, **fields}


def test_everything_is_made_on_a_virgin_host_and_nobody_is_asked(tmp_path: Path) -> None:
    api = Told()
    outcome = look(UploadConfigPhase(), tmp_path, api, used=False)
    assert [target for target in targets(outcome) if target.startswith("ConfigMap")] == CONFIGS
    assert {change.reason for change in outcome.plan.changes} == {"it does not exist"}
    assert api.server is None
    marked = look(MarkControlPlanePhase(), tmp_path, api, used=False)
    assert targets(marked) == ["Node cp1"]
    assert api.server is None


@pytest.mark.parametrize(
    ("version", "gates", "annotated"),
    [
        ("v1.22.17", {}, True),
        ("v1.31.4", {}, True),
        ("v1.33.13", {}, True),
        ("v1.33.13", {"NodeLocalCRISocket": True}, False),
        ("v1.34.10", {}, False),
        ("v1.34.10", {"NodeLocalCRISocket": False}, True),
        ("v1.36.4", {"NodeLocalCRISocket": False}, False),
        ("v1.37.1", {}, False),
    ],
)
def test_the_socket_is_noted_where_the_release_does_so(tmp_path: Path, version: str, gates: dict[str, bool], annotated: bool) -> None:
    outcome = look(UploadConfigPhase(), tmp_path, Told(node()), version, cluster={"featureGates": gates})
    assert ("Node cp1" in targets(outcome)) is annotated
    if annotated:
        assert SOCKET in outcome.plan.changes[-1].after


def test_a_socket_that_is_noted_already(tmp_path: Path) -> None:
    marked = node(metadata={"annotations": {"kubeadm.alpha.kubernetes.io/cri-socket": SOCKET}})
    assert "Node cp1" not in targets(look(UploadConfigPhase(), tmp_path, Told(marked), "v1.31.4"))


@pytest.mark.parametrize(("names", "count"), [(None, 6), (["kubeadm"], 3), (["kubelet"], 3), (["kubeadm", "kubelet"], 6)])
def test_one_part_alone(tmp_path: Path, names: list[str] | None, count: int) -> None:
    outcome = look(UploadConfigPhase(), tmp_path, Told(), options={"names": names})
    assert len(targets(outcome)) == count
    assert [fact["done"] for fact in outcome.plan.facts["objects"]] == ["created"] * count


@pytest.mark.parametrize(("version", "resolved"), [("v1.28.15", True), ("v1.37.1", False)])
def test_a_nodes_resolver_slips_into_the_shared_configuration_of_old_releases(tmp_path: Path, version: str, resolved: bool) -> None:
    outcome = look(UploadConfigPhase(), tmp_path, Told(node()), version, services=["systemd-resolved"])
    text = next(change.after for change in outcome.plan.changes if change.target == CONFIGS[1])
    assert ("resolvConf: /run/systemd/resolve/resolv.conf" in text) is resolved


@pytest.mark.parametrize(
    ("version", "server"),
    [("v1.37.1", "https://192.0.2.10:6443"), ("v1.36.1", "https://192.0.2.10:6443"), ("v1.36.0", ""), ("v1.28.15", "")],
)
def test_which_server_is_asked(tmp_path: Path, version: str, server: str) -> None:
    for phase in (UploadConfigPhase(), MarkControlPlanePhase()):
        api = Told(node())
        look(phase, tmp_path, api, version)
        assert api.server == server


@pytest.mark.parametrize(
    ("version", "init", "labels", "taints"),
    [
        ("v1.22.17", {}, ["node-role.kubernetes.io/master", ROLE], [("node-role.kubernetes.io/master", "NoSchedule")]),
        ("v1.24.17", {}, [ROLE], [("node-role.kubernetes.io/master", "NoSchedule"), (ROLE, "NoSchedule")]),
        ("v1.37.1", {}, [ROLE], [(ROLE, "NoSchedule")]),
        ("v1.37.1", {"nodeRegistration": {"taints": []}}, [ROLE], []),
        ("v1.37.1", {"nodeRegistration": {"taints": [{"key": "a/b", "effect": "NoExecute"}]}}, [ROLE], [("a/b", "NoExecute")]),
    ],
)
def test_the_marks_of_a_control_plane(
    tmp_path: Path, version: str, init: dict[str, Any], labels: list[str], taints: list[tuple[str, str]]
) -> None:
    outcome = look(MarkControlPlanePhase(), tmp_path, Told(node()), version, init=init)
    action: Any = outcome.plan.changes[0].action
    assert sorted(action.labels) == sorted([*labels, "node.kubernetes.io/exclude-from-external-load-balancers"])
    assert set(action.labels.values()) == {""}
    assert [(taint["key"], taint["effect"]) for taint in action.taints] == taints


def test_a_marked_node_is_left_alone(tmp_path: Path) -> None:
    labels = {ROLE: "", "node.kubernetes.io/exclude-from-external-load-balancers": "", "other": "x"}
    marked = node(
        metadata={"labels": labels}, spec={"taints": [{"key": "x", "effect": "NoExecute"}, {"key": ROLE, "effect": "NoSchedule"}]}
    )
    outcome = look(MarkControlPlanePhase(), tmp_path, Told(marked))
    assert targets(outcome) == []
    assert outcome.plan.facts["objects"] == [{"object": "Node cp1", "done": "kept", "reason": ""}]


def test_the_binding_is_made_by_whoever_may(tmp_path: Path) -> None:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/super-admin.conf").touch()
    phase = ClusterAdminsPhase()
    (by_super,) = look(phase, tmp_path, Told(forbidden=True), super_api=Told()).plan.changes
    assert isinstance(by_super.action, ApplyAsSuperAdmin)
    (by_admin,) = look(phase, tmp_path, Told(), super_api=None).plan.changes
    assert isinstance(by_admin.action, ApplyObject)
    assert look(phase, tmp_path, Told(BINDING)).plan.changes == ()


def test_without_the_super_admin_there_is_no_way(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"ClusterRoleBinding kubeadm:cluster-admins: it is missing, and there is no .*super-admin\.conf"):
        look(ClusterAdminsPhase(), tmp_path, Told(forbidden=True), super_api=Told())


def test_older_releases_have_no_such_binding(tmp_path: Path) -> None:
    assert look(ClusterAdminsPhase(), tmp_path, Told(forbidden=True), "v1.28.15").plan.changes == ()


def test_on_a_virgin_host_it_will_have_to_be_made(tmp_path: Path) -> None:
    api = Told(forbidden=True)
    assert targets(look(ClusterAdminsPhase(), tmp_path, api, used=False)) == ["ClusterRoleBinding kubeadm:cluster-admins"]
    assert api.server is None
