#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-wait-bootstrap phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_wait_bootstrap
short_description: Waits until the cluster has let the kubelet of a joining host in
version_added: 0.1.0
description:
  - Does what C(kubeadm join phase kubelet-wait-bootstrap) does, and can be run again. For a worker M(kubephase.cluster.kubelet_start)
    has done it already; for a control plane it comes after its etcd member.
  - Waits until the kubelet is healthy and C(/etc/kubernetes/kubelet.conf) leads to a certificate that the cluster signed, with
    the deadlines C(kubeletHealthCheck) and C(tlsBootstrap) of the documents. Then C(/etc/kubernetes/bootstrap-kubelet.conf)
    is removed and, where the release does so, the container runtime noted on the Node, as the kubelet's own user.
  - Where the kubelet of a control plane talks to the API server beside it, which starts later than the kubelet, it is started
    anew once that is ready. By itself it would ask for its certificate, and register, ever more rarely.
  - A kubelet that gets no certificate fails the task with what became of its request and with its last log lines.
  - On a host that becomes the first control plane there is nothing to do.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - systemd on the host
seealso:
  - module: kubephase.cluster.kubelet_start
"""

EXAMPLES = r"""
- name: Kubelet-wait-bootstrap | until the cluster has let the kubelet in
  kubephase.cluster.kubelet_wait_bootstrap:
    becomes: control_plane
"""

RETURN = r"""
bootstrap_wait:
  description: Why it was waited; empty when there was nothing to wait for.
  returned: with O(becomes=worker) or O(becomes=control_plane)
  type: str
  sample: the kubelet's TLS bootstrap is not finished
bootstrap_seconds:
  description: How long the wait took.
  returned: when there was one
  type: float
  sample: 0.431
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi, TlsBootstrap
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.bootstrap import KubeletWaitBootstrapPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    world = World(files=files, host=Host(), node_api=NodeApi(files), bootstrap=TlsBootstrap(files, Systemd()))
    return KubeletWaitBootstrapPhase(), world


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
