# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster that we made: joined by kubeadm, adopted again, and looked after by kubeadm without complaint."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from live import kubeadm, looks
from live.adoption import COMPLAINT, adopted, leave, members
from live.fleet import Fleet, virgin_fleet
from live.node import KUBECTL, ROOT, remove


@pytest.fixture(scope="module")
def ours(place: str) -> Iterator[Fleet]:
    """A control plane by us, and two nodes that are yet to join."""
    instance = f"live-{place}-o"
    try:
        fleet = virgin_fleet(instance, 2, 1)
        fleet.site("cp1").play().succeeded()
        yield fleet
    finally:
        remove(instance)


def test_kubeadm_joins_a_control_plane_and_a_worker_to_our_cluster(ours: Fleet) -> None:
    first, second = ours["cp1"], ours["cp2"]
    token = module(ours, "bootstrap_token", mint=True, ttl="30m")["minted_token"]
    key = module(ours, "upload_certs", ttl="30m")["certificate_key"]
    pin = replace(kubeadm.invite(first), token=token)
    kubeadm.join(ours["w1"], pin)
    kubeadm.join(second, replace(pin, certificate_key=key))
    assert members(first) == {first.name: True, second.name: True}
    looks.settle(first)
    assert len(first.kubectl("get nodes -o name").split()) == 3


def test_what_kubeadm_joined_to_our_cluster_is_adopted_as_it_is(ours: Fleet) -> None:
    adopted(ours, "cp1", "cp2", "w1")


STORED = f"{KUBECTL} -n kube-system get cm kubeadm-config -o jsonpath={{.data.ClusterConfiguration}} > /run/stored.yaml"
COMMANDS = {
    "certs check-expiration": ("kubeadm certs check-expiration", r"^apiserver-etcd-client .*364d +etcd-ca +no"),
    "upgrade plan": ("kubeadm upgrade plan v1.37.1", r"Cluster version: 1\.37\.1\n"),
    # It renders the manifests that kubeadm would write and shows what differs: nothing.
    "upgrade diff": ("kubeadm upgrade diff v1.37.1", r"re-upload it\.\n\Z"),
    "token list": ("kubeadm token list", r"authentication,signing .*system:bootstrappers:kubeadm:default-node-token"),
    "config images list": ("kubeadm config images list --config /run/stored.yaml", r"kube-apiserver:v1\.37\.1\n"),
    "config validate": ("kubeadm config validate --config /run/stored.yaml", r"\Aok\n\Z"),
    "config migrate": ("kubeadm config migrate --old-config /run/stored.yaml", r"kind: ClusterConfiguration\n"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_kubeadm_looks_after_our_cluster_without_complaint(ours: Fleet, command: str) -> None:
    spelled, answer = COMMANDS[command]
    said = ours["cp1"].run(f"{STORED}; {spelled} 2>&1")
    assert re.search(answer, said, re.MULTILINE), said
    assert not COMPLAINT.search(said), said


def test_kubeadm_resets_a_worker_and_we_join_it_again(ours: Fleet) -> None:
    worker = ours["w1"]
    site = ours.site("cp1", "cp2", "w1")
    leave(ours, "w1")
    joined = site.play().succeeded()
    assert {host for host, target in joined.changes} == {worker.name}
    looks.settle(ours["cp1"])
    assert site.play().succeeded().changes == set()
    # Now it is one that we have joined.
    leave(ours, "w1")


def module(fleet: Fleet, name: str, **options: Any) -> dict[str, Any]:
    """Call one module of the collection on the first control plane, and give its result."""
    first = fleet["cp1"]
    documents = json.dumps({"kubephase_config_file": str(first.manifests / "kubeadm.yaml")})
    called = [
        "ansible",
        first.name,
        "-i",
        str(first.inventory),
        "-m",
        f"kubephase.cluster.{name}",
        "-a",
        json.dumps(options),
        "-e",
        documents,
    ]
    surroundings = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    done = subprocess.run(called, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: {done.stdout}{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.partition("=>")[2])
    return result
