# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster that kubeadm made: adopted as it is, and joined by us."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from live import kubeadm, looks
from live.adoption import COMPLAINT, adopted, differing, leave, look, members
from live.fleet import Fleet, virgin_fleet
from live.node import remove

KUBELET = "/var/lib/kubelet/config.yaml"
# What a worker has of a join, whoever made it: mode, digest with its own name left out, and path.
OF_A_WORKER = (
    "for f in /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt /var/lib/kubelet/config.yaml /var/lib/kubelet/instance-config.yaml"
    " /var/lib/kubelet/kubeadm-flags.env; do echo $(stat -c %a $f) $(sed s/$(hostname)/NODE/ $f | sha256sum) $f; done;"
    "find /etc/kubernetes -printf '%p %m\\n' | sort"
)


@pytest.fixture(scope="module")
def theirs(place: str) -> Iterator[Fleet]:
    """One control plane and one worker by kubeadm, and three nodes that are yet to join."""
    instance = f"live-{place}-k"
    try:
        fleet = virgin_fleet(instance, 2, 3)
        kubeadm.init(fleet)
        kubeadm.join(fleet["w1"], kubeadm.invite(fleet["cp1"]))
        yield fleet
    finally:
        remove(instance)


def test_a_cluster_of_kubeadm_is_adopted_as_it_is(theirs: Fleet) -> None:
    adopted(theirs, "cp1", "w1")


def test_check_mode_tells_what_adoption_would_change(theirs: Fleet) -> None:
    before = look(theirs, "cp1", "w1")
    checked = theirs.site("cp1", "w1").using(kubephase_kubelet_configuration={"maxPods": 99}).play("--check", "--diff").succeeded()
    first, worker = theirs["cp1"].name, theirs["w1"].name
    assert checked.changes == {
        (first, KUBELET),
        (first, "kubelet.service"),
        (first, "ConfigMap kube-system/kubelet-config"),
        (worker, KUBELET),
        (worker, "kubelet.service"),
    }
    assert "+maxPods: 99" in checked.output
    assert differing(before, look(theirs, "cp1", "w1")) == []


def test_we_join_a_control_plane_and_workers_to_a_cluster_of_kubeadm(theirs: Fleet) -> None:
    everybody = ("cp1", "cp2", "w1", "w2")
    site = theirs.site(*everybody)
    first, second = theirs["cp1"], theirs["cp2"]
    joined = site.play().succeeded()
    assert {host for host, target in joined.changes} == {second.name, theirs["w2"].name}
    assert members(first) == {first.name: True, second.name: True}
    looks.settle(first)
    labelled = first.kubectl("get nodes -l node-role.kubernetes.io/control-plane -o name").split()
    assert labelled == [f"node/{first.name}", f"node/{second.name}"]
    assert "bootstrap-token" in first.kubectl("-n kube-system get secrets -o name")
    assert "kubephase" not in first.kubectl("-n kube-system get secrets -o yaml")
    # Only the host that was initialised has a super-admin.conf, as with kubeadm.
    expiry = second.run("kubeadm certs check-expiration 2>&1").replace("!MISSING! super-admin.conf", "")
    assert not COMPLAINT.search(expiry), expiry
    assert theirs["w2"].run(OF_A_WORKER) == theirs["w1"].run(OF_A_WORKER)
    assert site.play().succeeded().changes == set()


def test_we_join_a_worker_with_a_token_and_a_pin_alone(theirs: Fleet) -> None:
    worker = theirs["w3"]
    registration = kubeadm.documents(worker, "JoinConfiguration")["nodeRegistration"]
    alone = replace(theirs.site("w3"), name="join").using(
        kubephase_config_file=None,
        kubephase_addon_manifest=None,
        kubephase_join_configuration={"nodeRegistration": registration, "discovery": kubeadm.invite(theirs["cp1"]).discovery},
    )
    secrets = theirs["cp1"].kubectl("-n kube-system get secrets -o yaml")
    alone.play().succeeded()
    looks.settle(theirs["cp1"])
    assert worker.name in theirs["cp1"].kubectl("get nodes -o name")
    assert theirs["cp1"].kubectl("-n kube-system get secrets -o yaml") == secrets
    assert worker.run(OF_A_WORKER) == theirs["w1"].run(OF_A_WORKER)
    assert alone.play().succeeded().changes == set()


def test_kubeadm_resets_the_control_plane_that_we_joined(theirs: Fleet) -> None:
    leave(theirs, "cp2")
    assert members(theirs["cp1"]) == {theirs["cp1"].name: True}
