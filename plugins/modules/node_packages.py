#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The packages of a node as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_packages
short_description: Installs kubelet, tools and libraries, from a repository or an offline bundle
version_added: 0.1.0
description:
  - Sees that a host has the kubelet of the documents' version with its systemd unit, kubectl, crictl, the CNI plugins, containerd
    where the documents use it, the programs that preflight would fail without, and the Python libraries of the other modules.
  - From a repository the kubelet and kubectl get exactly the documents' version, and are held. Others who hold the lock of the
    packages are waited for. On relatives of Fedora dnf is used, which has not been tried as much as apt.
  - From an offline bundle only files are brought to the host whose checksums it does not have, and all are verified before the
    first is used.
  - On a host that is no node yet, a kubelet of another version is replaced. That of a node is never touched; with an explicit
    source it is refused, because going to another version is an upgrade.
  - With O(parts) V(images) the image archives of the bundle are imported into containerd, if they bring an image that the host's
    role needs and that is not there.
  - It needs nothing but Python on the host.
author:
  - The kubephase authors (@kubephase)
options:
  parts:
    description:
      - What to look after; images need a containerd that runs.
    type: list
    elements: str
    choices: [packages, images]
    default: [packages]
extends_documentation_fragment:
  - kubephase.cluster.prepare_packages
  - kubephase.cluster.documents
  - kubephase.cluster.phase
seealso:
  - module: kubephase.cluster.container_runtime
  - module: kubephase.cluster.host_setup
"""

EXAMPLES = r"""
- name: Prepare | install what a node needs
  kubephase.cluster.node_packages:
    config_file: kubeadm.yaml

- name: Prepare | from a repository of one's own
  kubephase.cluster.node_packages:
    source: repository
    repository: https://packages.example.com/kubernetes/
    repository_key: "{{ lookup('ansible.builtin.file', 'kubernetes.asc') }}"

- name: Prepare | without a network
  kubephase.cluster.node_packages:
    bundle: /srv/bundle-1.37.1.tar

- name: Prepare | images of the bundle
  kubephase.cluster.node_packages:
    bundle: /srv/bundle-1.37.1.tar
    parts: [images]
"""

RETURN = r"""
version:
  description: The version of Kubernetes that is wanted.
  returned: success, with the part packages
  type: str
  sample: 1.37.1
source:
  description: Where what is missing comes from.
  returned: success, with the part packages
  type: str
  sample: auto
missing:
  description: What was missing, and why.
  returned: success, with the part packages
  type: list
  elements: dict
  sample: [{"name": "kubelet", "reason": "it is not installed"}]
lacking:
  description: The files of the bundle that were brought to the host, or would be.
  returned: success, with the part packages
  type: list
  elements: str
  sample: [bin/kubelet]
imported:
  description: The archives of the bundle that were imported.
  returned: success, with the part images and a bundle
  type: list
  elements: str
  sample: [images/pause.tar]
lacking_images:
  description: The archives of the bundle that were brought to the host, or would be.
  returned: success, with the part images and a bundle
  type: list
  elements: str
  sample: [images/pause.tar]
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.account import Account
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.boot import Boot
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundle_files import BundleFiles
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.containerd import Containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.packages import Packages
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import BundleImagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import NodePackagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.options import PACKAGE_OPTIONS, PARTS
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phases and the adapters that they work through."""
    files = Files(root)
    world = World(
        files=files,
        packages=Packages(files),
        bundle_files=BundleFiles(root),
        containerd=Containerd(),
        systemd=Systemd(),
        boot=Boot(),
        account=Account(),
        host=Host(),
    )
    return (NodePackagesPhase(), BundleImagesPhase()), world


def main() -> None:
    """Run the phases."""
    run(make, (), {**PACKAGE_OPTIONS, **PARTS})


if __name__ == "__main__":
    main()
