# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The variable for serving certificates through real Ansible: documents, mistakes, and the policy that the inventory makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from integration.play import cluster, play

VARIABLE = "kubephase_kubelet_serving_certificates"
DOCUMENTS: list[dict[str, Any]] = [
    {"kubephase.cluster.documents": None, "register": "found"},
    {"ansible.builtin.debug": {"msg": "bootstrap {{ found.documents.KubeletConfiguration.serverTLSBootstrap | default('unset') }}"}},
]


@pytest.mark.parametrize(("mode", "said"), [(None, "unset"), ("self-signed", "unset"), ("kubelet", "True"), ("collection", "unset")])
def test_the_documents_follow_the_variable(tmp_path: Path, mode: str | None, said: str) -> None:
    host = {"kubephase_cluster_configuration": cluster(tmp_path), **({VARIABLE: mode} if mode else {})}
    played = play(tmp_path, DOCUMENTS, hosts={"cp1": host})
    assert played.code == 0, played.output
    assert f"bootstrap {said}" in played.output


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ({VARIABLE: "always"}, "found 'always'; expected one of self-signed, kubelet, collection"),
        ({VARIABLE: "kubelet", "kubephase_kubelet_configuration": {"serverTLSBootstrap": False}}, "serverTLSBootstrap is false"),
        ({VARIABLE: "collection", "kubephase_kubelet_configuration": {"serverTLSBootstrap": True}}, "serverTLSBootstrap is true"),
    ],
)
def test_a_mistake_is_one_error_on_the_controller(tmp_path: Path, host: dict[str, Any], said: str) -> None:
    played = play(tmp_path, DOCUMENTS, "-vvv", hosts={"cp1": {"kubephase_cluster_configuration": cluster(tmp_path), **host}})
    assert played.code != 0
    assert VARIABLE in played.output
    assert said in played.output
    assert "Traceback" not in played.output


def test_the_inventory_makes_the_policy(tmp_path: Path) -> None:
    """The module never gets to the API server here; what it was given is in the record of its invocation."""
    found = {"node": "worker-one", "hostname": "worker-one", "addresses": ["192.0.2.21", "198.51.100.21"]}
    base = {"kubephase_cluster_configuration": cluster(tmp_path)}
    hosts = {
        "cp1": {**base, "ansible_host": "192.0.2.11"},
        "w1": {**base, "ansible_host": "192.0.2.21", "kubephase_plan": {"serving": found}, "kubephase_serving_names": ["w1.example.test"]},
    }
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.group_by": {"key": "{{ 'control_plane' if inventory_hostname == 'cp1' else 'workers' }}"}},
        {
            "kubephase.cluster.serving_csr": {"wait_for": ["nobody"]},
            "register": "done",
            "run_once": True,
            "ignore_errors": True,
        },
    ]
    played = play(tmp_path, tasks, "-vvv", hosts=hosts)
    assert played.code == 0, played.output
    text = " ".join(played.output.split())
    assert "cp1: dns_names: - cp1 ip_addresses: - 192.0.2.11" in text
    assert "worker-one: dns_names: - w1 - w1.example.test - worker-one ip_addresses: - 192.0.2.21 - 198.51.100.21" in text
    assert "the policy has no node nobody" in text
