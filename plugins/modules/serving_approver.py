#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standing approver of kubelet serving certificates as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: serving_approver
short_description: Keeps approving the serving certificates of kubelets when no play runs
version_added: 0.1.0
description:
  - Kubelets ask for their next certificate months later. This puts a program onto a control plane that decides then, by the
    rules and with the code of M(kubephase.cluster.serving_csr), and a systemd timer that runs it.
  - Run it on every control plane. They take turns by a Lease, so that one of them is at work at a time; another takes over when
    that one has been silent for two and a half minutes.
  - The program is one file, C(/usr/local/lib/kubephase/serving-approver.pyz); its policy is in
    C(/etc/kubernetes/kubephase-serving-policy.json). It talks to the API server as a ServiceAccount of its own, which may list
    and watch requests, approve those to this one signer, hold its one Lease and renew its own token, and nothing else.
  - A token lives for seven days, and is renewed by the program after half of that. A host that was away for longer gets a
    new one when this module is run again.
  - What it approved and refused is in the journal of C(kubephase-serving-approver.service), a claim to another node's name at
    the priority C(crit). Figures are written as a Prometheus text file.
author:
  - The kubephase authors (@kubephase)
options:
  state:
    description:
      - V(absent) removes all of it, the objects in the cluster included.
    type: str
    choices:
      - present
      - absent
    default: present
  interval:
    description:
      - How long the timer waits between two runs, from V(5s) to V(1m).
    type: str
    default: 1m
  figures:
    description:
      - Where the figures are written, for example in the directory that node_exporter reads.
    type: str
    default: /var/lib/kubephase/serving-approver.prom
extends_documentation_fragment:
  - kubephase.cluster.serving_policy
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
  - systemd on the host
seealso:
  - module: kubephase.cluster.serving_csr
"""

EXAMPLES = r"""
- name: Serving certificates | approve them from now on
  kubephase.cluster.serving_approver:
    policy:
      worker1:
        dns_names: [worker1.example.com]
        ip_addresses: [192.0.2.21]

- name: Serving certificates | no longer
  kubephase.cluster.serving_approver:
    state: absent
"""

RETURN = r"""
objects:
  description: The objects in the cluster, and what was done to each.
  returned: success
  type: list
  elements: dict
  sample: [{"object": "ServiceAccount kube-system/kubephase-serving-approver", "done": "kept", "reason": ""}]
files:
  description: The files on the host, and whether they were written.
  returned: success
  type: list
  elements: dict
  sample: [{"path": "/etc/kubernetes/kubephase-serving-policy.json", "done": "written"}]
token:
  description: Whether the program's token was kept, renewed or removed.
  returned: success
  type: str
  sample: kept
nodes:
  description: The nodes that the policy knows.
  returned: success
  type: list
  elements: str
  sample: ["worker1"]
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.program import Programs
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.standing import ApproverTokens
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.timers import Timers
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.install import StandingApproverPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    world = World(
        files=files, api=Api(files), tokens=ApproverTokens(files), programs=Programs(), timers=Timers(), clock=Clock(), host=Host()
    )
    return StandingApproverPhase(), world


def main() -> None:
    """Run the phase."""
    spec = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "policy": {"type": "dict"},
        "allowed_names": {"type": "list", "elements": "str", "default": []},
        "deny": {"type": "bool", "default": False},
        "min_rsa_bits": {"type": "int", "default": 2048},
        "min_ecdsa_bits": {"type": "int", "default": 256},
        "interval": {"type": "str", "default": "1m"},
        "figures": {"type": "str", "default": "/var/lib/kubephase/serving-approver.prom"},
    }
    run(make, ("cryptography", "yaml"), spec, durations=("interval",))


if __name__ == "__main__":
    main()
