#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The proof of a cluster as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_verify
short_description: Proves a cluster with a small workload on every node, and removes it again
version_added: 0.1.0
description:
  - Waits until every node is Ready. Then a pod runs on each of them, and one that asks the pod of the next node, by its address,
    by the address of a Service and by that Service's name. So scheduler, network plugin, kube-proxy and CoreDNS have all done
    their work on every node, and each node has been reached from another.
  - Everything lies in a namespace of its own, C(kubephase-verify-) with a random end, which is removed whatever came of it. That
    of a run that was killed goes with the next run, once it is an hour old.
  - The answers are read from the status of the pods, so that the API server need not reach the kubelets. A failure names the node
    and the step.
  - Pods run as nobody, without privileges and without an account, so that the restricted Pod Security Standard lets them in.
  - In check mode only the Nodes are looked at.
author:
  - The kubephase authors (@kubephase)
options:
  nodes:
    description:
      - The names of the nodes to prove. When not given, all that the cluster has.
    type: list
    elements: str
    default: []
  image:
    description:
      - An image of agnhost, the Kubernetes project's own workload for tests.
    type: str
    default: registry.k8s.io/e2e-test-images/agnhost:2.66.1
  timeout:
    description:
      - How long the whole proof may take.
    type: str
    default: 5m
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.cluster_info
"""

EXAMPLES = r"""
- name: Verify | every node of the cluster
  kubephase.cluster.cluster_verify:

- name: Verify | two nodes, with an image from a mirror
  kubephase.cluster.cluster_verify:
    nodes: [cp1, worker1]
    image: registry.example.test/agnhost:2.66.1
    timeout: 2m
"""

RETURN = r"""
nodes:
  description: The nodes as they were at the beginning.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: Its name.
      type: str
      sample: worker1
    ready:
      description: Whether it was Ready.
      type: bool
      sample: true
    found:
      description: Why it was not; empty when it was.
      type: str
      sample: ""
verified:
  description: What was shown; empty in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: The node that asked.
      type: str
      sample: worker1
    asked:
      description: The node whose pod answered; in a cluster of one node the same.
      type: str
      sample: cp1
    steps:
      description: What has been shown of it.
      type: list
      elements: str
      sample: [ready, answers, reach, service, dns]
seconds:
  description: How long it took.
  returned: success
  type: float
  sample: 14.2
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.workload import WorkloadApi
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._verify.phase import ClusterVerifyPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return ClusterVerifyPhase(), World(files=files, api=WorkloadApi(files), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "nodes": {"type": "list", "elements": "str", "default": []},
        "image": {"type": "str", "default": "registry.k8s.io/e2e-test-images/agnhost:2.66.1"},
        "timeout": {"type": "str", "default": "5m"},
    }
    run(make, ("yaml",), spec, durations=("timeout",))


if __name__ == "__main__":
    main()
