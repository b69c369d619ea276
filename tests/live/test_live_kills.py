# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Killed anywhere, the next run finishes what was begun, and the one after finds nothing to do."""

from __future__ import annotations

import pytest
from live import looks
from live.beginning import usual
from live.kills import RestartKills, play_and_kill, when_on_node, when_phase
from live.node import Node
from live.playbook import Playbook

pytestmark = pytest.mark.kill

PKI = "/etc/kubernetes/pki"
PHASES = (
    "preflight",
    "certs",
    "kubeconfig",
    "kubelet-start",
    "control-plane",
    "etcd",
    "wait-control-plane",
    "upload-config",
    "upload-certs",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
)


def finishes(playbook: Playbook) -> set[str]:
    """Run once more and again; the first of the two may say what was left to do."""
    mended = playbook.play().succeeded()
    again = playbook.play().succeeded()
    assert (again.pending, again.changed) == (set(), set())
    leftovers = playbook.node.run("find /etc/kubernetes /var/lib/kubelet -maxdepth 3 -name '*kubephase*'")
    assert leftovers == ""
    return set(mended.changed)


@pytest.mark.quick
def test_in_the_middle_of_the_certificates(virgin: Node) -> None:
    init = usual(virgin)
    play_and_kill(init, when_on_node(f"test -e {PKI}/apiserver.crt"))
    made = virgin.run(f"find {PKI} -name '*.crt'").split()
    assert 0 < len(made) < 10
    assert {"certs", "kubeconfig", "control-plane", "addon"} <= finishes(init)
    looks.settle(virgin)


@pytest.mark.quick
def test_between_a_kubelet_file_and_the_restart(node: Node, init: Playbook) -> None:
    changed = init.using(kubephase_kubelet_configuration={"maxPods": 101})
    before = node.run("systemctl show kubelet -p MainPID")
    with RestartKills(node):
        killed = changed.play()
    assert killed.code != 0
    assert node.run("ls /run/restart-killed")
    assert "maxPods: 101" in node.run("cat /var/lib/kubelet/config.yaml")
    assert node.run("systemctl show kubelet -p MainPID") == before
    assert finishes(changed) == {"kubelet-start", "upload-config"}
    assert node.run("systemctl show kubelet -p MainPID") != before
    init.play().succeeded()


@pytest.mark.quick
def test_between_a_manifest_and_the_wait_for_it(node: Node, init: Playbook) -> None:
    changed = init.using(kubephase_cluster_configuration={"scheduler": {"extraArgs": [{"name": "v", "value": "1"}]}})
    play_and_kill(changed, when_phase("wait-control-plane", "started"))
    assert "--v=1" in node.run("cat /etc/kubernetes/manifests/kube-scheduler.yaml")
    assert finishes(changed) == {"upload-config"}
    init.play().succeeded()


@pytest.mark.parametrize("phase", PHASES)
def test_after_each_phase(virgin: Node, phase: str) -> None:
    init = usual(virgin)
    play_and_kill(init, when_phase(phase, "ok"))
    finishes(init)
    looks.settle(virgin)


@pytest.mark.parametrize("phase", PHASES)
def test_as_each_phase_begins(virgin: Node, phase: str) -> None:
    init = usual(virgin)
    play_and_kill(init, when_phase(phase, "started"))
    finishes(init)
    looks.settle(virgin)
