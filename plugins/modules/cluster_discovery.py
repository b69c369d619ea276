#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_discovery
short_description: Finds the cluster that a host joins, and makes sure that it is the right one
version_added: 0.1.0
description:
  - Does what C(kubeadm join) does first. What it found and verified is written to C(/etc/kubernetes/bootstrap-kubelet.conf),
    by which the host talks to the cluster until its kubelet has a certificate of its own.
  - By token it asks any API server for the ConfigMap cluster-info, waits for the signature of the token in it, checks that
    signature and compares the certificate authority with the pins. Then it asks again, as somebody who trusts that
    authority only, and the answer must be the same. The server of the result is the one that cluster-info names.
  - By O(ca_cert) it asks as somebody who trusts that authority only, from the beginning. TLS then proves what otherwise the
    signature does, which comes some seconds after a new token.
  - By file it believes a kubeconfig on the host, or at an https address that the host's trust store vouches for, and sees
    that its server answers. Redirects are not followed, and one from an address may not point at files of the host.
  - With C(unsafeSkipCAVerification) in the documents and no pin, whoever has signed with the token is believed.
  - Whoever answers wrongly is refused at once, with the reason. Who does not answer yet is asked several times a second,
    until C(timeouts.discovery) is over. Proxies of the environment are not used.
  - A host whose kubelet.conf leads to a cluster has joined. Nobody is asked then, and nothing is written.
  - Needs no library on the host but PyYAML.
author:
  - The kubephase authors (@kubephase)
options:
  token:
    description:
      - The bootstrap token to find the cluster with, and to log in with unless O(tls_bootstrap_token) is given.
      - The controller-side step fills it in from the documents' C(discovery.bootstrapToken). One that the task gives wins
        over both tokens of the documents.
      - With a discovery file in the documents, and no O(api_server_endpoint), it is only to log in with.
      - A host that has not joined and has neither a token nor a discovery file is a change in check mode, and refused
        otherwise.
    type: str
  tls_bootstrap_token:
    description:
      - The token for the kubelet to log in with. The controller-side step fills it in from the documents'
        C(discovery.tlsBootstrapToken).
    type: str
  api_server_endpoint:
    description:
      - The API server to ask, as host:port or as its https URL. It wins over C(discovery.bootstrapToken.apiServerEndpoint).
      - Without either it is the documents' C(controlPlaneEndpoint).
    type: str
  ca_cert_hashes:
    description:
      - Pins of the cluster's certificate authority, each V(sha256:) and the 64 hexadecimal digits of the SHA-256 of its
        public key information. One of the authorities in cluster-info must have one of them.
      - They win over C(discovery.bootstrapToken.caCertHashes).
    type: list
    elements: str
  ca_cert:
    description:
      - The certificate authority of the cluster in PEM, where it is known for certain, as RV(kubephase.cluster.join_secrets#module:ca_cert)
        is. No signature of the token is asked for then, and pins are not needed. One of the authorities in cluster-info must be among it.
    type: str
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.bootstrap_token
"""

EXAMPLES = r"""
- name: Discovery | as the JoinConfiguration says
  kubephase.cluster.cluster_discovery:
    config_file: kubeadm.yaml
    becomes: worker

- name: Discovery | with a token of this run
  kubephase.cluster.cluster_discovery:
    becomes: worker
    token: "{{ join.minted_token }}"
    api_server_endpoint: api.example.test:6443
    ca_cert_hashes:
      - sha256:0c0b8b9a1f5d3e7a6c4b2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a
"""

RETURN = r"""
joined:
  description: Whether the host has joined already, so that nothing was asked and nothing written.
  returned: success
  type: bool
  sample: false
method:
  description: How the cluster was found; token, authority, file, https, or nothing when there was no need or no way yet.
  returned: success
  type: str
  sample: token
endpoint:
  description: The API server that was asked, or the discovery file; empty when nobody was asked.
  returned: success
  type: str
  sample: https://192.0.2.10:6443
server:
  description: The server of the cluster, as the host will know it; empty when it is not known yet.
  returned: success
  type: str
  sample: https://api.example.test:6443
ca_cert_hashes:
  description: The pins of the cluster's certificate authorities.
  returned: success
  type: list
  elements: str
  sample: ["sha256:0c0b8b9a1f5d3e7a6c4b2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a"]
kubeconfig:
  description: The kubeconfig for the time until the host has joined.
  returned: success
  type: dict
  contains:
    path:
      description: Where it lies.
      type: str
      sample: /etc/kubernetes/bootstrap-kubelet.conf
    done:
      description: What was done, or would be done in check mode; written, kept, mode, or absent on a host that has joined.
      type: str
      sample: written
    reason:
      description: Why; empty when nothing was done.
      type: str
      sample: it does not exist
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.discovery_client import DiscoveryClient
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.phase import DiscoveryPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    return DiscoveryPhase(), World(files=Files(root), discovery=DiscoveryClient(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "token": {"type": "str", "no_log": True},
        "tls_bootstrap_token": {"type": "str", "no_log": True},
        "api_server_endpoint": {"type": "str"},
        "ca_cert_hashes": {"type": "list", "elements": "str"},
        "ca_cert": {"type": "str"},
    }
    run(make, ("yaml",), spec)


if __name__ == "__main__":
    main()
