#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-certs phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upload_certs
short_description: Hands certificates and keys to joining control planes, encrypted and for a short time
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase upload-certs --upload-certs) does. The authorities and the service account keys of this
    control plane are stored in the Secret kubeadm-certs in kube-system, encrypted with a key that the cluster does not know.
  - A bootstrap token that is good for nothing else owns the Secret. When it expires, both are removed by the cluster.
  - What is stored is compared with the files by decrypting it. A Secret that O(certificate_key) does not open is left alone
    with a warning, unless O(overwrite=true); so is one that is there already when no key is given.
  - Refused with an external CA or an external front-proxy CA, whose keys are not on the host, as kubeadm does.
author:
  - The kubephase authors (@kubephase)
options:
  state:
    description:
      - V(present) stores the Secret and lets joining nodes read it.
      - V(absent) removes the Secret and the token that owns it; with O(certificate_key) only if that key opens it.
    type: str
    choices:
      - present
      - absent
    default: present
  certificate_key:
    description:
      - The AES-256 key, as 64 hexadecimal digits. The controller-side step fills it in from the documents.
      - When not given and there is no Secret yet, a key is made and returned as RV(certificate_key). Set C(no_log) on such a
        task.
    type: str
  overwrite:
    description:
      - Replace, or with O(state=absent) remove, a Secret that cannot be decrypted.
    type: bool
    default: false
  ttl:
    description:
      - How long the Secret lives.
    type: str
    default: 2h
attributes:
  idempotent:
    support: partial
    details:
      - O(overwrite=true) without O(certificate_key) makes another key in every run.
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.bootstrap_token
"""

EXAMPLES = r"""
- name: Upload-certs | for half an hour, with a fresh key
  kubephase.cluster.upload_certs:
    ttl: 30m
  no_log: true
  register: upload

- name: Upload-certs | with a key of one's own
  kubephase.cluster.upload_certs:
    certificate_key: "{{ vaulted_certificate_key }}"

- name: Upload-certs | remove it when all have joined
  kubephase.cluster.upload_certs:
    state: absent
"""

RETURN = r"""
secret:
  description: The Secret, without anything that it holds.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: kubeadm-certs
    namespace:
      description: Its namespace.
      type: str
      sample: kube-system
    done:
      description: What was done, or would be done in check mode; uploaded, replaced, kept, removed or absent.
      type: str
      sample: uploaded
    readable:
      description: Whether the given or returned key opens it.
      type: bool
      sample: true
    expires:
      description: When the cluster removes it; empty when that is not known.
      type: str
      sample: "2027-11-16T12:00:00Z"
certificate_key:
  description: The key that was made.
  returned: when a key was made, not in check mode
  type: str
  sample: the 64 hexadecimal digits of a key
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import CertsSecret
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import UploadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    api = Api(files)
    return UploadCertsPhase(), World(files=files, api=api, certs=CertsSecret(api), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "certificate_key": {"type": "str", "no_log": True},
        "overwrite": {"type": "bool", "default": False},
        "ttl": {"type": "str", "default": "2h"},
    }
    run(make, ("cryptography", "yaml"), spec, durations=("ttl",))


if __name__ == "__main__":
    main()
