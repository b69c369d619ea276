# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which images are needed, which are pulled and how."""

from __future__ import annotations

from typing import Any

import pytest
from unit.preflight.preflight_cases import documents, judged, listening, observed, outcomes

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import PullImages
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.images import required

OWN = listening(6443, "kube-apiserver", "--client-ca-file=/etc/kubernetes/pki/ca.crt")
K8S = "registry.k8s.io"

# What `kubeadm config images list` of the release prints, in the order of the newest.
LISTS: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "v1.37.1",
        {},
        [
            f"{K8S}/kube-apiserver:v1.37.1",
            f"{K8S}/kube-controller-manager:v1.37.1",
            f"{K8S}/kube-scheduler:v1.37.1",
            f"{K8S}/kube-proxy:v1.37.1",
            f"{K8S}/coredns/coredns:v1.14.6",
            f"{K8S}/pause:3.10.2",
            f"{K8S}/etcd:3.7.0-0",
        ],
    ),
    (
        "v1.28.15",
        {"imageRepository": "mirror.test/k8s", "dns": {"imageTag": "v9"}, "etcd": {"local": {"imageRepository": "mirror.test/etcd"}}},
        [
            "mirror.test/k8s/kube-apiserver:v1.28.15",
            "mirror.test/k8s/kube-controller-manager:v1.28.15",
            "mirror.test/k8s/kube-scheduler:v1.28.15",
            "mirror.test/k8s/kube-proxy:v1.28.15",
            "mirror.test/k8s/coredns:v9",
            "mirror.test/k8s/pause:3.9",
            "mirror.test/etcd/etcd:3.5.15-0",
        ],
    ),
    (
        "v1.37.1",
        {"proxy": {"disabled": True}, "dns": {"disabled": True}, "etcd": {"external": {"endpoints": ["https://e:2379"]}}},
        [
            f"{K8S}/kube-apiserver:v1.37.1",
            f"{K8S}/kube-controller-manager:v1.37.1",
            f"{K8S}/kube-scheduler:v1.37.1",
            f"{K8S}/pause:3.10.2",
        ],
    ),
]


@pytest.mark.parametrize(("version", "cluster", "names"), LISTS)
def test_images_that_a_release_needs(version: str, cluster: dict[str, Any], names: list[str]) -> None:
    assert list(required(documents(version, cluster))) == names


@pytest.mark.parametrize(
    ("phases", "gone"), [(["addon"], {"kube-proxy", "coredns"}), (["addon/coredns"], {"coredns"}), (["addon/kube-proxy"], {"kube-proxy"})]
)
def test_skipped_addons_need_no_image(phases: list[str], gone: set[str]) -> None:
    whole, rest = required(documents()), required(documents(init={"skipPhases": phases}))
    assert {name.rpartition("/")[2].partition(":")[0] for name in set(whole) - set(rest)} == gone


PROXY = f"{K8S}/kube-proxy:v1.37.1"
# nodeRegistration, options, whether the API server is ours, images pulled, outcome of the check.
PULLS: list[tuple[dict[str, Any], dict[str, Any], bool, list[str] | None, str]] = [
    ({}, {}, False, [PROXY], "passed"),
    ({}, {"pull_images": False}, False, None, "warned"),
    ({"imagePullPolicy": "Never"}, {}, False, None, "warned"),
    ({"imagePullPolicy": "Always"}, {}, False, list(required(documents())), "passed"),
    ({"imagePullPolicy": "Always"}, {}, True, [PROXY], "passed"),
    ({"imagePullSerial": False}, {}, False, [PROXY], "passed"),
]


@pytest.mark.parametrize(("node", "options", "running", "pulled", "outcome"), PULLS)
def test_what_is_pulled(node: dict[str, Any], options: dict[str, Any], running: bool, pulled: list[str] | None, outcome: str) -> None:
    docs = documents(node=node)
    there = tuple(name for name in required(docs) if name != PROXY)
    checks, plan = judged(docs, observed(docs, {"listeners": (OWN,) if running else ()}, {"images": there}), **options)
    assert plan is not None
    assert checks["ImagePull"]["outcome"] == outcome
    assert PROXY in checks["ImagePull"]["found"]
    actions = [change.action for change in plan.changes]
    socket = "unix:///var/run/containerd/containerd.sock"
    serial = node.get("imagePullSerial", True)
    assert actions == ([PullImages(socket, tuple(pulled), serial=serial)] if pulled else [])
    facts = {image["name"]: image for image in plan.facts["images"]}
    assert [name for name, image in facts.items() if image["pulled"]] == (pulled or [])
    assert [name for name, image in facts.items() if not image["present"]] == [PROXY]


def test_a_pull_that_always_happens_is_no_change_on_a_running_cluster() -> None:
    docs = documents(node={"imagePullPolicy": "Always"})
    _checks, plan = judged(docs, observed(docs, {"listeners": (OWN,)}))
    assert plan is not None
    assert plan.changes == ()


def test_an_ignored_pull_may_fail() -> None:
    docs = documents()
    _checks, plan = judged(docs, observed(docs, runtime={"images": ()}), ignore_errors=["ImagePull"])
    assert plan is not None
    assert isinstance(plan.changes[0].action, PullImages)
    assert not plan.changes[0].action.required


def test_nothing_is_pulled_while_something_else_fails() -> None:
    docs = documents()
    checks, plan = judged(docs, observed(docs, {"cpus": 1}, {"images": ()}))
    assert plan is None
    assert "ImagePull" not in checks


def test_images_that_cannot_be_listed() -> None:
    docs = documents()
    assert outcomes(docs, observed(docs, runtime={"client": ""})) == {"ImagePull": "failed"}
    seen = observed(docs, runtime={"problem": "nobody listens"})
    assert outcomes(docs, seen, ignore_errors=["CRI", "ContainerRuntimeVersion"])["ImagePull"] == "failed"


@pytest.mark.parametrize(("repository", "listed"), [("mine", "docker.io/mine"), ("localhost/mine", "localhost/mine"), ("r:5000", "r:5000")])
def test_names_without_a_registry_are_docker_hubs(repository: str, listed: str) -> None:
    docs = documents(cluster={"imageRepository": repository})
    there = tuple(name.replace(repository, listed, 1) for name in required(docs))
    _checks, plan = judged(docs, observed(docs, runtime={"images": there}))
    assert plan is not None
    assert plan.changes == ()


def test_another_sandbox_image_is_warned_of() -> None:
    docs = documents()
    checks, plan = judged(docs, observed(docs, runtime={"sandbox_image": "registry.k8s.io/pause:3.6"}))
    assert plan is not None
    assert "pause:3.6, not registry.k8s.io/pause:3.10.2" in checks["ImagePull"]["found"]
    assert len(plan.warnings) == 1
