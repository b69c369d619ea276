#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phase check-etcd of join as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check_etcd
short_description: Sees that the etcd cluster is well before a control plane joins it
version_added: 0.1.0
description:
  - Does what C(kubeadm join phase check-etcd) does. It asks every member that the cluster lists how it is, with the client
    certificate healthcheck-client. Nothing is changed.
  - Every member must answer; in releases whose kubeadm is content with a majority, a majority. In either case a majority
    must see a leader.
  - A member of this host that is down is no obstacle, because joining brings it up.
  - A cluster that is not well is waited for as long as the release does, with C(timeouts.etcdAPICall) from 1.30 on. Then the
    failure names each member and what is wrong with it.
  - An external etcd is left to those who run it.
author:
  - The kubephase authors (@kubephase)
options:
  endpoints:
    description:
      - Client URLs of members to ask, such as V(https://192.0.2.10:2379).
      - When not given, the annotations of the etcd pods tell them, as for kubeadm, through the API server that admin.conf
        names. Name them where the API server is down because etcd has lost its majority.
    type: list
    elements: str
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.etcd_member
"""

EXAMPLES = r"""
- name: Check-etcd | before this control plane joins
  kubephase.cluster.check_etcd:
    becomes: control_plane

- name: Check-etcd | of a cluster whose API server does not answer
  kubephase.cluster.check_etcd:
    becomes: control_plane
    endpoints:
      - https://192.0.2.10:2379
"""

RETURN = r"""
etcd_checked:
  description: Whether there was anything to check; not where etcd is external.
  returned: success
  type: bool
  sample: true
etcd_members:
  description: The members of the cluster as they were last seen; empty where etcd is external or nobody could be asked yet.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name; empty when it has never started.
      type: str
      sample: cp1
    id:
      description: Its number, in hexadecimal as etcdctl takes it.
      type: str
      sample: 8e9e05c52164694d
    peer_urls:
      description: Where other members find it.
      type: list
      elements: str
      sample: ["https://192.0.2.10:2380"]
    client_urls:
      description: Where clients find it.
      type: list
      elements: str
      sample: ["https://192.0.2.10:2379"]
    voting:
      description: Whether it votes; a learner does not.
      type: bool
      sample: true
    healthy:
      description: Whether it answers and follows a leader.
      type: bool
      sample: true
    found:
      description: What is wrong with it; empty when it is healthy.
      type: str
      sample: ""
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import Etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.check import CheckEtcdPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    return CheckEtcdPhase(), World(files=files, api=Api(files), etcd=Etcd(files), host=Host())


def main() -> None:
    """Run the phase."""
    run(make, ("yaml",), {"endpoints": {"type": "list", "elements": "str"}})


if __name__ == "__main__":
    main()
