# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm-flags.env by release and documents."""

from __future__ import annotations

from typing import Any

import pytest
from unit.kubelet.kubelet_cases import SOCKET, docs

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.flags import render_flags

ENDPOINT = f"--container-runtime-endpoint={SOCKET}"
PAUSE = "--pod-infra-container-image=registry.k8s.io/pause:"
LIST = [{"name": "v", "value": "3"}, {"name": "node-ip", "value": "192.0.2.10"}, {"name": "v", "value": "4"}]
DOCKERSHIM = {"nodeRegistration": {"criSocket": "/var/run/dockershim.sock"}}


@pytest.mark.parametrize(
    ("version", "kinds", "flags"),
    [
        ("v1.22.17", {}, f"--container-runtime=remote {ENDPOINT} {PAUSE}3.5"),
        ("v1.22.17", {"init": DOCKERSHIM}, f"--network-plugin=cni {PAUSE}3.5"),
        ("v1.25.9", {}, f"--container-runtime=remote {ENDPOINT} {PAUSE}3.8"),
        ("v1.26.13", {}, f"{ENDPOINT} {PAUSE}3.9"),
        ("v1.33.13", {}, f"{ENDPOINT} {PAUSE}3.10"),
        ("v1.33.13", {"cluster": {"featureGates": {"NodeLocalCRISocket": True}}}, f"{PAUSE}3.10"),
        ("v1.34.10", {}, f"{PAUSE}3.10.1"),
        ("v1.34.10", {"cluster": {"featureGates": {"NodeLocalCRISocket": False}}}, f"{ENDPOINT} {PAUSE}3.10.1"),
        ("v1.35.8", {}, ""),
        ("v1.37.1", {}, ""),
        ("v1.28.15", {"cluster": {"imageRepository": "reg.test/k8s"}}, f"{ENDPOINT} --pod-infra-container-image=reg.test/k8s/pause:3.9"),
        ("v1.37.1", {"init": {"nodeRegistration": {"name": "other"}}}, "--hostname-override=other"),
        ("v1.37.1", {"init": {"nodeRegistration": {"name": "CP1"}}}, ""),
        # From some patch on extra arguments keep the user's order; before, everything was sorted.
        ("v1.37.1", {"init": {"nodeRegistration": {"kubeletExtraArgs": LIST}}}, "--v=3 --node-ip=192.0.2.10 --v=4"),
        ("v1.31.4", {"init": {"nodeRegistration": {"kubeletExtraArgs": LIST}}}, f"{ENDPOINT} --node-ip=192.0.2.10 {PAUSE}3.10 --v=3 --v=4"),
        (
            "v1.37.1",
            {"init": {"nodeRegistration": {"name": "other", "kubeletExtraArgs": {"hostname-override": "mine", "a": "b"}}}},
            "--a=b --hostname-override=mine",
        ),
    ],
)
def test_flags(version: str, kinds: dict[str, Any], flags: str) -> None:
    assert render_flags(docs(version, **kinds), "cp1") == f'KUBELET_KUBEADM_ARGS="{flags}"\n'


@pytest.mark.parametrize(("kubelet", "shim"), [("v1.23.17", True), ("v1.24.17", False), ("", False)])
def test_a_kubelet_of_the_minor_before_still_has_dockershim(kubelet: str, shim: bool) -> None:
    init = {"nodeRegistration": {"criSocket": "unix:///var/run/dockershim.sock"}}
    assert ("--network-plugin=cni" in render_flags(docs("v1.24.17", init=init), "cp1", kubelet)) is shim


def test_quotation_marks_are_escaped_for_the_unit() -> None:
    init = {"nodeRegistration": {"kubeletExtraArgs": {"node-labels": 'a="b\\c"'}}}
    assert render_flags(docs(init=init), "cp1") == 'KUBELET_KUBEADM_ARGS="--node-labels=a=\\"b\\\\c\\""\n'


@pytest.mark.parametrize(
    ("join", "flags"),
    [
        ({"nodeRegistration": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}]}},
         "--register-with-taints=a=b:NoSchedule,c:NoExecute"),
        ({"nodeRegistration": {"taints": []}}, ""),
        ({}, ""),
        ({"controlPlane": {}, "nodeRegistration": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, ""),
        ({"nodeRegistration": {"name": "worker", "kubeletExtraArgs": {"v": "2"}}}, "--hostname-override=worker --v=2"),
    ],
)  # fmt: skip
def test_only_a_joining_worker_taints_itself(join: dict[str, Any], flags: str) -> None:
    discovery = {"discovery": {"bootstrapToken": {"apiServerEndpoint": "192.0.2.1:6443", "unsafeSkipCAVerification": True}}}
    assert render_flags(docs(join={**discovery, **join}), "cp1") == f'KUBELET_KUBEADM_ARGS="{flags}"\n'
