#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The serving certificate of a kubelet as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_serving_cert
short_description: Sees to the certificate that a kubelet serves with, or tells how the kubelet does
version_added: 0.1.0
description:
  - By default a kubelet serves with a certificate that nobody signed. This module is for those that serve with one which the
    cluster signed, so that the API server and others can verify it.
  - With O(manager=kubelet) the kubelet asks for it itself, because C(serverTLSBootstrap) is on in KubeletConfiguration. The
    module changes nothing, except that it removes the timer of O(manager=collection). It sees that this is so on the host, too,
    and tells the state of certificate and request.
  - With O(manager=collection) the module does in the kubelet's place what that would do; it asks with the node's own
    credentials for the addresses in the Node's status, waits for the signature, stores key and certificate as
    C(kubelet-server-<date>.pem) with the link C(kubelet-server-current.pem), and points the kubelet's C(tlsCertFile) and
    C(tlsPrivateKeyFile) at the link. When it is run again it asks for the next one if that is due, between 70 and 90 percent
    of the lifetime, or if the addresses have changed. A systemd timer on the host does so between plays, with the same code.
  - Pairs that were replaced are removed. A kubelet watches the file behind the link, and learns of the next one when that goes.
  - Somebody has to approve the requests, M(kubephase.cluster.serving_csr) for one. With O(manager=collection) that must happen
    while this module waits.
  - Kubelets up to 1.30 read the files only when they start, so they are restarted with each new certificate.
author:
  - The kubephase authors (@kubephase)
options:
  manager:
    description:
      - Who sees to the certificate.
      - V(self-signed) undoes what V(collection) did; the kubelet serves with a certificate of its own again.
    type: str
    choices:
      - kubelet
      - collection
      - self-signed
    default: kubelet
  algorithm:
    description:
      - The kind of key, with O(manager=collection).
    type: str
    choices:
      - ECDSA-P256
      - ECDSA-P384
      - RSA-2048
      - RSA-3072
      - RSA-4096
    default: ECDSA-P256
  lifetime:
    description:
      - The lifetime to ask for, with O(manager=collection); at least V(10m). The signer may give less.
    type: str
  timeout:
    description:
      - How long to wait for the signature, with O(manager=collection). A request that is denied or fails is made anew as long
        as this lasts.
    type: str
    default: 2m
  interval:
    description:
      - How long the timer waits between two runs, with O(manager=collection); at least V(30s).
      - For certificates that live for less than an hour choose less than a tenth of that, so that a run falls between the
        moment when the next one is due and the end.
    type: str
    default: 5m
attributes:
  idempotent:
    support: full
extends_documentation_fragment:
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
- name: Serving certificate | how does the kubelet's stand
  kubephase.cluster.kubelet_serving_cert:
    becomes: worker

- name: Serving certificate | ask for one in the kubelet's place
  kubephase.cluster.kubelet_serving_cert:
    becomes: worker
    manager: collection
"""

RETURN = r"""
manager:
  description: Who sees to the certificate.
  returned: success
  type: str
  sample: kubelet
at_work:
  description: Whether there is a manager at work; not without credentials of the node.
  returned: success
  type: bool
  sample: true
certificate:
  description: The certificate that the kubelet would load; empty when there is none.
  returned: with O(manager=kubelet) or O(manager=collection)
  type: dict
  contains:
    path:
      description: Where it lies.
      type: str
      sample: /var/lib/kubelet/pki/kubelet-server-current.pem
    subject:
      description: Its subject.
      type: str
      sample: O=system:nodes, CN=system:node:worker1
    names:
      description: The names and addresses in it.
      type: list
      elements: str
      sample: ["worker1", "192.0.2.21"]
    expires:
      description: When it ends.
      type: str
      sample: "2027-11-16T12:00:00Z"
    trusted:
      description: Whether the cluster's CA signed it.
      type: bool
      sample: true
    problem:
      description: Why it cannot be used, or nothing.
      type: str
      sample: ""
request:
  description: The newest request of the node, while it has no certificate that the CA signed; empty otherwise.
  returned: with O(manager=kubelet) or O(manager=collection)
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: csr-abcde
    state:
      description: How far it has come; pending, approved, issued, denied or failed.
      type: str
      sample: pending
    reason:
      description: The same in a sentence.
      type: str
      sample: nobody has approved it
rotation:
  description: When the next certificate is due, and why.
  returned: with O(manager=kubelet) or O(manager=collection)
  type: dict
  contains:
    due:
      description: The moment; for O(manager=kubelet) one that the kubelet could have drawn.
      type: str
      sample: "2027-08-20T12:00:00Z"
    reason:
      description: Why then.
      type: str
      sample: its life nears the end
timer:
  description: Whether a timer of the collection rotates the certificate between plays.
  returned: success
  type: bool
  sample: false
figures:
  description: The figures that a kubelet gives to Prometheus.
  returned: with O(manager=kubelet) or O(manager=collection)
  type: dict
  contains:
    ttl_seconds:
      description: Seconds until the certificate ends, C(+Inf) without one.
      type: str
      sample: "31535999"
    rotation_seconds:
      description: How long the certificate lived that this run replaced; null when it replaced none.
      type: float
      sample: null
    renew_errors:
      description: How many requests of this run failed.
      type: int
      sample: 0
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.program import Programs
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.serving_request import NodeRequests, ServingRequests
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.timers import Timers
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.unattended import turn
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.node import KubeletServingCertPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation_timer import RotationTimerPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    api = NodeRequests(files)
    world = World(
        files=files,
        node_api=api,
        serving=ServingRequests(files, api),
        systemd=Systemd(),
        clock=Clock(),
        host=Host(),
        programs=Programs(),
        timers=Timers(),
    )
    return (KubeletServingCertPhase(), RotationTimerPhase(turn)), world


def main() -> None:
    """Run the phase."""
    spec = {
        "manager": {"type": "str", "choices": ["kubelet", "collection", "self-signed"], "default": "kubelet"},
        "algorithm": {
            "type": "str",
            "choices": ["ECDSA-P256", "ECDSA-P384", "RSA-2048", "RSA-3072", "RSA-4096"],
            "default": "ECDSA-P256",
        },
        "lifetime": {"type": "str"},
        "timeout": {"type": "str", "default": "2m"},
        "interval": {"type": "str", "default": "5m"},
    }
    run(make, ("cryptography", "yaml"), spec, durations=("lifetime", "timeout", "interval"))


if __name__ == "__main__":
    main()
