#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a control plane host is to the cluster, as an Ansible module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: control_plane_state
short_description: Tells whether a host is untouched, serves a cluster, or is somewhere in between
version_added: 0.1.0
description:
  - Looks for files of a cluster and asks the host's own API server and the cluster's endpoint for a sign of life.
  - The playbook C(init) uses it to decide which control plane is initialised, so that a second cluster is never made beside
    one that runs.
author:
  - The kubephase authors (@kubephase)
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - PyYAML on the host
seealso:
  - module: kubephase.cluster.phase_plan
"""

EXAMPLES = r"""
- name: State | what is this host to the cluster
  kubephase.cluster.control_plane_state:
    config_file: kubeadm.yaml
  register: found
"""

RETURN = r"""
state:
  description: >-
    V(virgin) without admin.conf and manifests, V(serving) when its API server answers, V(stopped) otherwise.
  returned: success
  type: str
  sample: serving
endpoint:
  description: The URL by which clients reach the cluster.
  returned: success
  type: str
  sample: https://api.example.test:6443
healthy:
  description: Whether its API server answers and says that it is well, or does not talk to strangers; not asked for a worker.
  returned: success
  type: bool
  sample: true
joined:
  description: Whether a host that joins has done so to the end.
  returned: success
  type: bool
  sample: true
discovery_given:
  description: Whether the documents say how this host comes to know the cluster; otherwise a play supplies that.
  returned: success
  type: bool
  sample: false
certificates_missing:
  description: Whether files that control planes share are missing on a control plane that joins.
  returned: success
  type: bool
  sample: true
endpoint_answers:
  description: Whether a server answers there.
  returned: success
  type: bool
  sample: true
"""

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.health import HealthChecks
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._guard.state import HostState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run


def make(root: str = "") -> tuple[Any, World]:
    """Give the look and the adapters that it works through."""
    files = Files(root)
    return HostState(), World(files=files, health=HealthChecks(files), host=Host(), node_api=NodeApi(files))


def main() -> None:
    """Look."""
    run(make, ("yaml",))


if __name__ == "__main__":
    main()
