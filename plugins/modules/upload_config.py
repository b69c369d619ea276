#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-config phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upload_config
short_description: Stores the configuration of a cluster in the cluster
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase upload-config) does, in one call, and can be run again.
  - Stores the ClusterConfiguration, with every default and in the API version of the release, in the ConfigMap
    kubeadm-config, where C(kubeadm join) and C(kubeadm upgrade) look for it; and the configuration that all kubelets share
    in the ConfigMap kubelet-config. Roles and bindings let nodes and joining nodes read the two.
  - A kubelet configuration that the documents leave to kubeadm is signed with kubeadm's hash, as kubeadm does; one that the
    user gave is not.
  - Notes the container runtime's socket on the Node, in releases that do so.
  - Objects are written by server-side apply. What others own in them stays. What kubeadm wrote is taken over.
author:
  - The kubephase authors (@kubephase)
options:
  names:
    description:
      - The parts to upload; both when not given.
    type: list
    elements: str
    choices:
      - kubeadm
      - kubelet
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.mark_control_plane
"""

EXAMPLES = r"""
- name: Upload-config | store the configuration in the cluster
  kubephase.cluster.upload_config:
    config_file: kubeadm.yaml

- name: Upload-config | only that of the kubelets
  kubephase.cluster.upload_config:
    names: [kubelet]
    kubelet_configuration:
      maxPods: 200
"""

RETURN = r"""
objects:
  description: The objects looked after.
  returned: success
  type: list
  elements: dict
  contains:
    object:
      description: Its kind, its namespace if it has one, and its name.
      type: str
      sample: ConfigMap kube-system/kubeadm-config
    done:
      description: What was done, or would be done in check mode; V(kept), V(created) or V(changed).
      type: str
      sample: kept
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it does not exist
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.upload import UploadConfigPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return UploadConfigPhase(), World(files=files, api=Api(files), systemd=Systemd(), host=Host())


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",), {"names": {"type": "list", "elements": "str", "choices": ["kubeadm", "kubelet"]}})


if __name__ == "__main__":
    main()
