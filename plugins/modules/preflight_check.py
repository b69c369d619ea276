#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight phase as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight_check
short_description: Checks a host before it becomes a node, and pulls images
version_added: 0.1.0
description:
  - Does what C(kubeadm init phase preflight) and C(kubeadm join phase preflight) do, under kubeadm's own names for the
    checks of the release, and can be run again.
  - All failures are reported together, each with what was found and how to mend it; warnings are Ansible warnings.
  - On a host where the cluster runs already, ports, files and directories that would be in the way of a first run pass as
    V(owned) when they are proven to be this cluster's, one by one. A stranger's process on a port fails with its name.
  - For another control plane V(ControlPlaneEndpoint) and V(SharedCertificates) are checked, too; kubeadm makes these two
    conditions without a name, and they cannot be ignored.
  - The images of the control plane that are not there are pulled through C(crictl), by imagePullPolicy and imagePullSerial
    of the documents.
author:
  - The kubephase authors (@kubephase)
options:
  mode:
    description:
      - What the host is to become, the first control plane, a worker or another control plane. When not given, what O(becomes)
        says.
    type: str
    choices:
      - init
      - join
      - join_control_plane
  certificate_key_given:
    description:
      - For another control plane, that the certificates which all of them share will be downloaded. Otherwise they must be on
        the host.
      - The controller-side step sets it when the documents have a certificateKey.
    type: bool
    default: false
  ignore_errors:
    description:
      - Names of checks whose failure is only a warning, whatever their case, or V(all). They add to the documents'
        ignorePreflightErrors.
    type: list
    elements: str
  pull_images:
    description:
      - Pull missing images. Otherwise they are only named in a warning.
    type: bool
    default: true
  proxy_env:
    description:
      - Environment variables that name proxies and that the control plane will have, as in the variable
        C(kubephase_proxy_env). The checks V(HTTPProxy) and V(HTTPProxyCIDR) judge them; when not given, the variables
        of the environment that the module runs in.
    type: dict
  reference_time:
    description:
      - The time by the controller's clock, in ISO 8601. A host whose clock is more than five minutes off is warned of,
        one that is more than an hour off fails.
    type: str
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
  - crictl on the host
seealso:
  - module: kubephase.cluster.pki_cert
"""

EXAMPLES = r"""
- name: Preflight | check the host and pull images
  kubephase.cluster.preflight_check:
    config_file: kubeadm.yaml
    reference_time: "{{ now(utc=true).isoformat() }}"

- name: Preflight | on a small machine for a try
  kubephase.cluster.preflight_check:
    ignore_errors: [NumCPU, Mem]
    pull_images: false

- name: Preflight | of another control plane that will download its certificates
  kubephase.cluster.preflight_check:
    becomes: control_plane
    certificate_key_given: true
"""

RETURN = r"""
checks:
  description: Every check that was made, in kubeadm's order; also there when some of them failed.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: kubeadm's name for it, by which it can be ignored.
      type: str
      sample: Port-6443
    severity:
      description: V(error) or V(warning).
      type: str
      sample: error
    outcome:
      description: V(passed), V(failed), V(warned), V(ignored), or V(owned) for what is this cluster's own.
      type: str
      sample: failed
    found:
      description: What was found.
      type: str
      sample: nginx (pid 4711) listens on 0.0.0.0:6443, where kube-apiserver must
    fix:
      description: How to mend it.
      type: str
      sample: Stop it, or choose another localAPIEndpoint.bindPort
images:
  description: The images that a control plane of the release needs; none for a worker.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its full name.
      type: str
      sample: registry.k8s.io/kube-apiserver:v1.37.1
    present:
      description: Whether it was on the host before.
      type: bool
      sample: true
    pulled:
      description: Whether it was pulled, or would be in check mode.
      type: bool
      sample: false
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd_version import EtcdVersions
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.probe import Probe
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.preflight import PreflightPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make() -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    return PreflightPhase(), World(files=Files(), probe=Probe(), cri=Cri(), etcd_versions=EtcdVersions(), clock=Clock(), host=Host())


def main() -> None:
    """Run the phase."""
    spec = {
        "mode": {"type": "str", "choices": ["init", "join", "join_control_plane"]},
        "certificate_key_given": {"type": "bool", "default": False, "no_log": False},
        "ignore_errors": {"type": "list", "elements": "str"},
        "pull_images": {"type": "bool", "default": True},
        "proxy_env": {"type": "dict", "no_log": True},
        "reference_time": {"type": "str"},
    }
    run(make, ("yaml",), spec)


if __name__ == "__main__":
    main()
