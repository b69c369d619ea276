#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addon phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: addon
short_description: Installs CoreDNS, kube-proxy and a manifest of your own
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase addon) does, and can be run again. Run it on one control plane.
  - Objects are applied on the server's side. Only fields that the add-on has are forced; what others added stays, and
    only what differs is written.
  - How many replicas of CoreDNS run is kept. A Corefile that somebody customised is kept too; one that kubeadm itself
    wrote is replaced by the release's own. Where a customised Corefile does not fit the release's CoreDNS, both it and
    the Deployment stay as they are, and a warning says why.
  - An add-on that the documents disable (C(dns.disabled), C(proxy.disabled), C(skipPhases)) is left alone.
  - With O(manifest) or O(manifest_content) it also applies a manifest of yours, such as a network plugin.
author:
  - The kubephase authors (@kubephase)
options:
  addons:
    description:
      - The add-ons to look after; both when not given, none when the list is empty.
    type: list
    elements: str
    choices:
      - coredns
      - kube-proxy
  manifest:
    description:
      - Path on the host of a manifest to apply, of one or more YAML documents.
      - Objects are applied in their order, namespaces and custom resource definitions first. What is taken out of the
        manifest later stays in the cluster.
    type: path
  manifest_content:
    description:
      - The same as text, for example from a file on the controller.
    type: str
  proxy_env:
    description:
      - Variables such as V(HTTPS_PROXY) that kube-proxy gets.
      - A password in them is kept out of results and diffs; whoever may read DaemonSets of kube-system sees it in the cluster.
    type: dict
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.kubeconfig_file
"""

EXAMPLES = r"""
- name: Addon | install CoreDNS and kube-proxy
  kubephase.cluster.addon:
    config_file: kubeadm.yaml

- name: Addon | keep to a network plugin that brings its own proxy
  kubephase.cluster.addon:
    addons: [coredns]
    manifest_content: "{{ lookup('ansible.builtin.file', 'network.yaml') }}"
"""

RETURN = r"""
addons:
  description: The add-ons looked after; your own manifest is the last of them.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name; V(manifest) for your own.
      type: str
      sample: coredns
    image:
      description: The image that the documents ask for; empty where it is left alone.
      type: str
      sample: registry.k8s.io/coredns/coredns:v1.14.6
    done:
      description: What was done, or would be done in check mode; V(applied) or V(kept).
      type: str
      sample: kept
    reason:
      description: Why it was done, or why a part of it is left alone.
      type: str
      sample: the Corefile is customised
    objects:
      description: The objects that were compared.
      type: list
      elements: str
      sample: [Deployment kube-system/coredns]
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.phase import AddonPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return AddonPhase(), World(files=files, api=Api(files), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "addons": {"type": "list", "elements": "str", "choices": ["coredns", "kube-proxy"]},
        "manifest": {"type": "path"},
        "manifest_content": {"type": "str", "no_log": True},
        "proxy_env": {"type": "dict", "no_log": True},
    }
    run(make, ("yaml",), spec, mutually_exclusive=[("manifest", "manifest_content")])


if __name__ == "__main__":
    main()
