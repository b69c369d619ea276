#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the controller-side step; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: documents
short_description: Reads, merges and validates kubeadm's documents on the controller
version_added: 0.1.0
description:
  - Reads O(config_file), merges the documents that are given as options or variables into it, kind by kind, and
    validates the result with kubeadm's rules and some of ours. No host is touched.
  - Put it first in a play, with C(any_errors_fatal), and a mistake in the documents of any host stops the play before
    any host is changed. Every mistake is reported at once, with its place, what was found and what is allowed.
  - Every phase module does the same for itself, so that it may be used alone.
  - With C(dryRun) set to true in InitConfiguration or JoinConfiguration, the phase modules run in check mode.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
attributes:
  action:
    description: Runs on the controller.
    support: full
  action_group:
    description: Use C(group/kubephase.cluster.phase) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - kubephase.cluster.phase
  check_mode:
    description: Reports in check mode what the real run would do, and changes nothing.
    support: full
  diff_mode:
    description: There is nothing to show, since nothing changes.
    support: none
  idempotent:
    description: It never changes anything.
    support: full
  platform:
    description: Runs on the controller, for any host.
    support: full
    platforms: posix
seealso:
  - module: kubephase.cluster.pki_cert
  - module: kubephase.cluster.kubeconfig_file
"""

EXAMPLES = r"""
- name: Documents | validate those of every host before any host is touched
  kubephase.cluster.documents:
    config_file: kubeadm.yaml
  any_errors_fatal: true
"""

RETURN = r"""
documents:
  description: The documents by kind, in the shape of v1beta4, merged and without secrets.
  returned: success
  type: dict
  sample:
    ClusterConfiguration:
      kubernetesVersion: v1.37.1
secrets:
  description: The places of secrets that were taken out of the documents.
  returned: success
  type: list
  elements: str
  sample: [InitConfiguration.certificateKey]
"""
