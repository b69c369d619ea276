#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certs phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pki_cert
short_description: Makes and keeps the certificates of a control plane
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase certs) does, in one call for the whole certificate table or for chosen parts of it,
    and can be run again.
  - What is valid is kept. A leaf certificate is issued anew when it expired, does not chain to its authority, does not
    match its key or lacks a wanted name; the diff says which of these.
  - A certificate authority or the service account key is never overwritten. An authority whose key is not on the host
    is external; then the certificates that it signs must be there.
author:
  - The kubephase authors (@kubephase)
options:
  names:
    description:
      - The certificates to look after; all of them when not given.
      - With external etcd, those that hang on C(etcd/ca) are left out.
    type: list
    elements: str
    choices:
      - ca
      - apiserver
      - apiserver-kubelet-client
      - front-proxy-ca
      - front-proxy-client
      - etcd/ca
      - etcd/server
      - etcd/peer
      - etcd/healthcheck-client
      - apiserver-etcd-client
      - sa
  renew_before:
    description:
      - Also issue a leaf certificate anew when it expires within this time, such as V(720h).
      - Without it only expired ones are.
    type: str
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
seealso:
  - module: kubephase.cluster.kubeconfig_file
"""

EXAMPLES = r"""
- name: Certs | make what is missing, keep what is valid
  kubephase.cluster.pki_cert:
    cluster_configuration:
      kubernetesVersion: v1.37.1
      controlPlaneEndpoint: api.example.test:6443
      apiServer:
        certSANs: [api.example.test, 192.0.2.10]

- name: Certs | renew what expires within thirty days
  kubephase.cluster.pki_cert:
    config_file: kubeadm.yaml
    renew_before: 720h

- name: Certs | only the API server's certificate
  kubephase.cluster.pki_cert:
    names: [apiserver]
"""

RETURN = r"""
certificates:
  description: The certificates looked after, in the order of kubeadm's table; sa, the service account key pair, comes last.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name in the table.
      type: str
      sample: apiserver
    path:
      description: Path of the certificate, or of the public key of sa.
      type: str
      sample: /etc/kubernetes/pki/apiserver.crt
    key_path:
      description: Path of the private key.
      type: str
      sample: /etc/kubernetes/pki/apiserver.key
    subject:
      description: Organisations and common name.
      type: str
      sample: CN=kube-apiserver
    issuer:
      description: Subject of the authority.
      type: str
      sample: CN=kubernetes
    dns_names:
      description: DNS names that it is valid for.
      type: list
      elements: str
      sample: [cp1, kubernetes]
    ip_addresses:
      description: Addresses that it is valid for.
      type: list
      elements: str
      sample: [10.96.0.1]
    expires:
      description: When it expires.
      type: str
      sample: "2027-11-16T12:00:00Z"
    external:
      description: Whether the key of its authority (or, for an authority, its own) is kept elsewhere.
      type: bool
      sample: false
    done:
      description: What was done, or would be done in check mode.
      type: str
      sample: kept
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it lacks the name api.example.test
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import Issuer
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run

NAMES = [
    "ca",
    "apiserver",
    "apiserver-kubelet-client",
    "front-proxy-ca",
    "front-proxy-client",
    "etcd/ca",
    "etcd/server",
    "etcd/peer",
    "etcd/healthcheck-client",
    "apiserver-etcd-client",
    "sa",
]


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return CertsPhase(), World(files=files, issuer=Issuer(files), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {"names": {"type": "list", "elements": "str", "choices": NAMES}, "renew_before": {"type": "str"}}
    run(make, ("cryptography",), spec, durations=("renew_before",))


if __name__ == "__main__":
    main()
