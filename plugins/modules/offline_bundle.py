#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The list of what an offline bundle holds as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: offline_bundle
short_description: Lists what an offline bundle must hold for given documents, and checks one
version_added: 0.1.0
description:
  - Tells by name every file and every image that hosts without a way out need for the given kubeadm documents. Nothing is
    fetched, and no host is touched. Run it on the controller, as the playbook C(kubephase.cluster.bundle) does.
  - With O(bundle) it compares a bundle with that. A file that is missing or not the one that C(bundle.json) lists, an image
    archive that lacks an image, a bundle for another release or architecture. All of it is reported at once.
  - A bundle is a directory, or a tar archive of it, with C(bundle.json), C(bin/), C(cni/), C(images/) and, where hosts lack
    packages of the distribution, C(debs/). Image archives are those that C(docker save), C(podman save), C(ctr images export)
    or C(skopeo) write, compressed or not.
  - C(bundle.json) is an object with C(kubernetes), the version, C(architecture), C(files), the SHA-256 of every other file by
    its path, and C(images), the names of the images in each archive by the archive's path. O(write) makes it.
author:
  - The kubephase authors (@kubephase)
options:
  bundle:
    description:
      - The directory or archive to compare, on the machine that the module runs on.
      - When not given, the list is all there is.
    type: path
  write:
    description:
      - Write C(bundle.json) from what is in the directory O(bundle), instead of comparing with the one that is there.
      - What the documents need and the directory lacks is an error all the same, and nothing is written then.
    type: bool
    default: false
  architecture:
    description: The architecture of the hosts, in the words of Kubernetes.
    type: str
    default: amd64
  images:
    description: Images that are needed beside those of the documents.
    type: list
    elements: str
    default: []
  manifest_content:
    description: A manifest, such as that of the pod network, whose images are needed as well.
    type: str
  becomes:
    description: Of no consequence here, because the list is that of the whole cluster.
    type: str
    choices: [init, worker, control_plane]
    default: worker
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
seealso:
  - module: kubephase.cluster.documents
"""

EXAMPLES = r"""
- name: Bundle | what must be in it
  kubephase.cluster.offline_bundle:
    config_file: kubeadm.yaml
    manifest_content: "{{ lookup('ansible.builtin.file', 'flannel.yaml') }}"
  delegate_to: localhost
  register: needed

- name: Bundle | write its list from the files in it
  kubephase.cluster.offline_bundle:
    config_file: kubeadm.yaml
    bundle: /srv/bundle
    write: true
  delegate_to: localhost

- name: Bundle | compare an archive of it with the documents
  kubephase.cluster.offline_bundle:
    config_file: kubeadm.yaml
    bundle: /srv/bundle.tar
  delegate_to: localhost
"""

RETURN = r"""
kubernetes_version:
  description: The version that the bundle is for.
  returned: always
  type: str
  sample: 1.37.1
files:
  description: Paths in the bundle of the files that every host needs.
  returned: always
  type: list
  elements: str
  sample: [bin/kubelet, bin/kubectl, bin/crictl, cni/loopback]
packages:
  description: Packages of the distribution that a host needs, with what they depend on; in C(debs/) for hosts that lack them.
  returned: always
  type: list
  elements: str
  sample: [containerd, python3-yaml]
images:
  description: The images, those of O(images) and O(manifest_content) included.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: registry.k8s.io/pause:3.10.2
    control_plane_only:
      description: Whether workers do without it.
      type: bool
      sample: false
text:
  description: All of it as text for people.
  returned: always
  type: str
  sample: "# Offline bundle for Kubernetes 1.37.1, amd64"
checked:
  description: Whether a bundle was compared with the list.
  returned: always
  type: bool
  sample: true
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundles import Bundles
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.nowhere import Nowhere
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import BECOMES, WORKER
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.needs import BundlePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run

SPEC = {
    "bundle": {"type": "path"},
    "write": {"type": "bool", "default": False},
    "architecture": {"type": "str", "default": "amd64"},
    "images": {"type": "list", "elements": "str", "default": []},
    "manifest_content": {"type": "str"},
    "becomes": {"type": "str", "choices": list(BECOMES), "default": WORKER},
}


def make(root: str = "") -> tuple[Any, World]:
    """Give the look and the adapters that it works through; the machine that it runs on is no host of the cluster."""
    nowhere = Nowhere()
    return BundlePhase(), World(host=nowhere, files=nowhere, bundles=Bundles(root), writer=Files(root))


def main() -> None:
    """Look."""
    run(make, (), SPEC)


if __name__ == "__main__":
    main()
