#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-start phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_start
short_description: Writes the kubelet's files and starts the kubelet with them
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase kubelet-start) and C(kubeadm join phase kubelet-start) do, and can be run again.
  - Looks after C(kubeadm-flags.env), C(config.yaml) and, where the release has it, C(instance-config.yaml) in
    C(/var/lib/kubelet). A file that already says what the documents ask for is kept, whatever its layout.
  - Patches of C(patches.directory) for the target C(kubeletconfiguration) are applied, from Kubernetes 1.25 on.
  - The kubelet is started when it does not run, and restarted when it started before one of its files was written, also
    by an earlier run that was interrupted. Otherwise it is left alone.
  - A kubelet that does not stay up fails the task with its last log lines. One that answers on its healthz port is known
    to be up, so that a restart takes half a second.
  - On a host that becomes a control plane the directory of static pods is made before the kubelet starts; one that starts
    without it looks for it again only after 20 seconds.
  - With O(becomes=worker) or O(becomes=control_plane) the kubelet gets into the cluster with the credentials of
    C(/etc/kubernetes/bootstrap-kubelet.conf), which M(kubephase.cluster.cluster_discovery) writes. The CA in it is written
    to C(caCertPath) if nothing is there. On a control plane the file is pointed at the API server of the same host where
    the release does so. A name that another node has which is Ready is refused.
  - With O(becomes=worker) it then does what M(kubephase.cluster.kubelet_wait_bootstrap) does.
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
  - module: kubephase.cluster.kubelet_finalize
  - module: kubephase.cluster.kubelet_wait_bootstrap
"""

EXAMPLES = r"""
- name: Kubelet-start | write the kubelet's files and start it
  kubephase.cluster.kubelet_start:
    config_file: kubeadm.yaml

- name: Kubelet-start | with settings given as variables
  kubephase.cluster.kubelet_start:
    kubelet_configuration:
      maxPods: 200
      serverTLSBootstrap: true

- name: Kubelet-start | on a worker, until the cluster has let it in
  kubephase.cluster.kubelet_start:
    becomes: worker
"""

RETURN = r"""
kubelet_files:
  description: The files looked after, in the order in which they are written.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Where it lies.
      type: str
      sample: /var/lib/kubelet/config.yaml
    done:
      description: What was done, or would be done in check mode; V(written), V(mode) or V(kept).
      type: str
      sample: kept
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it does not exist
kubelet_restart:
  description: Why the kubelet was started or restarted; empty when it was left alone.
  returned: success
  type: str
  sample: it is not running
bootstrap_wait:
  description: Why the TLS bootstrap was waited for; empty when it was over already.
  returned: with O(becomes=worker)
  type: str
  sample: the kubelet's TLS bootstrap is not finished
bootstrap_seconds:
  description: How long the wait took.
  returned: with O(becomes=worker), when there was one
  type: float
  sample: 0.431
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import BootstrapApi, NodeApi, TlsBootstrap
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.bootstrap import KubeletWaitBootstrapPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files, systemd = Files(root), Systemd()
    world = World(
        files=files,
        systemd=systemd,
        clock=Clock(),
        host=Host(),
        node_api=NodeApi(files),
        bootstrap_api=BootstrapApi(files),
        bootstrap=TlsBootstrap(files, systemd),
    )
    # A control plane has to wait until its API server is there, which other phases see to.
    return (KubeletStartPhase(), KubeletWaitBootstrapPhase((WORKER,))), world


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
