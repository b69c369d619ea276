# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names, subnets, inventories, manifests and firewall rules of an instance."""

from __future__ import annotations

import re
import shlex
from ipaddress import IPv4Network
from pathlib import Path

import pytest
import yaml

from lab import firewall, inventory, layout, manifests
from lab.errors import LabError
from lab.identity import hosts_file
from lab.instance import Instance
from lab.recipes import RELEASES, release

SUBNET = IPv4Network("10.213.7.0/24")


def instance(control_planes: int = 1, workers: int = 1) -> Instance:
    return Instance("kp1", "1.37.1", str(SUBNET), layout.nodes("kp1", SUBNET, control_planes, workers))


def test_checkouts_have_instances_of_their_own() -> None:
    first, second = layout.default_instance(Path("/home/a/kubephase")), layout.default_instance(Path("/home/b/kubephase"))
    assert first != second
    assert layout.instance_name(first) == first


@pytest.mark.parametrize("name", ["a", "kp1", "a-b", "x" * 32])
def test_good_instance_names(name: str) -> None:
    assert layout.instance_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "1a", "A", "a_b", "a.b", "x" * 33, "a b", "../a"])
def test_bad_instance_names(name: str) -> None:
    with pytest.raises(LabError, match="cannot name an instance"):
        layout.instance_name(name)


def test_node_names_and_addresses() -> None:
    assert [(node.name, node.role, node.address) for node in instance(2, 1).nodes] == [
        ("kp1-cp1", "control_plane", "10.213.7.11"),
        ("kp1-cp2", "control_plane", "10.213.7.12"),
        ("kp1-w1", "workers", "10.213.7.101"),
    ]


def test_a_node_keeps_its_address_when_others_are_added() -> None:
    assert set(instance(1, 1).nodes) < set(instance(3, 2).nodes)


@pytest.mark.parametrize("counts", [(0, 0), (-1, 1), (1, -1), (1000, 0)])
def test_impossible_sizes_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(LabError):
        instance(*counts)


def test_the_chosen_subnet_is_free() -> None:
    alone = layout.choose_subnet("kp1", [])
    assert alone == layout.choose_subnet("kp1", [IPv4Network("192.168.0.0/16")])
    assert not layout.choose_subnet("kp1", [alone]).overlaps(alone)
    # A larger network that covers most of the pool leaves the rest to choose from.
    assert layout.choose_subnet("kp1", [IPv4Network("10.213.0.0/17")]).subnet_of(IPv4Network("10.213.128.0/17"))


def test_no_free_subnet_is_an_error() -> None:
    with pytest.raises(LabError, match="every subnet"):
        layout.choose_subnet("kp1", [IPv4Network("10.0.0.0/8")])


def test_the_pool_is_clear_of_kubernetes_defaults() -> None:
    for used in ("10.96.0.0/12", manifests.POD_SUBNET):
        assert not layout.POOL.overlaps(IPv4Network(used))


def test_inventory() -> None:
    text = inventory.render(instance(1, 2), "/cache/a key", ["-o", "UserKnownHostsFile=/cache/a place/known_hosts"])
    read = yaml.safe_load(text)["all"]
    assert read["vars"]["ansible_user"] == "root"
    assert read["vars"]["ansible_python_interpreter"] == "/usr/bin/python3"
    assert read["vars"]["ansible_ssh_private_key_file"] == "/cache/a key"
    assert shlex.split(read["vars"]["ansible_ssh_common_args"]) == ["-o", "UserKnownHostsFile=/cache/a place/known_hosts"]
    assert read["children"]["control_plane"]["hosts"] == {"kp1-cp1": {"ansible_host": "10.213.7.11"}}
    assert list(read["children"]["workers"]["hosts"]) == ["kp1-w1", "kp1-w2"]


def test_an_inventory_without_workers_has_the_group_nonetheless() -> None:
    read = yaml.safe_load(inventory.render(instance(1, 0), "key", []))
    assert read["all"]["children"]["workers"] == {"hosts": {}}


def test_every_node_knows_the_others() -> None:
    assert hosts_file(instance()).splitlines()[-2:] == ["10.213.7.11 kp1-cp1", "10.213.7.101 kp1-w1"]


@pytest.mark.parametrize("version", sorted(RELEASES))
@pytest.mark.parametrize("name", ["flannel.yaml", "workload.yaml"])
def test_manifests_are_filled_in(version: str, name: str) -> None:
    template = (manifests.TEMPLATES / name).read_text()
    documents = list(yaml.safe_load_all(manifests.fill(template, manifests.values_of(instance(), release(version)))))
    assert all(document["kind"] for document in documents)
    assert "@" not in str(documents)


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(LabError, match="@NOWHERE@"):
        manifests.fill("a: @NOWHERE@", {})


@pytest.mark.parametrize(
    ("version", "api", "cgroup_v1"), [("1.37.1", "kubeadm.k8s.io/v1beta4", False), ("1.28.15", "kubeadm.k8s.io/v1beta3", None)]
)
def test_kubeadm_documents_fit_the_release(version: str, api: str, cgroup_v1: object) -> None:
    documents = {
        document["kind"]: document for document in yaml.safe_load_all(manifests.kubeadm_documents(release(version), "10.213.7.11"))
    }
    assert documents["ClusterConfiguration"]["apiVersion"] == documents["InitConfiguration"]["apiVersion"] == api
    assert documents["ClusterConfiguration"]["controlPlaneEndpoint"] == "10.213.7.11:6443"
    assert documents["KubeletConfiguration"].get("failCgroupV1") is cgroup_v1
    ignored = documents["InitConfiguration"]["nodeRegistration"]["ignorePreflightErrors"]
    assert ("HTTPProxyCIDR" in ignored) is (cgroup_v1 is None)


LISTING = """\
-P FORWARD ACCEPT
-A FORWARD -i cni1 ! -o cni1 -m comment --comment "kubephase:kp1" -c 12 720 -j DROP
-A FORWARD -i cni2 ! -o cni2 -m comment --comment kubephase:kp1-self -c 7 420 -j DROP
-A FORWARD -j SOMEONE-ELSES
"""


def test_rules_are_found_by_the_whole_name_of_their_instance() -> None:
    plain = re.sub(r" -c \d+ \d+", "", LISTING)
    for name, bridge in (("kp1", "cni1"), ("kp1-self", "cni2")):
        assert firewall.instance_rules(plain, name) == firewall.wanted("iptables", firewall.GUARD, name, bridge, SUBNET)
    assert firewall.instance_rules(plain, "kp") == []


def test_packets_are_read_from_the_instances_own_rule() -> None:
    assert (firewall.packets(LISTING, "kp1"), firewall.packets(LISTING, "kp1-self")) == (12, 7)
    with pytest.raises(LabError, match="missing"):
        firewall.packets(LISTING, "kp2")
