#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secrets of a run of joins as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: join_secrets
short_description: Makes the secrets that hosts join with when they are needed, and removes them afterwards
version_added: 0.1.0
description:
  - Runs on a control plane, for hosts that are about to join. Each run of joins has a bootstrap token of its own and, with
    O(certificates=true), a Secret with the files that control planes share, encrypted with a key that the cluster does not
    know. Nothing lives longer than 30 minutes, even if the run is killed.
  - The Secret has a name of the run's own, RV(certificates_secret). So runs that are under way at the same time, and a kubeadm
    that uses the Secret kubeadm-certs, are not in each other's way.
  - The token owns all else. When it expires, or is removed, so does the cluster remove the rest.
  - O(state=present) also sweeps what killed runs left behind where the cluster did not; tokens that carry the description
    C(kubephase join, removed when the run ends) and expired more than 5 minutes ago. A token that may still be in use is never
    touched, nor is any other.
author:
  - The kubephase authors (@kubephase)
options:
  state:
    description:
      - V(present) makes secrets for a new run and returns them. Set C(no_log) on such a task.
      - V(absent) removes those of one O(run), and nobody else's.
    type: str
    choices:
      - present
      - absent
    default: present
  certificates:
    description:
      - Hand the certificates and keys on, too; for control planes that join.
      - Refused with an external CA or an external front-proxy CA, whose keys are not on the host.
    type: bool
    default: false
  ttl:
    description:
      - How long the secrets live, at most V(30m).
    type: str
    default: 30m
  run:
    description:
      - With O(state=absent), the run whose secrets are removed.
    type: str
attributes:
  idempotent:
    support: partial
    details:
      - O(state=present) makes new secrets in every run.
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.download_certs
  - module: kubephase.cluster.bootstrap_token
"""

EXAMPLES = r"""
- name: Join | make a token, and hand the certificates on
  kubephase.cluster.join_secrets:
    certificates: true
  delegate_to: cp1
  run_once: true
  no_log: true
  register: join_secrets

- name: Join | remove them when all have joined
  kubephase.cluster.join_secrets:
    state: absent
    run: "{{ join_secrets.run }}"
  delegate_to: cp1
  run_once: true
"""

RETURN = r"""
run:
  description: The name of the run, to remove its secrets by.
  returned: success, but not in check mode with O(state=present)
  type: str
  sample: abcdef
token:
  description: The bootstrap token, whole.
  returned: with O(state=present), not in check mode
  type: str
  sample: abcdef.0123456789abcdef
certificate_key:
  description: The key that opens the Secret with the certificates.
  returned: with O(certificates=true), not in check mode
  type: str
  sample: the 64 hexadecimal digits of a key
certificates_secret:
  description: The name of the Secret with the certificates, in kube-system.
  returned: with O(certificates=true), not in check mode
  type: str
  sample: kubephase-certs-abcdef
api_server_endpoint:
  description: Where the cluster is reached, by admin.conf.
  returned: with O(state=present)
  type: str
  sample: api.example.com:6443
ca_cert:
  description: The cluster's certificate authority in PEM, by admin.conf; empty on a host that has no cluster yet.
  returned: with O(state=present)
  type: str
  sample: "-----BEGIN CERTIFICATE-----..."
ca_cert_hashes:
  description: Pins of the cluster's authorities; none on a host that has no cluster yet.
  returned: with O(state=present)
  type: list
  elements: str
  sample: ["sha256:7c2e69131a36ae2a042a339b33381c6d0d43887e2de83720eff5359e26aec866"]
expires:
  description: When the secrets end, whatever happens.
  returned: with O(state=present)
  type: str
  sample: "2027-11-16T12:00:00Z"
swept:
  description: Earlier runs whose secrets were removed, or would be in check mode.
  returned: with O(state=present)
  type: list
  elements: str
  sample: []
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.join_secrets import JoinSecrets
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.join_secrets import JoinSecretsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    api = Api(files)
    return JoinSecretsPhase(), World(files=files, api=api, secrets=JoinSecrets(api), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "certificates": {"type": "bool", "default": False},
        "ttl": {"type": "str", "default": "30m"},
        "run": {"type": "str"},
    }
    run(make, ("cryptography", "yaml"), spec, durations=("ttl",), required_if=[("state", "absent", ("run",))])


if __name__ == "__main__":
    main()
