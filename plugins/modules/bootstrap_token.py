#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bootstrap-token phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: bootstrap_token
short_description: Makes bootstrap tokens work, and creates, lists and deletes them
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase bootstrap-token) does, and what C(kubeadm token create), C(list) and C(delete) do.
  - With O(state=present) it keeps the roles and bindings of joining nodes, the cluster-info ConfigMap in kube-public and who
    may read it. Signatures that the controller manager put into cluster-info stay.
  - The tokens that the documents list are created while cluster-info does not exist yet, that is once in the life of a
    cluster. One that has expired or was deleted since is not created again by a re-run, unless O(create=always).
  - A token whose id exists already is left as it is; its life is never extended.
  - Unlike kubeadm it makes no token when the documents list none.
author:
  - The kubephase authors (@kubephase)
options:
  state:
    description:
      - V(present) sees to the objects and to the tokens that are asked for.
      - V(absent) deletes tokens, chosen by O(token_ids) or O(description).
      - V(listed) only tells which tokens there are.
    type: str
    choices:
      - present
      - absent
      - listed
    default: present
  tokens:
    description:
      - The values of the tokens in the documents' bootstrapTokens, in the same order; an empty one is made on the host.
      - The controller-side step fills this in from the documents.
      - Values beyond those of the documents are tokens with O(ttl), O(description), O(usages) and O(groups).
    type: list
    elements: str
  create:
    description:
      - V(auto) creates the listed tokens only while cluster-info does not exist yet.
      - V(always) creates each one that is not there.
    type: str
    choices:
      - auto
      - always
    default: auto
  mint:
    description:
      - Create one fresh token more, and return it as RV(minted_token). Set C(no_log) on such a task.
      - Each run makes another one, so such a task always reports a change.
    type: bool
    default: false
  ttl:
    description:
      - How long a token that the options describe lives; V(0) means until it is deleted.
    type: str
    default: 24h
  description:
    description:
      - What a token that the options describe is for.
      - With O(state=absent), deletes the tokens that have exactly this description.
    type: str
  usages:
    description:
      - What a token that the options describe is good for; both when not given.
    type: list
    elements: str
    choices:
      - signing
      - authentication
  groups:
    description:
      - The groups of whoever logs in with a token that the options describe.
      - When not given, the group that kubeadm's bindings are for, if the token is for authentication.
    type: list
    elements: str
  token_ids:
    description:
      - With O(state=absent), the ids of the tokens to delete, the 6 characters before the dot.
    type: list
    elements: str
attributes:
  idempotent:
    support: partial
    details:
      - O(mint=true) makes another token in every run.
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.upload_certs
"""

EXAMPLES = r"""
- name: Bootstrap-token | let nodes join, with the tokens of the documents
  kubephase.cluster.bootstrap_token:
    config_file: kubeadm.yaml

- name: Bootstrap-token | one for this run
  kubephase.cluster.bootstrap_token:
    mint: true
    ttl: 30m
    description: join of new workers
  no_log: true
  register: join

- name: Bootstrap-token | which are there
  kubephase.cluster.bootstrap_token:
    state: listed

- name: Bootstrap-token | remove what this run made
  kubephase.cluster.bootstrap_token:
    state: absent
    description: join of new workers
"""

RETURN = r"""
tokens:
  description: The tokens of the cluster by id, and those that were asked for by value, never with their secrets.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The part before the dot.
      type: str
      sample: abcdef
    description:
      description: What it is for.
      type: str
      sample: join of new workers
    expires:
      description: When it ends; empty when it does not.
      type: str
      sample: "2027-11-16T12:00:00Z"
    usages:
      description: What it is good for.
      type: list
      elements: str
      sample: [authentication, signing]
    groups:
      description: The groups of whoever logs in with it.
      type: list
      elements: str
      sample: ["system:bootstrappers:kubeadm:default-node-token"]
    done:
      description:
        - What was done, or would be done in check mode; kept, created, removed, or left out for a token of the documents
          that is not there any more.
      type: str
      sample: kept
minted_token:
  description: The fresh token, whole.
  returned: when O(mint=true), but not in check mode
  type: str
  sample: abcdef.0123456789abcdef
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    api = Api(files)
    return BootstrapTokenPhase(), World(files=files, api=api, mint=Mint(api), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "state": {"type": "str", "choices": ["present", "absent", "listed"], "default": "present"},
        "tokens": {"type": "list", "elements": "str", "no_log": True},
        "create": {"type": "str", "choices": ["auto", "always"], "default": "auto"},
        "mint": {"type": "bool", "default": False},
        "ttl": {"type": "str", "default": "24h"},
        "description": {"type": "str"},
        "usages": {"type": "list", "elements": "str", "choices": ["signing", "authentication"]},
        "groups": {"type": "list", "elements": "str"},
        "token_ids": {"type": "list", "elements": "str", "no_log": False},
    }
    run(
        make,
        ("yaml",),
        spec,
        durations=("ttl",),
        required_if=[("state", "absent", ("token_ids", "description"), True)],
    )


if __name__ == "__main__":
    main()
