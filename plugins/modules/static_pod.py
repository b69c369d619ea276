#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control-plane and etcd phases as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: static_pod
short_description: Writes and keeps the static pod manifests of a control plane
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase control-plane) and C(kubeadm init phase etcd) do, in one call for all manifests or for chosen
    ones, and can be run again.
  - A manifest that means the same as the wanted one is kept, even where its text differs; otherwise it is replaced in one step,
    and the kubelet restarts that component.
  - Nothing but finished manifests ever lies in the directory that the kubelet watches.
  - Once the local etcd member has data, its C(initial-cluster) flags stay as they are in its manifest.
  - Diffs show whole manifests without the values of environment variables.
author:
  - The kubephase authors (@kubephase)
options:
  components:
    description:
      - The components to look after; all when not given.
      - V(etcd) is left out where the documents name an external etcd.
    type: list
    elements: str
    choices:
      - kube-apiserver
      - kube-controller-manager
      - kube-scheduler
      - etcd
  proxy_env:
    description:
      - Environment variables whose names end in C(_proxy), for the three components other than etcd.
      - kubeadm takes them from the shell that it is started from; here they are stated. Variables of extraEnvs win over them.
      - A password in them is kept out of results and diffs.
    type: dict
  initial_cluster:
    description:
      - The members of an existing etcd cluster, this one included, each as C(name=https://address:2380).
      - Only for a control plane that joins; when not given, the member starts a cluster of its own.
    type: list
    elements: str
  verify_kubelets:
    description:
      - Whether the API server gets the flag C(kubelet-certificate-authority), with the cluster's CA, and so verifies the
        certificates that kubelets serve with. An entry of that name in extraArgs wins.
      - V(keep) leaves the flag as it is. That is what the variable C(kubephase_kubelet_serving_certificates) makes of a task
        which does not say, unless it is V(self-signed).
      - kubeadm never sets it. Before every kubelet serves with a certificate of the cluster's, it makes C(kubectl logs) fail.
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
seealso:
  - module: kubephase.cluster.pki_cert
  - module: kubephase.cluster.kubeconfig_file
"""

EXAMPLES = r"""
- name: Control-plane, etcd | write what is missing, keep what fits
  kubephase.cluster.static_pod:
    config_file: kubeadm.yaml

- name: Control-plane | behind a proxy
  kubephase.cluster.static_pod:
    components: [kube-apiserver, kube-controller-manager, kube-scheduler]
    proxy_env:
      HTTPS_PROXY: http://proxy.example.test:3128
      NO_PROXY: 10.0.0.0/8,192.0.2.0/24

- name: Etcd | the member of a control plane that joins
  kubephase.cluster.static_pod:
    components: [etcd]
    initial_cluster:
      - cp1=https://192.0.2.10:2380
      - cp2=https://192.0.2.11:2380
"""

RETURN = r"""
manifests:
  description: The manifests looked after, etcd's first.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: Which component it runs.
      type: str
      sample: kube-apiserver
    path:
      description: Where it lies.
      type: str
      sample: /etc/kubernetes/manifests/kube-apiserver.yaml
    image:
      description: The image of the component.
      type: str
      sample: registry.k8s.io/kube-apiserver:v1.37.1
    done:
      description: What was done, or would be done in check mode; one of kept, written, rewritten and mode.
      type: str
      sample: kept
    reason:
      description: Why it was done; empty for what is kept.
      type: str
      sample: it does not exist
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    return StaticPodPhase(), World(files=Files(root), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "components": {
            "type": "list",
            "elements": "str",
            "choices": ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"],
        },
        "proxy_env": {"type": "dict", "no_log": True},
        "initial_cluster": {"type": "list", "elements": "str"},
        "verify_kubelets": {"type": "str", "choices": ["never", "keep", "always"], "default": "never"},
    }
    run(make, ("yaml",), spec)


if __name__ == "__main__":
    main()
