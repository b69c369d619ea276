# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that say which serving certificates are approved."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared options, written once."""

    DOCUMENTATION = r"""
options:
  policy:
    description:
      - Each node by its name, with its C(dns_names) and C(ip_addresses) as the inventory and facts gathered over ssh
        know them. Its own name belongs to a node without being listed.
      - Addresses that every host has, such as loopback ones, are left out.
      - When not given, the controller makes it of the hosts in the groups C(control_plane) and C(workers). To a node belong its
        name, its name in the inventory, C(ansible_host), C(kubephase_serving_names) of the host, and the name and addresses
        that M(kubephase.cluster.phase_plan) has found on it.
    type: dict
  allowed_names:
    description:
      - Names, addresses and networks that any node may carry besides its own. They do not make another node's name allowed.
    type: list
    elements: str
    default: []
  deny:
    description:
      - Deny what is not approved, instead of leaving it.
    type: bool
    default: false
  min_rsa_bits:
    description:
      - The least size of an RSA key.
    type: int
    default: 2048
  min_ecdsa_bits:
    description:
      - The least size of an ECDSA key.
    type: int
    default: 256
"""
