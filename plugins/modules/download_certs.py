#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The download-certs phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: download_certs
short_description: Brings the certificates and keys that control planes share to one that joins
version_added: 0.1.0
description:
  - Does what C(kubeadm join phase control-plane-prepare download-certs) does. The authorities and the service account keys
    are read from a Secret of the cluster, decrypted on the host and written, keys for root alone.
  - The Secret is asked for with the credentials that M(kubephase.cluster.cluster_discovery) left on the host. A host that has
    joined and has its files asks nobody.
  - Unlike kubeadm it never replaces a file. One that is there and differs from that of the cluster is an error that names it.
  - Without a key nothing is downloaded. That is fine when the files were brought to the host by other means, and an error that
    names those that are missing otherwise. Keys of authorities may be kept away from the host.
author:
  - The kubephase authors (@kubephase)
options:
  certificate_key:
    description:
      - The key that the Secret was encrypted with, as 64 hexadecimal digits. The controller-side step fills it in from the
        documents.
    type: str
  certificate_key_given:
    description:
      - Say what would be downloaded although O(certificate_key) is not known yet, as in check mode, where none is made.
      - Outside check mode a file that is missing is then an error still.
    type: bool
    default: false
  secret_name:
    description:
      - The Secret in kube-system to read, as M(kubephase.cluster.join_secrets) returned it, or kubeadm's.
    type: str
    default: kubeadm-certs
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.join_secrets
  - module: kubephase.cluster.upload_certs
"""

EXAMPLES = r"""
- name: Download-certs | with the key of the documents
  kubephase.cluster.download_certs:
    becomes: control_plane
    config_file: kubeadm.yaml

- name: Download-certs | with the secrets of this run
  kubephase.cluster.download_certs:
    becomes: control_plane
    certificate_key: "{{ join_secrets.certificate_key }}"
    secret_name: "{{ join_secrets.certificates_secret }}"
"""

RETURN = r"""
files:
  description: The files that control planes share.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Where it lies.
      type: str
      sample: /etc/kubernetes/pki/ca.crt
    done:
      description: What was done, or would be done in check mode; kept, downloaded, or absent for a key that is kept elsewhere.
      type: str
      sample: downloaded
needed:
  description: Whether files were missing that a control plane cannot do without.
  returned: success
  type: bool
  sample: true
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import BootstrapApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import Later
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.download_certs import DownloadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return DownloadCertsPhase(), World(files=files, api=Api(files), bootstrap_api=BootstrapApi(files), later=Later(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "certificate_key": {"type": "str", "no_log": True},
        "certificate_key_given": {"type": "bool", "default": False, "no_log": False},
        "secret_name": {"type": "str", "default": "kubeadm-certs", "no_log": False},
    }
    run(make, ("cryptography", "yaml"), spec)


if __name__ == "__main__":
    main()
