# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of node packages."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared options, written once."""

    DOCUMENTATION = r"""
options:
  source:
    description:
      - Where what is missing comes from.
      - V(auto) takes the offline bundle if one is given, and otherwise the repository, and that only if something is missing;
        a host that has everything is left alone, its package sources too.
      - V(repository) keeps the source file, the key and the hold as wanted even where nothing is missing.
      - V(offline) takes everything from O(bundle) and fetches nothing.
      - V(none) installs nothing, and fails if something is missing.
    type: str
    choices: [auto, repository, offline, none]
    default: auto
  repository:
    description:
      - The address of the repository with the packages of Kubernetes.
      - When not given, the Kubernetes project's own of the documents' minor, U(https://pkgs.k8s.io).
    type: str
  repository_key:
    description:
      - The armoured public key that signs the repository, as text, or the word V(trusted) for a repository that nobody signs.
      - When not given, the host fetches it once as C(Release.key) from the repository.
    type: str
  repository_suite:
    description:
      - The suite of the repository; one that ends with a slash is a path, as in the project's own repository.
    type: str
    default: /
  repository_components:
    description:
      - The components of the suite, if it has any.
    type: list
    elements: str
    default: []
  bundle:
    description:
      - An offline bundle on the controller, a directory or a tar archive of one.
      - It holds C(bundle.json) with the version, the architecture and the SHA-256 of every file; C(bin/) with kubelet, kubectl
        and crictl; C(cni/) with the network plugins; C(debs/) with packages; and C(images/) with image archives.
    type: str
  bundle_list:
    description:
      - The text of C(bundle.json). The controller reads it from O(bundle).
    type: str
  staged:
    description:
      - The directory on the host to which the controller has brought the files that the host lacks.
    type: str
"""
