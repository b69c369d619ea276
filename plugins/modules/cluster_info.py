#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is running where, as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Tells what is running on a host and, from a control plane, in its cluster
version_added: 0.1.0
description:
  - Reads versions, static pods, certificates and members of etcd on a host, and nodes, tokens and add-ons through the API of a
    control plane. Nothing is ever changed, so that check mode makes no difference.
  - Nothing that it finds is a failure. What cannot be read is listed in RV(unread), with the reason.
  - The secret of a token is never among the facts, nor is any key.
  - Without C(cryptography) on the host, which a worker does not need for anything else, certificates are left out.
author:
  - The kubephase authors (@kubephase)
options:
  parts:
    description:
      - Only these parts. When not given, all of them.
    type: list
    elements: str
    choices:
      - host
      - components
      - certificates
      - etcd
      - cluster
    default: []
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - cryptography >= 38 on the host, for certificates
seealso:
  - module: kubephase.cluster.phase_plan
"""

EXAMPLES = r"""
- name: Info | a control plane and its cluster
  kubephase.cluster.cluster_info:
  register: found

- name: Info | when do the certificates of a worker end
  kubephase.cluster.cluster_info:
    becomes: worker
    parts: [certificates]
"""

RETURN = r"""
node:
  description: The name of the host's node.
  returned: success
  type: str
  sample: cp1
role:
  description: V(control-plane) or V(worker), by what it was asked as.
  returned: success
  type: str
  sample: control-plane
host:
  description: The machine.
  returned: with the part host
  type: dict
  sample:
    hostname: cp1
    address: 192.0.2.10
    system: Debian GNU/Linux 12 (bookworm)
    kernel: 6.1.0-40-amd64
    architecture: x86_64
    cpus: 4
    memory_mb: 7938
    runtime: containerd 1.7.27
kubelet:
  description: The kubelet; C(kubelet.started) is in seconds since the epoch.
  returned: with the part host
  type: dict
  sample: {version: v1.37.1, active: true, started: 1794830400.5, restarts: 0, healthy: true, found: ""}
components:
  description: The static pods of a control plane; empty on a worker.
  returned: with the part components
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: kube-apiserver
    image:
      description: The image in its manifest.
      type: str
      sample: registry.k8s.io/kube-apiserver:v1.37.1
    version:
      description: The tag of that image.
      type: str
      sample: v1.37.1
    healthy:
      description: Whether it says that it is well; for one that is not asked by the release, whether its container runs.
      type: bool
      sample: true
    found:
      description: What is wrong; empty when it is healthy.
      type: str
      sample: ""
    restarts:
      description: How often its container was started again.
      type: int
      sample: 0
    started:
      description: When its container was made, in seconds since the epoch; 0 when that is not known.
      type: float
      sample: 1794830400.5
certificates:
  description: Every certificate of the host.
  returned: with the part certificates
  type: list
  elements: dict
  contains:
    path:
      description: The file that holds it, or the kubeconfig that embeds it.
      type: str
      sample: /etc/kubernetes/pki/apiserver.crt
    kind:
      description: V(pki), V(kubeconfig) or V(kubelet).
      type: str
      sample: pki
    position:
      description: Which one of the file it is, from 0 on.
      type: int
      sample: 0
    subject:
      description: Whom it is for.
      type: str
      sample: CN=kube-apiserver
    issuer:
      description: Who signed it.
      type: str
      sample: CN=kubernetes
    names:
      description: The names and addresses that it is good for.
      type: list
      elements: str
      sample: [cp1, kubernetes, 192.0.2.10]
    authority:
      description: Whether it may sign others.
      type: bool
      sample: false
    not_before:
      description: When it begins.
      type: str
      sample: "2026-11-16T12:00:00Z"
    not_after:
      description: When it ends.
      type: str
      sample: "2027-11-16T12:00:00Z"
    days_left:
      description: Whole days from now until then; negative when it has expired.
      type: int
      sample: 364
etcd_members:
  description: >-
    The members of etcd, as M(kubephase.cluster.check_etcd) tells of them, with whether each leads, its version and the size of its
    data base in bytes.
  returned: with the part etcd
  type: list
  elements: dict
  sample:
    - name: cp1
      id: 8e9e05c52164694d
      peer_urls: ["https://192.0.2.10:2380"]
      client_urls: ["https://192.0.2.10:2379"]
      voting: true
      healthy: true
      found: ""
      leader: true
      version: 3.7.0
      db_size: 3518464
cluster:
  description: >-
    The cluster, by the configuration that it keeps. C(cluster.wanted_version) is that of the documents; C(cluster.version) is
    empty when the stored one could not be read.
  returned: with the part cluster, on a control plane
  type: dict
  sample:
    name: kubernetes
    version: v1.37.1
    wanted_version: v1.37.1
    endpoint: https://api.example.test:6443
    pod_subnet: 10.244.0.0/16
    service_subnet: 10.96.0.0/12
    dns_domain: cluster.local
nodes:
  description: The nodes as the API has them, with roles, versions, addresses, labels, taints and conditions.
  returned: with the part cluster, on a control plane
  type: list
  elements: dict
  sample:
    - name: cp1
      roles: [control-plane]
      ready: true
      schedulable: true
      created: "2026-11-16T12:00:00Z"
      kubelet_version: v1.37.1
      runtime: containerd://1.7.27
      system: Debian GNU/Linux 12 (bookworm)
      kernel: 6.1.0-40-amd64
      architecture: amd64
      addresses: [{type: InternalIP, address: 192.0.2.10}]
      pod_cidrs: [10.244.0.0/24]
      labels: {kubernetes.io/hostname: cp1}
      taints: [{key: node-role.kubernetes.io/control-plane, value: "", effect: NoSchedule}]
      conditions: [{type: Ready, status: "True", reason: KubeletReady, message: kubelet is posting ready status}]
tokens:
  description: The bootstrap tokens, without their secrets.
  returned: with the part cluster, on a control plane
  type: list
  elements: dict
  sample:
    - id: abcdef
      description: ""
      expires: "2026-11-17T12:00:00Z"
      usages: [authentication, signing]
      groups: ["system:bootstrappers:kubeadm:default-node-token"]
      expired: false
addons:
  description: CoreDNS and kube-proxy, where they are installed.
  returned: with the part cluster, on a control plane
  type: list
  elements: dict
  sample:
    - {name: coredns, kind: Deployment, image: "registry.k8s.io/coredns/coredns:v1.14.6", version: v1.14.6, wanted: 2, ready: 2}
unread:
  description: What could not be read.
  returned: success
  type: list
  elements: dict
  contains:
    part:
      description: What it is a part of.
      type: str
      sample: certificates
    where:
      description: Where it is.
      type: str
      sample: /etc/kubernetes/pki/apiserver.crt
    reason:
      description: Why it could not be read.
      type: str
      sample: its PEM certificate is corrupt
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import Etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.health import HealthChecks
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.machine import Machine
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._info.phase import PARTS, ClusterInfo
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the look and the adapters that it works through; who asks for a report does not want to wait for the dead."""
    files = Files(root)
    world = World(
        files=files,
        api=Api(files, deadline=3.0),
        etcd=Etcd(files),
        cri=Cri(),
        health=HealthChecks(files),
        systemd=Systemd(),
        machine=Machine(root),
        clock=Clock(),
        host=Host(),
    )
    return ClusterInfo(), world


def main() -> None:
    """Look."""
    run(make, ("yaml",), {"parts": {"type": "list", "elements": "str", "choices": list(PARTS), "default": []}})


if __name__ == "__main__":
    main()
