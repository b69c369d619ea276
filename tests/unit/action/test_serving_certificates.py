# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the variable for serving certificates does on the controller, and to whom the inventory gives which name."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.kubephase.cluster.plugins.plugin_utils.serving_certificates import (
    KnownHost,
    checked,
    known_host,
    needs_policy,
    policy,
    serving_options,
    settle,
)


@pytest.mark.parametrize(("given", "mode"), [(None, "self-signed"), ("self-signed", "self-signed"), ("kubelet", "kubelet")])
def test_the_variable_is_read(given: Any, mode: str) -> None:
    assert checked(given) == mode


@pytest.mark.parametrize("given", ["yes", "", True, ["kubelet"]])
def test_another_value_is_an_error_that_names_those_there_are(given: Any) -> None:
    with pytest.raises(AnsibleActionFail, match=r"kubephase_kubelet_serving_certificates.*self-signed, kubelet, collection"):
        checked(given)


@pytest.mark.parametrize(
    ("mode", "documents", "joins", "kubelet"),
    [
        ("self-signed", {}, False, None),
        ("self-signed", {"KubeletConfiguration": {"serverTLSBootstrap": True}}, False, {"serverTLSBootstrap": True}),
        ("collection", {"KubeletConfiguration": {"maxPods": 9}}, False, {"maxPods": 9}),
        ("kubelet", {}, False, {"serverTLSBootstrap": True}),
        ("kubelet", {"KubeletConfiguration": {"maxPods": 9}}, False, {"maxPods": 9, "serverTLSBootstrap": True}),
        ("kubelet", {"ClusterConfiguration": {}}, True, {"serverTLSBootstrap": True}),
        # The cluster's own document is taken whole, and has it.
        ("kubelet", {"JoinConfiguration": {}}, True, None),
    ],
)
def test_the_documents_follow_it(mode: str, documents: dict[str, Any], joins: bool, kubelet: dict[str, Any] | None) -> None:
    settle(mode, documents, joins)
    assert documents.get("KubeletConfiguration") == kubelet


@pytest.mark.parametrize(("mode", "given"), [("kubelet", False), ("collection", True)])
def test_a_contradiction_names_both_sides(mode: str, given: bool) -> None:
    with pytest.raises(
        AnsibleActionFail, match=rf"kubephase_kubelet_serving_certificates is {mode}, and .*serverTLSBootstrap is {given}".lower()
    ):
        try:
            settle(mode, {"KubeletConfiguration": {"serverTLSBootstrap": given}}, False)
        except AnsibleActionFail as error:
            raise AnsibleActionFail(str(error).lower()) from None


@pytest.mark.parametrize(
    ("module", "mode", "options", "added"),
    [
        ("static_pod", "self-signed", {}, {}),
        ("static_pod", "kubelet", {}, {"verify_kubelets": "keep"}),
        ("static_pod", "collection", {"verify_kubelets": "always"}, {}),
        ("phase_plan", "self-signed", {}, {"serving_certificates": "self-signed"}),
        ("phase_plan", "kubelet", {}, {"serving_certificates": "kubelet", "verify_kubelets": "keep"}),
        ("kubelet_start", "kubelet", {}, {}),
    ],
)
def test_modules_are_told(module: str, mode: str, options: dict[str, Any], added: dict[str, Any]) -> None:
    assert serving_options(module, mode, options) == added


@pytest.mark.parametrize(
    ("module", "options", "needed"),
    [
        ("serving_csr", {}, True),
        ("serving_csr", {"policy": {}}, False),
        ("serving_approver", {}, True),
        ("serving_approver", {"state": "absent"}, False),
        ("static_pod", {}, False),
    ],
)
def test_who_is_given_the_policy(module: str, options: dict[str, Any], needed: bool) -> None:
    assert needs_policy(module, options) is needed


def found(node: str, *addresses: str, **more: Any) -> dict[str, Any]:
    return {"node": node, "hostname": node, "addresses": list(addresses), **more}


CP1 = KnownHost("cp1", ("192.0.2.11",), found("cp1", "192.0.2.11", "198.51.100.11"))
W1 = KnownHost("w1", ("192.0.2.21",), found("w1", "192.0.2.21", "198.51.100.21"))


def names(node: str, *addresses: str, also: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"dns_names": sorted({node, *also}), "ip_addresses": sorted(addresses)}


def test_the_inventory_and_what_was_found_make_the_policy() -> None:
    assert policy([CP1, W1]) == {"cp1": names("cp1", "192.0.2.11", "198.51.100.11"), "w1": names("w1", "192.0.2.21", "198.51.100.21")}


def test_a_node_is_known_by_its_own_name_and_by_that_of_the_inventory() -> None:
    host = KnownHost(
        "w1.example.test",
        (
            "192.0.2.21",
            "worker.example.test",
        ),
        found("w1", "192.0.2.21"),
    )
    assert policy([host]) == {"w1": names("w1", "192.0.2.21", also=("w1.example.test", "worker.example.test"))}


def test_what_several_hosts_have_belongs_to_none() -> None:
    hosts = [KnownHost(name, [], found(name, "172.17.0.1")) for name in ("w1", "w2")]
    assert policy(hosts) == {"w1": names("w1"), "w2": names("w2")}


def test_a_host_cannot_take_what_the_inventory_gives_to_another() -> None:
    thief = KnownHost("w2", ("192.0.2.22",), found("w2", "192.0.2.22", "192.0.2.21") | {"hostname": "w1"})
    assert policy([W1, thief]) == {"w1": names("w1", "192.0.2.21", "198.51.100.21"), "w2": names("w2", "192.0.2.22")}


def test_nor_while_that_one_is_not_looked_at() -> None:
    thief = KnownHost("w2", ("192.0.2.22",), found("w2", "192.0.2.22", "192.0.2.21") | {"hostname": "w1"})
    assert policy([KnownHost("w1", ("192.0.2.21",)), thief]) == {"w1": names("w1", "192.0.2.21"), "w2": names("w2", "192.0.2.22")}


@pytest.mark.parametrize("seen", [True, False])
def test_a_host_cannot_pass_for_another_node(seen: bool) -> None:
    other = W1 if seen else KnownHost("w1", ("192.0.2.21",))
    with pytest.raises(AnsibleActionFail, match="w1 and w2 are both the node w1"):
        policy([other, KnownHost("w2", ("192.0.2.22",), found("w1", "192.0.2.22"))])


def test_the_order_in_which_addresses_were_found_makes_no_difference() -> None:
    again = KnownHost("w1", ("192.0.2.21",), found("w1", "198.51.100.21", "192.0.2.21"))
    assert policy([W1]) == policy([again])


def test_who_was_not_looked_at_keeps_what_the_approver_knows() -> None:
    known = {"w2": names("w2", "192.0.2.22", "198.51.100.22"), "w1": names("w1", "203.0.113.1")}
    control_plane = KnownHost("cp1", ("192.0.2.11",), {**CP1.found, "policy": known})
    assert policy([control_plane, W1, KnownHost("w2", ("192.0.2.22",))]) == {
        "cp1": names("cp1", "192.0.2.11", "198.51.100.11"),
        "w1": names("w1", "192.0.2.21", "198.51.100.21"),
        "w2": known["w2"],
    }


def test_a_node_that_left_the_inventory_is_forgotten_once_all_were_looked_at() -> None:
    control_plane = KnownHost("cp1", ("192.0.2.11",), {**CP1.found, "policy": {"gone": names("gone", "192.0.2.99")}})
    assert set(policy([control_plane, W1])) == {"cp1", "w1"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, KnownHost("w1")),
        ({"ansible_host": "192.0.2.21"}, KnownHost("w1", ("192.0.2.21",))),
        ({"kubephase_serving_names": "w1.example.test"}, KnownHost("w1", ("w1.example.test",))),
        (
            {"kubephase_serving_names": ["a", "b"]},
            KnownHost(
                "w1",
                (
                    "a",
                    "b",
                ),
            ),
        ),
        ({"kubephase_plan": {"serving": W1.found}}, KnownHost("w1", (), W1.found)),
        ({"init_plan": {"serving": W1.found}}, KnownHost("w1", (), W1.found)),
        # A plan that was skipped, or was made without the feature, has found nothing.
        ({"kubephase_plan": {"skipped": True}}, KnownHost("w1")),
        ({"kubephase_plan": {"serving": {"node": "w1", "traces": []}}}, KnownHost("w1")),
    ],
)
def test_what_is_taken_from_the_variables_of_a_host(variables: dict[str, Any], expected: KnownHost) -> None:
    assert known_host("w1", variables) == expected
