# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents that change on a running cluster: what may change converges, what may not is refused before any write."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from live import looks
from live.node import KUBECTL, Node
from live.playbook import Playbook

IMAGE = "registry.k8s.io/coredns/coredns"
# A certificate keeps the names that it has, so another run on the same node needs another one.
NAME = f"name-{uuid.uuid4().hex[:8]}.example.test"


def test_what_may_change_converges(node: Node, init: Playbook) -> None:
    running = node.kubectl("-n kube-system get deployment coredns -o jsonpath={..image}")
    node.run(f"ctr -n k8s.io images tag --force {running} {IMAGE}:reconfigured")
    changed = init.using(
        kubephase_cluster_configuration={
            "apiServer": {"certSANs": [NAME]},
            "controllerManager": {"extraArgs": [{"name": "v", "value": "1"}]},
            "dns": {"imageTag": "reconfigured"},
        },
        kubephase_kubelet_configuration={"maxPods": 77},
    )
    checked = changed.play("--check", "--diff").succeeded()
    real = changed.play("--diff").succeeded()
    again = changed.play().succeeded()
    assert real.changed == {"certs", "kubelet-start", "control-plane", "upload-config", "addon"}
    assert f"it lacks the name {NAME}" in checked.output
    assert checked.changed == real.changed
    assert checked.diffs == real.diffs
    assert (again.pending, again.changed) == (set(), set())
    served = "openssl s_client -connect 127.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName"
    node.until(f"{served} | grep -q {NAME}")
    assert "--v=1" in node.run("pgrep -af ^kube-controller-manager")
    # The API server may still hold a connection to the kubelet that was restarted.
    node.until(f"{KUBECTL} get --raw /api/v1/nodes/{node.name}/proxy/configz | grep -q '\"maxPods\":77,'")
    node.until(f"{KUBECTL} -n kube-system rollout status deployment/coredns --timeout=5s")
    assert node.kubectl("-n kube-system get deployment coredns -o jsonpath={..image}") == f"{IMAGE}:reconfigured"
    assert init.play().succeeded().changed == {"kubelet-start", "control-plane", "upload-config", "addon"}


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "podSubnet": ("ClusterConfiguration.networking.podSubnet", {"networking": {"podSubnet": "10.99.0.0/16"}}),
    "several": ("ClusterConfiguration.clusterName", {"clusterName": "other", "networking": {"dnsDomain": "other.test"}}),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("arguments", [(), ("--tags", "certs,kubelet-start,addon")], ids=["all", "by tag"])
def test_what_must_not_change_is_refused_before_any_write(node: Node, init: Playbook, case: str, arguments: tuple[str, ...]) -> None:
    where, fields = REFUSED[case]
    # A change that is allowed comes with it, and must not be made either.
    fields = {**fields, "apiServer": {"certSANs": ["never.example.test"]}}
    looks.settle(node)
    before = look(node)
    report = init.using(kubephase_cluster_configuration=fields).play(*arguments)
    assert report.code != 0
    assert where in report.failure
    assert "Traceback" not in report.output
    assert report.changed == set()
    assert look(node) ^ before == set()


def look(node: Node) -> set[str]:
    """Everything that a run could have touched, a line each."""
    versions = {f"{name} {version}" for name, version in looks.objects(node).items()}
    return {*looks.files(node), *versions, *looks.serials(node).splitlines()}
