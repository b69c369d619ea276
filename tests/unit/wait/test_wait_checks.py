# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked before init goes on, by release and documents."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.checks import StaticPod, checks, command_of

LOCAL = "https://192.0.2.10:6443"
BALANCED = "https://api.example.test:8443"
KUBELET = ("kubelet", "http://127.0.0.1:10248/healthz", 0)
MANAGER = ("kube-controller-manager", "https://127.0.0.1:10257/healthz", 1)
SCHEDULER = ("kube-scheduler", "https://127.0.0.1:10259/livez", 1)
ALL = {"featureGates": {"WaitForAllControlPlaneComponents": True}}


def docs(version: str, kubelet: dict[str, Any] | None = None, timeouts: dict[str, Any] | None = None, **cluster: Any) -> Documents:
    given: dict[str, Any] = {
        "ClusterConfiguration": {"kubernetesVersion": version, "controlPlaneEndpoint": "api.example.test:8443", **cluster},
        "InitConfiguration": {"timeouts": timeouts} if timeouts else {},
    }
    if kubelet is not None:
        given["KubeletConfiguration"] = kubelet
    return resolve(given, NodeFacts("cp1", "192.0.2.10", "", ("unix:///run/containerd/containerd.sock",)))


@pytest.mark.parametrize(
    ("version", "cluster", "expected"),
    [
        ("v1.22.17", {}, [("kubelet", "http://localhost:10248/healthz", 0), ("kube-apiserver", f"{BALANCED}/healthz", 0)]),
        ("v1.29.15", {}, [("kubelet", "http://localhost:10248/healthz", 0), ("kube-apiserver", f"{BALANCED}/healthz", 0)]),
        ("v1.30.5", {}, [KUBELET, ("kube-apiserver", f"{BALANCED}/healthz", 1)]),
        (
            "v1.31.4",
            ALL,
            [
                KUBELET,
                ("kube-apiserver", f"{BALANCED}/healthz", 1),
                MANAGER,
                ("kube-scheduler", "https://127.0.0.1:10259/healthz", 1),
            ],
        ),
        ("v1.32.5", {}, [KUBELET, ("kube-apiserver", f"{BALANCED}/healthz", 1)]),
        ("v1.32.5", ALL, [KUBELET, ("kube-apiserver", f"{BALANCED}/livez", 1), MANAGER, SCHEDULER]),
        ("v1.33.5", {}, [KUBELET, ("kube-apiserver", f"{BALANCED}/livez", 1), MANAGER, SCHEDULER]),
        (
            "v1.33.5",
            {"featureGates": {"WaitForAllControlPlaneComponents": False}},
            [KUBELET, ("kube-apiserver", f"{BALANCED}/healthz", 1)],
        ),
        ("v1.33.6", {}, [KUBELET, ("kube-apiserver", f"{LOCAL}/livez", 1), MANAGER, SCHEDULER]),
        ("v1.37.1", {}, [KUBELET, ("kube-apiserver", f"{LOCAL}/livez", 1), MANAGER, SCHEDULER]),
    ],
)
def test_what_is_asked_by_release(version: str, cluster: dict[str, Any], expected: list[tuple[str, str, int]]) -> None:
    found = checks(docs(version, **cluster), {})
    assert [(check.name, check.url, check.stage) for check in found] == expected


def test_only_the_api_server_has_to_prove_itself() -> None:
    found = {check.name: check.kubeconfig for check in checks(docs("v1.37.1"), {})}
    assert found == {
        "kubelet": "",
        "kube-apiserver": "/etc/kubernetes/admin.conf",
        "kube-controller-manager": "",
        "kube-scheduler": "",
    }


@pytest.mark.parametrize(("version", "required"), [("v1.29.15", False), ("v1.30.5", True)])
def test_the_kubelet_used_not_to_be_waited_for(version: str, required: bool) -> None:
    assert checks(docs(version), {})[0].required is required


@pytest.mark.parametrize(
    ("version", "kubelet", "url"),
    [
        ("v1.37.1", {"healthzBindAddress": "0.0.0.0", "healthzPort": 12345}, "http://0.0.0.0:12345/healthz"),
        ("v1.37.1", {"healthzBindAddress": "::1"}, "http://[::1]:10248/healthz"),
        ("v1.28.15", {"healthzPort": 12345}, "http://localhost:10248/healthz"),
        ("v1.37.1", {"healthzPort": 0}, ""),
        ("v1.28.15", {"healthzPort": 0}, ""),
    ],
)
def test_where_the_kubelet_is_asked(version: str, kubelet: dict[str, Any], url: str) -> None:
    found = {check.name: check.url for check in checks(docs(version, kubelet), {})}
    assert found.get("kubelet", "") == url
    assert "kube-apiserver" in found


MOVED = {"controllerManager": {"extraArgs": [{"name": "bind-address", "value": "192.0.2.10"}, {"name": "secure-port", "value": "11257"}]}}


@pytest.mark.parametrize(
    ("version", "cluster", "commands", "url"),
    [
        ("v1.31.4", {**MOVED, **ALL}, {}, "https://127.0.0.1:11257/healthz"),
        ("v1.32.5", {**MOVED, **ALL}, {}, "https://192.0.2.10:11257/healthz"),
        ("v1.37.1", MOVED, {}, "https://192.0.2.10:11257/healthz"),
        ("v1.37.1", MOVED, {"kube-controller-manager": ("kube-controller-manager", "--bind-address=::1")}, "https://[::1]:10257/healthz"),
        (
            "v1.37.1",
            {},
            {"kube-controller-manager": ("kube-controller-manager", "--secure-port=1", "--secure-port=2")},
            "https://127.0.0.1:2/healthz",
        ),
        ("v1.37.1", {}, {"kube-controller-manager": ("kube-controller-manager", "--secure-port=words")}, "https://127.0.0.1:10257/healthz"),
    ],
)
def test_where_the_controller_manager_is_asked(version: str, cluster: dict[str, Any], commands: dict[str, Any], url: str) -> None:
    pods = {name: StaticPod(command, 1.5) for name, command in commands.items()}
    found = {check.name: check for check in checks(docs(version, **cluster), pods)}
    assert found["kube-controller-manager"].url == url
    assert found["kube-controller-manager"].written == (1.5 if commands else 0.0)


@pytest.mark.parametrize(
    ("version", "kubelet", "component"),
    [("v1.37.1", 90.0, 30.0), ("v1.28.15", 30.0, 30.0)],
)
def test_deadlines_are_those_of_the_documents(version: str, kubelet: float, component: float) -> None:
    timeouts = {"kubeletHealthCheck": "90s", "controlPlaneComponentHealthCheck": "30s"}
    found = {check.name: check.seconds for check in checks(docs(version, timeouts=timeouts), {})}
    assert found["kubelet"] == kubelet
    assert {seconds for name, seconds in found.items() if name != "kubelet"} == {component}


@pytest.mark.parametrize(
    ("manifest", "command"),
    [
        ({"spec": {"containers": [{"command": ["kube-scheduler", "--leader-elect=true"]}]}}, ("kube-scheduler", "--leader-elect=true")),
        ({"spec": {"containers": [{"name": "side"}, {"command": ["kube-scheduler"]}]}}, ("kube-scheduler",)),
        ({"spec": {"containers": [{"command": ["other"]}]}}, ()),
        ({"spec": None}, ()),
        ("text", ()),
        (None, ()),
    ],
)
def test_the_command_line_of_a_static_pod(manifest: Any, command: tuple[str, ...]) -> None:
    assert command_of("kube-scheduler", manifest) == command
