# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters whose kubelets serve with certificates that were signed: made, looked at, and deprived of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from live.cluster import Cluster
from live.fleet import attach_all, virgin_fleet
from live.node import KUBECTL, Node, lab, remove
from live.playbook import Playbook

CURRENT = "/var/lib/kubelet/pki/kubelet-server-current.pem"
APPROVER = "kubephase-serving-approver"
ROTATION = "kubephase-serving-rotation"
# Ten minutes of life, of which five are over at the start.
SHORT = {"controllerManager": {"extraArgs": [{"name": "cluster-signing-duration", "value": "5m"}]}}


@contextmanager
def cluster_of(request: pytest.FixtureRequest, instance: str, control_planes: int, workers: int, release: str = "") -> Iterator[Cluster]:
    """Nodes on which nothing was played yet, or those of the instance that the tests are to take and keep."""
    given = request.config.getoption("--on")
    try:
        if given:
            yield Cluster(attach_all(Path(lab("inventory", "--instance", given))))
        else:
            yield Cluster(virgin_fleet(instance, control_planes, workers, release))
    finally:
        if not given:
            remove(instance)


def site(cluster: Cluster, mode: str = "kubelet", **more: Any) -> Playbook:
    """The playbook with the feature on."""
    return cluster.playbook("site").using(kubephase_kubelet_serving_certificates=mode, **more)


def with_workload(cluster: Cluster) -> None:
    """Have a pod on every node."""
    cluster.first.run("cat > /run/workload.yaml", (cluster.first.manifests / "workload.yaml").read_bytes())
    cluster.first.until(f"{KUBECTL} apply -f /run/workload.yaml && {KUBECTL} rollout status daemonset/agnhost --timeout=9s", 240)


def serial(node: Node) -> str:
    """Which certificate the kubelet shows to somebody who verifies it; nothing as long as there is none."""
    asked = f"openssl s_client -connect {node.address}:10250 -CAfile /etc/kubernetes/pki/ca.crt -verify_ip {node.address}"
    done = node.attempt(f"{asked} -verify_return_error </dev/null 2>/dev/null | openssl x509 -noout -serial")
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def forget_certificate(node: Node) -> None:
    """Take the certificate from a kubelet that is its manager; it then asks for another."""
    node.run(f"rm {CURRENT} && systemctl restart kubelet")


def until_another(node: Node, before: str, seconds: float = 180) -> str:
    """Wait until a kubelet shows another certificate than before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = serial(node)
        if found and found != before:
            return found
        time.sleep(1)
    raise AssertionError(f"{node.name} shows no new certificate within {seconds} s")


def pod_on(node: Node) -> str:
    """Spell, for a shell, the pod of the workload on a node."""
    return f"$({KUBECTL} get pods -l app=agnhost --field-selector spec.nodeName={node.name} -o name)"


def logs(cluster: Cluster, name: str, through: str = "cp1") -> str:
    """What a pod on a node says, through an API server that verifies the kubelet."""
    server = f"--server https://{cluster[through].address}:6443"
    return cluster.first.until(f"{KUBECTL} {server} logs {pod_on(cluster[name])} --tail=1", 60)


@contextmanager
def asking_for_logs(cluster: Cluster, name: str) -> Iterator[None]:
    """Ask for the logs of a pod on a node without a pause; every time there must be an answer."""
    first = cluster.first
    logs(cluster, name)
    once = f"{KUBECTL} logs $pod --tail=1 >/dev/null && echo ok || echo failed"
    loop = f"pod={pod_on(cluster[name])}; while test ! -e /run/enough; do {once}; done"
    first.run(f"rm -f /run/enough; nohup bash -c '{loop}' > /run/asked 2>&1 &")
    try:
        yield
    finally:
        first.run("touch /run/enough; sleep 2")
    asked = first.run("cat /run/asked").splitlines()
    assert len(asked) > 40
    assert set(asked) == {"ok"}
