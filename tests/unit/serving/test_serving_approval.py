# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rules of approval: what is right is approved, and each way of being wrong is named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approval import judge
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy, api_server_names, policy_of
from ansible_collections.kubephase.cluster.tests.unit.serving.filed import ALLOWED, INVENTORY, RSA_USAGES, csr, filed
from ansible_collections.kubephase.cluster.tests.unit.serving.hostile import HOSTILE, Hostile


def policy(nodes: Mapping[str, Any] | None = None, **given: Any) -> Policy:
    reserved = api_server_names("cluster.local", ["10.96.0.1"])
    return policy_of(INVENTORY if nodes is None else nodes, **{"allowed": ALLOWED, "reserved": reserved, **given})


@pytest.mark.parametrize(
    ("asked", "how"),
    [
        ({}, {}),
        ({"dns": ["worker1.example.test"], "ips": ["192.0.2.21", "2001:db8::21"]}, {}),
        ({"dns": ["worker1"], "ips": ()}, {}),
        ({"dns": (), "ips": ["192.0.2.21"]}, {}),
        ({"dns": ["Worker1"]}, {}),
        ({"dns": ["worker1", "worker1-lb.example.test"]}, {}),
        ({"ips": ["192.0.2.21", "203.0.113.15"]}, {}),
        ({"kind": "ecdsa-384"}, {}),
        ({"kind": "ecdsa-256"}, {"usages": RSA_USAGES}),
        ({"kind": "rsa-2048"}, {"usages": RSA_USAGES}),
    ],
)
def test_what_is_right_is_approved(asked: dict[str, Any], how: dict[str, Any]) -> None:
    verdict = judge(filed(csr(**asked), **how), policy())
    assert (verdict.decision, verdict.node) == ("approve", "worker1"), verdict.reason


@pytest.mark.parametrize("case", HOSTILE, ids=[case.name for case in HOSTILE])
def test_what_is_wrong_is_not_approved(case: Hostile) -> None:
    verdict = judge(filed(case.pem(), user=case.user, groups=case.groups, usages=case.usages), policy())
    assert verdict.decision == case.decision
    assert re.search(case.reason, verdict.reason), verdict.reason


def test_another_signer_is_no_concern() -> None:
    other = filed(csr(), signer="kubernetes.io/kube-apiserver-client-kubelet")
    assert not is_open(other)
    assert judge(other, policy()).decision == "leave"


@pytest.mark.parametrize("condition", ["Approved", "Denied", "Failed"])
def test_what_is_decided_is_not_open(condition: str) -> None:
    assert is_open(filed(csr()))
    assert not is_open(filed(csr(), conditions=[condition]))


def test_the_allow_list_gives_nobody_anothers_name() -> None:
    verdict = judge(filed(csr(dns=["worker2"], ips=["10.96.0.1"])), policy(allowed=["worker2", "0.0.0.0/0", "kubernetes"]))
    assert verdict.decision == "refuse"


def test_a_stronger_key_can_be_asked_for() -> None:
    request = filed(csr(kind="rsa-2048"), usages=RSA_USAGES)
    assert judge(request, policy(rsa_bits=3072)).reason == "its RSA key has 2048 bits, where 3072 is the least"
    assert judge(filed(csr()), policy(ecdsa_bits=384)).reason == "its ECDSA key has 256 bits, where 384 is the least"


def test_a_node_that_was_renamed_in_the_inventory() -> None:
    renamed = {**INVENTORY, "worker9": INVENTORY["worker1"]}
    del renamed["worker1"]
    verdict = judge(filed(csr()), policy(renamed))
    # Its old name is nobody's, its address is that of the new one.
    assert (verdict.decision, verdict.reason) == ("refuse", "it claims 192.0.2.21, which the inventory gives to worker9")


def test_what_every_host_has_proves_nothing() -> None:
    nodes = {"worker1": {"ip_addresses": ["127.0.0.1", "fe80::1", "192.0.2.21"], "dns_names": ["localhost"]}}
    found = policy(nodes)
    assert found.reached_at == {"worker1": "192.0.2.21"}
    assert judge(filed(csr(dns=["localhost"])), found).decision == "leave"


def test_names_that_are_given_twice_are_told() -> None:
    assert policy().shared == {"172.17.0.1": ("worker1", "worker2")}


@pytest.mark.parametrize(
    ("nodes", "allowed", "told"),
    [
        ({"a": None}, [], "policy.a: expected a map"),
        ({"a": {"dns": ["x"]}}, [], "policy.a: expected a map"),
        ({"a": {"dns_names": "x"}}, [], "policy.a.dns_names: expected a list"),
        ({"a": {"dns_names": ["*.x"]}}, [], "stands for many names"),
        ({"a": {"ip_addresses": ["x"]}}, [], "'x' is not an IP address"),
        ({}, ["*.example.test"], "neither a name nor an address nor a network"),
        ({}, ["10.0.0.0/99"], "neither a name nor an address nor a network"),
    ],
)
def test_a_policy_that_cannot_be_meant(nodes: dict[str, Any], allowed: list[str], told: str) -> None:
    with pytest.raises(ManyUnusable, match=re.escape(told)):
        policy(nodes, allowed=allowed)
