#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wait-control-plane phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wait_control_plane
short_description: Waits until the control plane of this node is healthy
version_added: 0.1.0
description:
  - Asks what kubeadm of the release asks, with the deadlines of the documents' C(timeouts). First the kubelet, then the
    API server and, where the release does, controller manager and scheduler.
  - The API server must prove itself to the cluster's CA and is asked as the user of admin.conf.
  - After a manifest was written, an answer counts once the new container gives it.
  - A control plane that is healthy at the first look is no change. A wait is, because something came up meanwhile.
  - When the time is up, it says which component is not healthy, in what state its container is, and shows the last lines
    of its log.
  - From 1.29 on it then sees to the ClusterRoleBinding kubeadm:cluster-admins, by which admin.conf may do anything.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - crictl on the host, to tell more about a component that does not get healthy
seealso:
  - module: kubephase.cluster.kubeconfig_file
"""

EXAMPLES = r"""
- name: Wait-control-plane | until all components are healthy
  kubephase.cluster.wait_control_plane:
    config_file: kubeadm.yaml
"""

RETURN = r"""
components:
  description: What was asked, and how it is; in check mode, how it was at the first look.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The component.
      type: str
      sample: kube-apiserver
    url:
      description: Where it was asked.
      type: str
      sample: https://192.0.2.10:6443/livez
    healthy:
      description: Whether it is healthy.
      type: bool
      sample: true
    seconds:
      description: How long it took until it answered well.
      type: float
      sample: 0.012
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_super import SuperAdminApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.health import HealthChecks
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.cluster_admins import ClusterAdminsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.phase import WaitControlPlanePhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    world = World(files=files, health=HealthChecks(files, Cri(), Systemd()), api=Api(files), super_api=SuperAdminApi(files), host=Host())
    return (WaitControlPlanePhase(), ClusterAdminsPhase()), world


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
