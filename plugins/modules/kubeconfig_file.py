#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubeconfig phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeconfig_file
short_description: Writes and keeps the kubeconfig files of a control plane
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase kubeconfig) does, in one call for all files or for chosen ones, and can be run again.
  - A file that exists is kept when it trusts the cluster's CA. One that trusts another CA is refused, as kubeadm does;
    one that names another server is kept with a warning.
  - An embedded client certificate that has expired is renewed; the rest of the file stays as it is.
  - With O(client_name) it writes the file of an additional user instead, as C(kubeadm kubeconfig user) would.
author:
  - The kubephase authors (@kubephase)
options:
  names:
    description:
      - The files to look after; all that the release has when not given.
      - A control plane that joins takes V(admin), V(controller-manager) and V(scheduler).
    type: list
    elements: str
    choices:
      - admin
      - super-admin
      - kubelet
      - controller-manager
      - scheduler
  renew_before:
    description:
      - Also renew a client certificate that expires within this time, such as V(720h).
    type: str
  client_name:
    description:
      - Common name of an additional user, whose file is written to O(path).
    type: str
  organizations:
    description:
      - Groups of the additional user.
    type: list
    elements: str
  validity_period:
    description:
      - How long the certificate of the additional user is valid; the documents' certificateValidityPeriod when not given.
    type: str
  path:
    description:
      - Where the file of the additional user lies on the host.
    type: path
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.pki_cert
"""

EXAMPLES = r"""
- name: Kubeconfig | write what is missing, keep what fits
  kubephase.cluster.kubeconfig_file:
    config_file: kubeadm.yaml

- name: Kubeconfig | renew what expires within thirty days
  kubephase.cluster.kubeconfig_file:
    names: [admin, controller-manager, scheduler]
    renew_before: 720h

- name: Kubeconfig | one for a developer, for a week
  kubephase.cluster.kubeconfig_file:
    client_name: jane
    organizations: [developers]
    validity_period: 168h
    path: /root/jane.conf
"""

RETURN = r"""
kubeconfigs:
  description: The files looked after, in kubeadm's order.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name, or that of the additional user.
      type: str
      sample: admin
    path:
      description: Where it lies.
      type: str
      sample: /etc/kubernetes/admin.conf
    user:
      description: Whom it speaks for.
      type: str
      sample: kubernetes-admin
    server:
      description: The API server that it names.
      type: str
      sample: https://192.0.2.10:6443
    expires:
      description: When the embedded client certificate expires; empty when none is embedded.
      type: str
      sample: "2027-11-16T12:00:00Z"
    done:
      description: What was done, or would be done in check mode.
      type: str
      sample: kept
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it does not exist
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import Issuer
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return KubeconfigPhase(), World(files=files, issuer=Issuer(files), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "names": {
            "type": "list",
            "elements": "str",
            "choices": ["admin", "super-admin", "kubelet", "controller-manager", "scheduler"],
        },
        "renew_before": {"type": "str"},
        "client_name": {"type": "str"},
        "organizations": {"type": "list", "elements": "str"},
        "validity_period": {"type": "str"},
        "path": {"type": "path"},
    }
    run(
        make,
        ("cryptography", "yaml"),
        spec,
        durations=("renew_before", "validity_period"),
        required_together=[("client_name", "path")],
        required_by={"organizations": "client_name", "validity_period": "client_name"},
        mutually_exclusive=[("names", "client_name")],
    )


if __name__ == "__main__":
    main()
