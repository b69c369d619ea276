#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phase etcd-join of join as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_member
short_description: Makes the etcd of a joining control plane a voting member of the cluster
version_added: 0.1.0
description:
  - Does what C(kubeadm join phase etcd-join) does, and can be run again at any point of it. The member is added, as a learner
    where the release does so; its manifest is written with all members in it; it is seen to start; it is promoted as soon as
    it has caught up; and the cluster is seen to be well with it.
  - It is one call, because no other member may be added meanwhile. Run it with C(throttle) 1.
  - What is found is taken up. A member that was added and never started is started, a learner is promoted, and one that votes
    is left alone. No second member is ever added for the same address.
  - Nothing is added where that could cost the cluster its majority. What passes, such as another learner or a member that is
    just starting, is waited out as long as the release does.
  - Data of another member or cluster, a voting member without its data, or a member of the same name elsewhere is refused,
    with what to do.
  - An external etcd is left to those who run it.
  - With O(followed_by), the manifests of components that need the member are written in the same call, when it votes. An API
    server that is started sooner ends without its etcd, and the kubelet then holds it back for ever longer.
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
  until:
    description:
      - When the call is over. V(serving) waits until the member answers clients and the cluster is well with it.
      - V(voting) waits only until a learner votes, so that the next host need not wait for the rest; call the module once more,
        without C(throttle), to see that it serves. A release that adds voters, and no learners, waits for the rest all the same.
    type: str
    choices:
      - serving
      - voting
    default: serving
  followed_by:
    description:
      - Components whose manifests are written once the member votes, as M(kubephase.cluster.static_pod) writes them. Where etcd
        is external, they are written at once.
    type: list
    elements: str
    choices:
      - kube-apiserver
      - kube-controller-manager
      - kube-scheduler
  proxy_env:
    description:
      - As for M(kubephase.cluster.static_pod), for those who follow.
    type: dict
  verify_kubelets:
    description:
      - As for M(kubephase.cluster.static_pod), for an API server that follows.
    type: str
    choices:
      - never
      - keep
      - always
    default: never
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - crictl on the host, to tell more about a member that does not start
seealso:
  - module: kubephase.cluster.check_etcd
  - module: kubephase.cluster.static_pod
"""

EXAMPLES = r"""
- name: Etcd-join | add, start and promote, one host at a time
  kubephase.cluster.etcd_member:
    becomes: control_plane
  throttle: 1

- name: Etcd-join | and let start what needs the member
  kubephase.cluster.etcd_member:
    becomes: control_plane
    followed_by:
      - kube-apiserver
      - kube-controller-manager
      - kube-scheduler
  throttle: 1

- name: Etcd-join | go on after a majority was lost half-way
  kubephase.cluster.etcd_member:
    becomes: control_plane
    endpoints:
      - https://192.0.2.10:2379
  throttle: 1
"""

RETURN = r"""
manifests:
  description: The manifests of those who follow, as M(kubephase.cluster.static_pod) returns them.
  returned: with O(followed_by)
  type: list
  elements: dict
  sample:
    - component: kube-apiserver
      path: /etc/kubernetes/manifests/kube-apiserver.yaml
      image: registry.k8s.io/kube-apiserver:v1.37.1
      done: written
      reason: it does not exist
etcd_member:
  description: The member of this host; null where etcd is external.
  returned: success
  type: dict
  contains:
    name:
      description: Its name, that of the node.
      type: str
      sample: cp2
    peer_url:
      description: Where other members find it.
      type: str
      sample: https://192.0.2.11:2380
    client_url:
      description: Where clients find it.
      type: str
      sample: https://192.0.2.11:2379
    done:
      description:
        - What was done, or would be done in check mode; one of kept, added, replaced, started and promoted.
        - V(replaced) is a learner whose data was gone, removed and added anew; V(started) is one that was listed and had no
          manifest.
      type: str
      sample: added
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
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import Etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd_join import EtcdMembership
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.followers import FollowersPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.member import EtcdMemberPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    files = Files(root)
    etcd = Etcd(files)
    world = World(files=files, api=Api(files), etcd=etcd, membership=EtcdMembership(files, etcd, Cri()), host=Host())
    return (EtcdMemberPhase(), FollowersPhase()), world


def main() -> None:
    """Run the phase."""
    spec = {
        "endpoints": {"type": "list", "elements": "str"},
        "until": {"type": "str", "choices": ["serving", "voting"], "default": "serving"},
        "followed_by": {"type": "list", "elements": "str", "choices": ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]},
        "proxy_env": {"type": "dict", "no_log": True},
        "verify_kubelets": {"type": "str", "choices": ["never", "keep", "always"], "default": "never"},
    }
    run(make, ("yaml",), spec)


if __name__ == "__main__":
    main()
