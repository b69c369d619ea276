# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serving certificates with several control planes: every API server verifies, one approver at a time is at work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from live.cluster import Cluster
from live.node import KUBECTL
from live.running import changed
from live.serving import APPROVER, cluster_of, forget_certificate, logs, serial, site, until_another, with_workload

pytestmark = pytest.mark.long

CONTROL_PLANES = ("cp1", "cp2", "cp3")
FIGURES = "/var/lib/kubephase/serving-approver.prom"
LEASE = f"-n kube-system lease/{APPROVER}"
# So long somebody who holds the Lease may be silent.
PATIENCE = 150


@pytest.fixture(scope="module")
def three(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """Three control planes and a worker, with the feature on from the start."""
    with cluster_of(request, f"live-{place}-t", 3, 1) as cluster:
        site(cluster).play().succeeded()
        yield cluster


def test_every_api_server_verifies_every_kubelet(three: Cluster) -> None:
    with_workload(three)
    for server in CONTROL_PLANES:
        three[server].run("pgrep -f -- 'kube-apiserver .*--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt'")
        for name, node in three.fleet.nodes.items():
            assert serial(node)
            assert logs(three, name, through=server)
    assert changed(site(three).play().succeeded()) == {}


def holder(three: Cluster) -> str:
    """Who has the Lease."""
    spec = json.loads(three.first.kubectl(f"get {LEASE} -o json"))["spec"]
    (name,) = [short for short, node in three.fleet.nodes.items() if node.name == spec["holderIdentity"]]
    return name


def at_work(three: Cluster, *names: str) -> set[str]:
    """Let the approver of each control plane have a turn; who did any work in it."""
    turn = f"systemctl start {APPROVER}.service; sed -n 's/^kubephase_serving_active //p' {FIGURES}"
    return {name for name in names if three[name].run(turn).strip() == "1"}


def test_another_takes_over_from_one_that_lost_its_power(three: Cluster) -> None:
    """The first control plane is the endpoint of all here, so it is one of the others that goes."""
    three.first.kubectl(f'patch {LEASE} --type merge -p \'{{"spec":{{"holderIdentity":"{three["cp2"].name}"}}}}\'')
    assert at_work(three, *CONTROL_PLANES) == {"cp2"}
    assert holder(three) == "cp2"
    worker = three["w1"]
    before = serial(worker)
    assert before
    three.power_off("cp2")
    try:
        three.first.until(f"{KUBECTL} get --raw /readyz")
        begun = time.monotonic()
        forget_certificate(worker)
        until_another(worker, before, 2 * PATIENCE + 60)
        # Not before its time was over.
        assert time.monotonic() - begun > PATIENCE / 2
        new = holder(three)
        assert new in ("cp1", "cp3")
        assert at_work(three, "cp1", "cp3") == {new}
        assert f"of system:node:{worker.name} for" in three[new].run(f"journalctl -u {APPROVER} --since -10min -o cat")
    finally:
        three.power_on()
    three.fleet.until_ready()
    three.first.until(f"{KUBECTL} --server https://{three['cp2'].address}:6443 get --raw /readyz", 180)
    # Back again, it does not claim what it had.
    assert at_work(three, *CONTROL_PLANES) == {new}
    assert changed(site(three).play().succeeded()) == {}
