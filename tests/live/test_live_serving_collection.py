# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serving certificates that the collection asks for: the kubelet takes each up as it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from live.cluster import Cluster
from live.node import Node
from live.running import changed
from live.serving import APPROVER, CURRENT, ROTATION, SHORT, asking_for_logs, cluster_of, serial, site, until_another, with_workload

pytestmark = pytest.mark.long

MODE = "collection"


@pytest.fixture(scope="module")
def alone(request: pytest.FixtureRequest, place: str) -> Iterator[Cluster]:
    """One node whose kubelet the API server verifies."""
    with cluster_of(request, f"live-{place}-c", 1, 0) as cluster:
        site(cluster, MODE).play().succeeded()
        yield cluster


def kubelet(node: Node) -> str:
    """Which process it is."""
    return node.run("systemctl show kubelet -p MainPID,NRestarts")


@contextmanager
def in_a_hurry(node: Node, seconds: int = 10) -> Iterator[None]:
    """Have both timers come round sooner than they are made to, and nothing of ours changed for it."""
    places = [f"/run/systemd/system/{name}.timer.d" for name in (APPROVER, ROTATION)]
    restart = f"systemctl daemon-reload; systemctl restart {APPROVER}.timer {ROTATION}.timer"
    often = f"[Timer]\\nOnUnitInactiveSec={seconds}\\nRandomizedDelaySec=0\\n"
    node.run("; ".join([*(f"mkdir -p {place}; printf '{often}' > {place}/often.conf" for place in places), restart]))
    try:
        yield
    finally:
        node.run(f"rm -r {' '.join(places)}; {restart}")


def test_a_new_certificate_is_taken_up_without_a_restart(alone: Cluster) -> None:
    """Also when the link was lost, and by runs of the timers alone; the pair of before is gone."""
    node = alone.first
    before, process = serial(node), kubelet(node)
    assert before
    assert changed(site(alone, MODE).play().succeeded()) == {}
    with in_a_hurry(node):
        node.run(f"rm {CURRENT}")
        until_another(node, before, 120)
    assert kubelet(node) == process
    (pair,) = node.run("ls /var/lib/kubelet/pki | grep '^kubelet-server-[0-9]'").split()
    assert node.run(f"readlink {CURRENT}").endswith(f"/{pair}\n")
    assert changed(site(alone, MODE).play().succeeded()) == {}


def test_a_certificate_that_ends_soon_is_replaced_while_logs_go_on(alone: Cluster) -> None:
    """The timer replaces it before its end, and nobody notices."""
    with_workload(alone)
    node = alone.first
    site(alone, MODE, kubephase_cluster_configuration=SHORT).play().succeeded()
    try:
        with in_a_hurry(node):
            old = serial(node)
            node.run(f"rm {CURRENT}")
            lasting = until_another(node, old)
            left = int(node.run(f'echo $(( $(date -d "$(openssl x509 -noout -enddate -in {CURRENT} | cut -d= -f2)" +%s) - $(date +%s) ))'))
            assert 0 < left <= 300
            begun, process = time.monotonic(), kubelet(node)
            with asking_for_logs(alone, "cp1"):
                until_another(node, lasting, left + 30)
                assert time.monotonic() - begun < left
                # What is now is good beyond the end of what was before.
                time.sleep(max(0.0, left + 5 - (time.monotonic() - begun)))
            assert kubelet(node) == process
            assert f"{CURRENT}: its life nears the end" in node.run(f"journalctl -u {ROTATION} --since -10min -o cat")
    finally:
        site(alone, MODE).play().succeeded()
