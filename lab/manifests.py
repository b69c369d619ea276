# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests and kubeadm documents that fit an instance, filled in and laid beside its inventory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lab.cache import Store
from lab.errors import LabError
from lab.images import references
from lab.instance import Instance, directory, write_whole
from lab.layout import CONTROL_PLANE
from lab.recipes import Release

TEMPLATES = Path(__file__).parent / "manifests"
POD_SUBNET = "10.244.0.0/16"
API_PORT = 6443


def place(store: Store, instance: str) -> Path:
    """Say where an instance's manifests are."""
    return directory(store, instance) / "manifests"


def write(store: Store, instance: Instance, of: Release) -> None:
    """Fill every template in for an instance."""
    target = place(store, instance.name)
    target.mkdir(parents=True, exist_ok=True)
    values = values_of(instance, of)
    for template in sorted(TEMPLATES.glob("*.yaml")):
        write_whole(target / template.name, fill(template.read_text(), values))
    write_whole(target / "kubeadm.yaml", kubeadm_documents(of, values["ENDPOINT_HOST"]))


def values_of(instance: Instance, of: Release) -> Mapping[str, str]:
    """Say what each placeholder stands for."""
    images = references(of)
    endpoint = next((node.address for node in instance.nodes if node.role == CONTROL_PLANE), instance.nodes[0].address)
    return {
        "POD_SUBNET": POD_SUBNET,
        "ENDPOINT_HOST": endpoint,
        "ENDPOINT_PORT": str(API_PORT),
        "FLANNEL_IMAGE": images["flannel"],
        "AGNHOST_IMAGE": images["agnhost"],
    }


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every placeholder outside comments; one without a value is a mistake."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise LabError(f"a manifest asks for @{found[1]}@, which nothing fills in")
        return values[found[1]]

    lines = [line if line.lstrip().startswith("#") else re.sub(r"@([A-Z_]+)@", value, line) for line in template.splitlines()]
    return "\n".join(lines) + "\n"


def ignored_checks(of: Release) -> list[str]:
    """Name the preflight checks that say nothing about a node of the lab."""
    # An old kubeadm built with a current Go writes URLs that the stricter parser of that Go refuses.
    old = ["HTTPProxy", "HTTPProxyCIDR"] if int(of.version.split(".")[1]) < 31 else []
    return ["SystemVerification", "NumCPU", "Mem", *old]


def kubeadm_documents(of: Release, endpoint: str) -> str:
    """Spell documents with which kubeadm of a release makes a cluster on nodes that are containers."""
    minor = int(of.version.split(".")[1])
    api = "kubeadm.k8s.io/v1beta4" if minor >= 31 else "kubeadm.k8s.io/v1beta3"
    cgroup_v1 = "failCgroupV1: false\n" if minor >= 31 else ""
    ignored = ", ".join(ignored_checks(of))
    return f"""\
apiVersion: {api}
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: {endpoint}
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  # The machine's cgroups and size are not a node's business here.
  ignorePreflightErrors: [{ignored}]
---
apiVersion: {api}
kind: JoinConfiguration
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  ignorePreflightErrors: [{ignored}]
---
apiVersion: {api}
kind: ClusterConfiguration
kubernetesVersion: v{of.version}
controlPlaneEndpoint: {endpoint}:{API_PORT}
networking:
  podSubnet: {POD_SUBNET}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
# The disk is the machine's: its filling must neither take the images away, which cannot be fetched again, nor the pods.
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  imagefs.available: 100Mi
  memory.available: 100Mi
  nodefs.available: 100Mi
  nodefs.inodesFree: "1"
failSwapOn: false
{cgroup_v1}---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
# The kernel's table belongs to the machine; a node may not size it.
conntrack:
  maxPerCore: 0
  min: 0
"""
