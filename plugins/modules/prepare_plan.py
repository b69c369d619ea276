#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What preparing a host would do, as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: prepare_plan
short_description: Tells what there is to prepare on a host
version_added: 0.1.0
description:
  - Reads and plans all that M(kubephase.cluster.node_packages), M(kubephase.cluster.host_setup) and
    M(kubephase.cluster.container_runtime) do, in one call, and changes nothing. The role C(prepare) then runs those that have
    something to do; on a host that is ready this is all that runs.
  - Everything that one of them would refuse is reported at once.
  - It needs nothing but Python on the host.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.prepare_packages
  - kubephase.cluster.prepare_host
  - kubephase.cluster.prepare_runtime
  - kubephase.cluster.documents
  - kubephase.cluster.phase
seealso:
  - module: kubephase.cluster.phase_plan
"""

EXAMPLES = r"""
- name: Prepare | find out what there is to do
  kubephase.cluster.prepare_plan:
    config_file: kubeadm.yaml
"""

RETURN = r"""
pending:
  description: The parts that have something to do, of V(packages), V(host-setup), V(container-runtime) and V(images).
  returned: success
  type: list
  elements: str
  sample: [host-setup]
parts:
  description: Every part, with what it would change.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The part.
      type: str
      sample: host-setup
    pending:
      description: Whether it has something to do.
      type: bool
    reason:
      description: Why it has, where that could not be looked into.
      type: str
    changes:
      description: What it would change; target, reason, before and after, without secrets.
      type: list
      elements: dict
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.account import Account
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundle_files import BundleFiles
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.containerd import Containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.firewall import Firewall
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kernel import Kernel
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.packages import Packages
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.probe import Probe
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import BundleImagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.container_runtime import ContainerRuntimePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.host_setup import HostSetupPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import NodePackagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.options import HOST_OPTIONS, PACKAGE_OPTIONS, RUNTIME_OPTIONS
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.survey import PrepareSurvey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the survey and the adapters that it looks through."""
    files = Files(root)
    world = World(
        files=files,
        packages=Packages(files),
        bundle_files=BundleFiles(root),
        containerd=Containerd(),
        systemd=Systemd(),
        account=Account(),
        host=Host(),
        probe=Probe(root),
        kernel=Kernel(root),
        firewall=Firewall(),
    )
    return PrepareSurvey(NodePackagesPhase(), HostSetupPhase(), ContainerRuntimePhase(), BundleImagesPhase()), world


def main() -> None:
    """Run the survey."""
    run(make, (), {**PACKAGE_OPTIONS, **HOST_OPTIONS, **RUNTIME_OPTIONS})


if __name__ == "__main__":
    main()
