# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options by which every phase module takes kubeadm's documents."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared options, written once."""

    DOCUMENTATION = r"""
options:
  config_file:
    description:
      - A kubeadm.yaml on the controller, with any of kubeadm's documents in it. It may be encrypted with Ansible Vault.
      - A relative path is looked for beside the inventory, beside the playbook and in the current directory.
      - When not given, the variable C(kubephase_config_file) is used, if there is one.
    type: str
  advertise_interface:
    description:
      - The network interface whose address the API server advertises, for hosts with several networks. The address that
        the documents give wins; without either it is that of the default route.
      - When not given, the variable C(kubephase_advertise_interface) is used, if there is one.
    type: str
  becomes:
    description:
      - What the host is in the cluster. V(init) is the first control plane, to which InitConfiguration applies; V(worker)
        and V(control_plane) are hosts that join or have joined, to which JoinConfiguration applies.
      - When not given, the inventory decides. The first host of the group C(control_plane) is V(init), its others are
        V(control_plane), and other hosts are V(worker). An inventory that has neither this group nor C(workers) says nothing.
      - A host that joins takes ClusterConfiguration and KubeletConfiguration from the cluster when the documents have no
        ClusterConfiguration.
    type: str
    choices: [init, worker, control_plane]
    default: init
  cluster_configuration:
    description:
      - kubeadm's ClusterConfiguration. Its fields win over those of the file.
      - When not given, the variable C(kubephase_cluster_configuration) is used, if there is one.
      - Without apiVersion it is taken as v1beta4, with extraArgs as a map or as a list.
    type: dict
  init_configuration:
    description:
      - kubeadm's InitConfiguration, or the variable C(kubephase_init_configuration).
      - Its tokens and its certificateKey are taken out on the controller; they reach only modules that need them.
    type: dict
  join_configuration:
    description:
      - kubeadm's JoinConfiguration, or the variable C(kubephase_join_configuration).
    type: dict
  kubelet_configuration:
    description:
      - KubeletConfiguration, or the variable C(kubephase_kubelet_configuration).
      - Fields that the release does not know are passed on with a warning.
    type: dict
  kube_proxy_configuration:
    description:
      - KubeProxyConfiguration, or the variable C(kubephase_kube_proxy_configuration).
      - Fields that the release does not know are passed on with a warning.
    type: dict
"""
