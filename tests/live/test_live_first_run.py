# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode writes nothing, the run makes a cluster, and the run after changes nothing at all."""

from __future__ import annotations

from live.beginning import Beginning
from live.playbook import COMPANIONS

ALL = {
    "certs",
    "kubeconfig",
    "kubelet-start",
    "control-plane",
    "etcd",
    "upload-config",
    "upload-certs",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
}


def test_check_mode_on_a_virgin_node_goes_through_all_phases(beginning: Beginning) -> None:
    assert beginning.checked.ran >= ALL | COMPANIONS
    # The rotating certificate, which kubelet-finalize points at, is not there before a kubelet has run.
    assert beginning.checked.changed - COMPANIONS == ALL - {"kubelet-finalize"}
    assert "+++ after: /etc/kubernetes/manifests/kube-apiserver.yaml" in beginning.checked.output


def test_check_mode_on_a_virgin_node_writes_and_starts_nothing(beginning: Beginning) -> None:
    assert len(beginning.virgin.files) > 100
    assert beginning.after_check == beginning.virgin


def test_the_run_does_every_phase(beginning: Beginning) -> None:
    assert beginning.ran.changed - COMPANIONS == ALL
    assert beginning.ran.pending - COMPANIONS == ALL


def test_the_run_after_changes_nothing(beginning: Beginning) -> None:
    assert beginning.again.pending == set()
    assert beginning.again.changed == set()
    assert beginning.again.ran == set()
    before, after = beginning.after_run, beginning.after_again
    assert before.objects and len(before.objects) > 80
    assert before.serials.count("serial=") > 12
    assert after.objects == before.objects
    assert after.files == before.files
    assert after.serials == before.serials
    assert after.processes == before.processes
