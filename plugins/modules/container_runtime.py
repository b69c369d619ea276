#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration of the container runtime as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: container_runtime
short_description: Configures containerd and crictl for the kubelet
version_added: 0.1.0
description:
  - Writes C(/etc/containerd/config.toml) in the version that the installed containerd reads, with the cgroup driver of
    KubeletConfiguration and the pause image of the release from the documents' repository.
  - Mirrors of registries become C(hosts.toml) files, which containerd reads at each pull; proxy variables become a part of its
    unit; C(/etc/crictl.yaml) gets the socket of the documents.
  - A file that the module wrote, or that is as the distribution brought it, is written anew when it differs. One that somebody
    wrote or edited is kept. If it does not say what the kubelet needs, a warning names the settings, and RV(differences) shows
    what would be written; O(replace=true) replaces it.
  - containerd is restarted when it does not run, or started before one of the module's files was written, also by an earlier run
    that was interrupted. Otherwise it is left alone.
  - Where the documents name the socket of another runtime, only C(/etc/crictl.yaml) is looked after.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.prepare_runtime
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - systemd on the host, and containerd with its unit
seealso:
  - module: kubephase.cluster.node_packages
"""

EXAMPLES = r"""
- name: Prepare | configure the container runtime
  kubephase.cluster.container_runtime:
    config_file: kubeadm.yaml

- name: Prepare | with a mirror and a private registry
  kubephase.cluster.container_runtime:
    registry_mirrors:
      docker.io: [https://mirror.example.com]
    registry_credentials:
      registry.example.com:
        username: puller
        password: "{{ registry_password }}"
    settings:
      plugins:
        io.containerd.grpc.v1.cri:
          restrict_oom_score_adj: true
"""

RETURN = r"""
runtime:
  description: V(containerd), or V(other) where the documents name the socket of another runtime.
  returned: success
  type: str
  sample: containerd
runtime_version:
  description: The version of containerd; empty while it is not installed.
  returned: success
  type: str
  sample: 1.7.24
files:
  description: The files looked after.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Where it lies.
      type: str
      sample: /etc/containerd/config.toml
    done:
      description: What was done, or would be done in check mode; V(written), V(removed), V(mode) or V(kept).
      type: str
      sample: kept
    reason:
      description: Why.
      type: str
      sample: it does not exist
differences:
  description: How a C(config.toml) that somebody wrote differs from what is needed, as a unified diff without secrets.
  returned: success
  type: str
  sample: ""
restart:
  description: Why containerd was started or restarted; empty when it was left alone.
  returned: success
  type: str
  sample: its configuration changes
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.account import Account
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.boot import Boot
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.containerd import Containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.container_runtime import ContainerRuntimePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.options import RUNTIME_OPTIONS
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    world = World(files=Files(root), containerd=Containerd(), systemd=Systemd(), boot=Boot(), account=Account(), host=Host())
    return ContainerRuntimePhase(), world


def main() -> None:
    """Run the phase."""
    run(make, (), RUNTIME_OPTIONS)


if __name__ == "__main__":
    main()
