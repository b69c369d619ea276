#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host set-up as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_setup
short_description: Sets up kernel, swap and firewall of a host for Kubernetes
version_added: 0.1.0
description:
  - Loads the kernel modules that the release needs and sets the kernel settings for the address families of the documents, now
    and for every boot, in C(/etc/modules-load.d/kubephase.conf) and C(/etc/sysctl.d/99-kubephase.conf).
  - A module that is built into the kernel counts as loaded. A value that is right already is not written, so that a host whose
    kernel belongs to somebody else passes if that one has set it.
  - Turns swap off as O(swap) says. Lines of C(/etc/fstab) become comments that keep what they said.
  - Warns of a clock that follows no other, of a name that cannot be looked up, and of settings that another file brings back at
    the next boot.
  - Tells the ports by which others reach the host in its role, and opens them where that is asked for.
  - With IPv6 forwarding a kernel no longer takes routes from router advertisements, unless C(accept_ra) of the interface is 2.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.prepare_host
  - kubephase.cluster.documents
  - kubephase.cluster.phase
seealso:
  - module: kubephase.cluster.container_runtime
  - module: kubephase.cluster.node_packages
"""

EXAMPLES = r"""
- name: Prepare | set the host up
  kubephase.cluster.host_setup:
    config_file: kubeadm.yaml

- name: Prepare | with the firewall opened for a worker and its network plugin
  kubephase.cluster.host_setup:
    becomes: worker
    firewall: open
    extra_ports: [8472/udp]
"""

RETURN = r"""
modules:
  description: The kernel modules that are needed.
  returned: success
  type: list
  elements: str
  sample: [overlay, br_netfilter]
settings:
  description: The kernel settings that are needed, with their values.
  returned: success
  type: dict
  sample: {"net.ipv4.ip_forward": "1"}
ports:
  description: The ports by which others reach the host.
  returned: success
  type: list
  elements: dict
  contains:
    port:
      description: The port or range, with its protocol.
      type: str
      sample: 6443/tcp
    purpose:
      description: What listens there.
      type: str
      sample: API server
firewall:
  description: The firewall that is active, V(firewalld) or V(ufw); empty when none is known to be.
  returned: success
  type: str
  sample: ufw
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.firewall import Firewall
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kernel import Kernel
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.probe import Probe
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.host_setup import HostSetupPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.options import HOST_OPTIONS
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the phase and the adapters that it works through."""
    world = World(files=Files(root), probe=Probe(root), kernel=Kernel(root), firewall=Firewall(), host=Host())
    return HostSetupPhase(), world


def main() -> None:
    """Run the phase."""
    run(make, (), HOST_OPTIONS)


if __name__ == "__main__":
    main()
