#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-finalize phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_finalize
short_description: Lets the kubelet of a control plane rotate its client certificate
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase kubelet-finalize) does, and can be run again.
  - Once the kubelet has put its client certificate into C(kubelet-client-current.pem), C(/etc/kubernetes/kubelet.conf) is
    made to point at that file. The certificate that was embedded until then would expire without a successor.
  - The directory of the certificate is C(/var/lib/kubelet/pki), or what kubeletExtraArgs give as C(cert-dir).
  - The kubelet is restarted once, if it started before C(kubelet.conf) was last written. Otherwise it is left alone.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - systemd on the host, and a kubelet with its unit
seealso:
  - module: kubephase.cluster.kubeconfig_file
  - module: kubephase.cluster.kubelet_start
"""

EXAMPLES = r"""
- name: Kubelet-finalize | point kubelet.conf at the rotating client certificate
  kubephase.cluster.kubelet_finalize:
    config_file: kubeadm.yaml
"""

RETURN = r"""
rotation:
  description: Whether the kubelet has a client certificate that it rotates.
  returned: success
  type: bool
  sample: true
client_certificate:
  description: The file that kubelet.conf points at; empty without rotation.
  returned: success
  type: str
  sample: /var/lib/kubelet/pki/kubelet-client-current.pem
kubelet_restart:
  description: Why the kubelet was restarted; empty when it was left alone.
  returned: success
  type: str
  sample: it still runs with an older kubelet.conf
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.finalize import KubeletFinalizePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    return KubeletFinalizePhase(), World(files=Files(root), systemd=Systemd(), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
