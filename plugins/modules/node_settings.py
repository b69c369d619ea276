#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints of the inventory as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_settings
short_description: Keeps the labels and taints of a node as the inventory says
version_added: 0.1.0
description:
  - Gives a Node the labels and taints of the inventory, and takes those away that an earlier run gave it and that the inventory
    does not name any more. Labels and taints of others stay.
  - Labels are applied on the server's side with the field manager C(kubephase-node-settings), so that the API server knows whose
    each one is. A label of the inventory that somebody has changed is set back.
  - Taints are one list that nobody can own a part of; which are the inventory's is noted in the annotation
    C(kubephase.cluster/node-taints). A taint that was there before the inventory named it stays when the inventory lets go of it.
  - A node may not change its own labels and taints, so that this runs on a control plane.
  - A node that has not registered yet is waited for.
author:
  - The kubephase authors (@kubephase)
options:
  node:
    description:
      - The name of the Node. When not given, that of the host that it runs on.
    type: str
  node_labels:
    description:
      - The labels, by name. A number or a truth value is written as YAML shows it.
    type: dict
    default: {}
  node_taints:
    description:
      - The taints, each with its C(key), its C(effect) and, if it needs one, its C(value).
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.mark_control_plane
"""

EXAMPLES = r"""
- name: Node-settings | this control plane
  kubephase.cluster.node_settings:
    node_labels:
      topology.kubernetes.io/zone: north

- name: Node-settings | a worker, through the first control plane
  kubephase.cluster.node_settings:
    node: worker1
    node_labels: "{{ kubephase_node_labels | default({}) }}"
    node_taints:
      - key: dedicated
        value: gpu
        effect: NoSchedule
  delegate_to: "{{ groups['control_plane'][0] }}"
"""

RETURN = r"""
objects:
  description: The objects looked after.
  returned: success
  type: list
  elements: dict
  contains:
    object:
      description: Its kind and its name.
      type: str
      sample: Node worker1
    done:
      description: What was done, or would be done in check mode; V(kept), V(created) or V(changed).
      type: str
      sample: changed
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it lacks the label topology.kubernetes.io/zone
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.node_settings import NodeSettingsApi
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.phase import NodeSettingsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return NodeSettingsPhase(), World(files=files, api=NodeSettingsApi(files), node_api=NodeApi(files), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "node": {"type": "str"},
        "node_labels": {"type": "dict", "default": {}},
        "node_taints": {"type": "list", "elements": "dict", "default": []},
    }
    run(make, ("yaml",), spec)


if __name__ == "__main__":
    main()
