#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mark-control-plane phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: mark_control_plane
short_description: Marks a node as a control plane by labels and taints
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase mark-control-plane) does, and can be run again.
  - Gives the Node the labels of the release, and the taints of nodeRegistration.taints; without it the release's own, with an
    empty list none.
  - Labels and taints of others stay. A taint that the documents do not name any more stays too, as with kubeadm.
  - A node that has not registered yet is waited for.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.upload_config
"""

EXAMPLES = r"""
- name: Mark-control-plane | label and taint this host's node
  kubephase.cluster.mark_control_plane:
    config_file: kubeadm.yaml

- name: Mark-control-plane | a single node that also runs workloads
  kubephase.cluster.mark_control_plane:
    init_configuration:
      nodeRegistration:
        taints: []
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
      sample: Node cp1
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
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.mark import MarkControlPlanePhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return MarkControlPlanePhase(), World(files=files, api=Api(files), host=Host())


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
