#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Approval of kubelet serving certificates as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: serving_csr
short_description: Approves the serving certificates of kubelets by what the inventory knows
version_added: 0.1.0
description:
  - Runs on a control plane. Looks once over the requests to the signer C(kubernetes.io/kubelet-serving) that nobody has decided
    on, and approves those in which everything is right; with O(wait_for) it goes on until these nodes are served.
  - A request is approved if and only if it comes from C(system:node:<name>) in the group C(system:nodes); that node is in
    O(policy); common name, organisation and usages are exactly those of a kubelet; every name and address in it belongs to
    that node by O(policy), or is in O(allowed_names); at least one is there; none is another node's; and the key is strong
    enough. What a node says of itself in its status counts for nothing.
  - Anything else is left as it is and told of with the reason, or denied with O(deny=true).
  - A request that claims a name or an address of another node, or one by which the API server is known, fails the task after
    all that is harmless was done. In check mode it is a warning where there is something else to do.
  - What O(policy) gives to several nodes proves none of them, and is told of in a warning.
author:
  - The kubephase authors (@kubephase)
options:
  wait_for:
    description:
      - Nodes whose kubelets must in the end show a certificate that the cluster's CA signed for their address. Their requests
        may come in late; they are decided on as they come.
      - A node that shows one already is not waited for.
    type: list
    elements: str
    default: []
  timeout:
    description:
      - How long to wait for them.
    type: str
    default: 2m
  whole_cluster:
    description:
      - Look at the other nodes of the cluster as well, those that are not in the inventory included. They are not waited for.
    type: bool
    default: false
extends_documentation_fragment:
  - kubephase.cluster.serving_policy
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.kubelet_start
"""

EXAMPLES = r"""
- name: Serving certificates | approve what the inventory vouches for
  kubephase.cluster.serving_csr:
    policy:
      worker1:
        dns_names: [worker1.example.com]
        ip_addresses: [192.0.2.21]
      worker2:
        ip_addresses: [192.0.2.22]
    wait_for: [worker1, worker2]

- name: Serving certificates | deny everything else
  kubephase.cluster.serving_csr:
    policy: "{{ node_names }}"
    deny: true
"""

RETURN = r"""
approved:
  description: Requests that were approved, or would be in check mode.
  returned: success, and when a request was refused
  type: list
  elements: dict
  contains: &request
    name:
      description: The name of the request.
      type: str
      sample: csr-abcde
    requester:
      description: Who filed it.
      type: str
      sample: system:node:worker1
    node:
      description: Which node that is; empty when it is none.
      type: str
      sample: worker1
    names:
      description: The names and addresses that it asks for.
      type: list
      elements: str
      sample: ["worker1", "192.0.2.21"]
    reason:
      description: Why.
      type: str
      sample: all of it belongs to worker1 by the inventory
refused:
  description: Requests that claim what belongs to another.
  returned: success, and when a request was refused
  type: list
  elements: dict
  contains: *request
pending:
  description: Requests that were left as they are.
  returned: success, and when a request was refused
  type: list
  elements: dict
  contains: *request
denied:
  description: Requests that were denied, with O(deny=true); those of RV(refused) are denied as well.
  returned: success, and when a request was refused
  type: list
  elements: dict
  contains: *request
serving:
  description: What the kubelets of O(wait_for) show.
  returned: success, and when a node was not served in time
  type: list
  elements: dict
  contains: &shown
    node:
      description: The node.
      type: str
      sample: worker1
    address:
      description: Where it was asked.
      type: str
      sample: 192.0.2.21
    served:
      description: Whether its certificate is one that the cluster's CA signed for that address.
      type: bool
      sample: true
    problem:
      description: What is wrong, or nothing.
      type: str
      sample: ""
    expires:
      description: When the certificate ends.
      type: str
      sample: "2027-11-16T12:00:00Z"
others:
  description: What the other kubelets of the cluster show.
  returned: with O(whole_cluster=true)
  type: list
  elements: dict
  contains: *shown
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kubelet_port import KubeletPorts
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import SigningApi
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import ServingCsrPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files, ports = Files(root), KubeletPorts()
    return ServingCsrPhase(), World(files=files, signing=SigningApi(files, ports), ports=ports, host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "policy": {"type": "dict"},
        "allowed_names": {"type": "list", "elements": "str", "default": []},
        "deny": {"type": "bool", "default": False},
        "min_rsa_bits": {"type": "int", "default": 2048},
        "min_ecdsa_bits": {"type": "int", "default": 256},
        "wait_for": {"type": "list", "elements": "str", "default": []},
        "timeout": {"type": "str", "default": "2m"},
        "whole_cluster": {"type": "bool", "default": False},
    }
    run(make, ("cryptography", "yaml"), spec, durations=("timeout",))


if __name__ == "__main__":
    main()
