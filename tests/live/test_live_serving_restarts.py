# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubelets that read a serving certificate only when they start: restarted once for each, and not for anything else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live.cluster import Cluster
from live.node import Node
from live.running import changed
from live.serving import APPROVER, CURRENT, ROTATION, cluster_of, serial, site

pytestmark = pytest.mark.long

MODE, OFF = "collection", "self-signed"
RELEASE = "1.28.15"


@pytest.fixture(scope="module")
def old(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """A control plane and a worker of a release whose kubelets do not read the file again, without the feature."""
    with cluster_of(request, f"live-{place}-o", 1, 1, RELEASE) as cluster:
        site(cluster, OFF).play().succeeded()
        yield cluster


def starts(node: Node) -> int:
    """How often the kubelet was started since the node was made."""
    return int(node.run("journalctl -u kubelet -t systemd -o cat | grep -c '^Started '"))


def test_a_kubelet_is_restarted_once_for_each_certificate(old: Cluster) -> None:
    nodes = old.fleet.nodes
    assert RELEASE in old.first.run("kubelet --version")
    before = {name: starts(node) for name, node in nodes.items()}
    assert {serial(node) for node in nodes.values()} == {""}
    site(old, MODE).play().succeeded()
    assert {name: starts(node) for name, node in nodes.items()} == {name: count + 1 for name, count in before.items()}
    shown = {name: serial(node) for name, node in nodes.items()}
    assert all(shown.values())
    assert changed(site(old, MODE).play().succeeded()) == {}
    # A turn of the timer that finds nothing to do, and one that has a certificate to replace.
    worker = old["w1"]
    worker.run(f"systemctl start {ROTATION}.service")
    assert starts(worker) == before["w1"] + 1
    worker.run(f"rm {CURRENT}; systemctl start --no-block {ROTATION}.service")
    approved = f"journalctl -u {APPROVER} --since -1min -o cat | grep 'approved .*:{worker.name} '"
    old.first.until(f"systemctl start {APPROVER}.service; {approved}")
    worker.run(f"systemctl start {ROTATION}.service")
    assert (starts(worker), starts(old.first)) == (before["w1"] + 2, before["cp1"] + 1)
    assert serial(worker) not in ("", shown["w1"])
    assert serial(old.first) == shown["cp1"]
    assert changed(site(old, MODE).play().succeeded()) == {}
