#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every phase of init, read and planned in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: phase_plan
short_description: Tells which phases of init have something to do on a host, and what
version_added: 0.1.0
description:
  - Does for every phase what its module does in check mode, in one call. Nothing is changed.
  - The role C(init) starts with it and runs only the phases that it names, so that a run with nothing to do is one call.
  - A phase that needs the API server, while an earlier one has yet to bring that up, counts as pending.
author:
  - The kubephase authors (@kubephase)
options:
  everything:
    description:
      - Name every phase as pending without looking, for a run that selects phases by tag.
    type: bool
    default: false
  phases:
    description:
      - Only these phases, each with the parts to look at; an empty list means all of them. Filled in on the controller
        from skipPhases of the documents and from C(kubephase_only_phases).
    type: dict
  renew_before:
    description:
      - As for M(kubephase.cluster.pki_cert).
    type: str
  proxy_env:
    description:
      - As for M(kubephase.cluster.static_pod).
    type: dict
  manifest:
    description:
      - As for M(kubephase.cluster.addon).
    type: path
  manifest_content:
    description:
      - As for M(kubephase.cluster.addon).
    type: str
  upload_certs:
    description:
      - Whether the phase upload-certs is wanted.
    type: bool
    default: false
  verify_kubelets:
    description:
      - As for M(kubephase.cluster.static_pod).
    type: str
    choices:
      - never
      - keep
      - always
    default: never
  node_labels:
    description:
      - As for M(kubephase.cluster.node_settings). The Node is looked at only if these or O(node_taints) are given, empty ones included.
    type: dict
  node_taints:
    description:
      - As for M(kubephase.cluster.node_settings).
    type: list
    elements: dict
  serving_certificates:
    description:
      - Who sees to the serving certificates of kubelets. Filled in on the controller from the variable
        C(kubephase_kubelet_serving_certificates).
    type: str
    choices:
      - self-signed
      - kubelet
      - collection
    default: self-signed
extends_documentation_fragment:
  - kubephase.cluster.documents
  - kubephase.cluster.phase
requirements:
  - cryptography >= 38 on the host
  - PyYAML on the host
"""

EXAMPLES = r"""
- name: Plan | what would change on this host
  kubephase.cluster.phase_plan:
    config_file: kubeadm.yaml
  register: plan

- name: Plan | with what expires within thirty days
  kubephase.cluster.phase_plan:
    renew_before: 720h
"""

RETURN = r"""
pending:
  description: The phases that have something to do, in kubeadm's order; preflight is the first of them if there are any.
  returned: success
  type: list
  elements: str
  sample: [preflight, certs]
state:
  description: >-
    What the host is to the cluster. A control plane is V(virgin) without admin.conf and manifests, V(serving) when its API
    server answers, V(stopped) otherwise; a worker is V(virgin), V(joining) or V(joined).
  returned: success
  type: str
  sample: serving
node_settings:
  description: The name of the Node, and whether it lacks labels or taints of the inventory or has some that the inventory gave up.
  returned: success
  type: dict
  sample: {"node": "cp1", "pending": false}
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
  description: Whether a server answers at the cluster's endpoint; not asked for a worker.
  returned: success
  type: bool
  sample: true
endpoint:
  description: The URL by which clients reach the cluster.
  returned: success
  type: str
  sample: https://api.example.test:6443
serving:
  description: How it stands with the serving certificate of this host's kubelet; more than the first two only where it is wanted.
  returned: success
  type: dict
  contains:
    node:
      description: The name of the node.
      type: str
      sample: worker1
    traces:
      description: What is left of the feature, and should not be.
      type: list
      elements: str
      sample: []
    hostname:
      description: The host's own name.
      type: str
      sample: worker1
    addresses:
      description: Addresses by which others reach the host, that of the node first.
      type: list
      elements: str
      sample: ["192.0.2.21"]
    served:
      description: Whether the kubelet shows a certificate that the cluster's CA signed for the node's address.
      type: bool
      sample: true
    problem:
      description: What is wrong with what it shows, or nothing.
      type: str
      sample: ""
    open_requests:
      description: On a control plane, how many requests nobody has decided on.
      type: int
      sample: 0
    verifying:
      description: Whether the API server of this host verifies kubelets.
      type: bool
      sample: true
    policy:
      description: The policy of the standing approver on this host.
      type: dict
      sample: {}
first_expiry:
  description: What expires first of the certificates and kubeconfig files, as it will be after the run.
  returned: success
  type: dict
  sample:
    path: /etc/kubernetes/pki/apiserver.crt
    expires: "2027-11-16T12:00:00Z"
phases:
  description: Every phase that was looked at.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: kubeadm's name of the phase.
      type: str
      sample: certs
    pending:
      description: Whether it has something to do.
      type: bool
      sample: true
    reason:
      description: Why that could not be looked into; empty when it could.
      type: str
      sample: ""
    changes:
      description: What it would change.
      type: list
      elements: dict
      contains:
        target:
          description: What would be changed.
          type: str
          sample: /etc/kubernetes/pki/apiserver.crt
        reason:
          description: Why.
          type: str
          sample: it lacks the name api.example.test
        before:
          description: How it is.
          type: str
          sample: ""
        after:
          description: How it would be.
          type: str
          sample: ""
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import BootstrapApi, NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kubelet_port import KubeletPorts
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import Systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, INIT, WORKER
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.module import run
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import Survey, Surveyed


def table(becomes: str) -> tuple[Surveyed, ...]:
    """Give the phases of what a host becomes; those of others are not loaded."""
    if becomes == WORKER:
        from ansible_collections.kubephase.cluster.plugins.module_utils._survey import worker

        return worker.PHASES
    if becomes == CONTROL_PLANE:
        from ansible_collections.kubephase.cluster.plugins.module_utils._survey import control_plane

        return control_plane.PHASES
    from ansible_collections.kubephase.cluster.plugins.module_utils._survey import init

    return init.PHASES


def of_control_planes(files: Files) -> dict[str, Any]:
    """Give the adapters that only phases of control planes read through."""
    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_super import SuperAdminApi
    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.health import HealthChecks
    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import SigningApi

    return {"super_api": SuperAdminApi(files), "health": HealthChecks(files, Cri()), "signing": SigningApi(files, deadline=3.0)}


def make(root: str = "", becomes: str = INIT) -> tuple[Any, World]:
    """Give all phases as one, and the adapters that they read through."""
    files = Files(root)
    world = World(
        files=files,
        api=Api(files),
        systemd=Systemd(),
        clock=Clock(),
        host=Host(),
        node_api=NodeApi(files),
        bootstrap_api=BootstrapApi(files),
        ports=KubeletPorts(),
        **({} if becomes == WORKER else of_control_planes(files)),
    )
    return Survey(table(becomes)), world


def load(becomes: str) -> None:
    """Load what the survey of such a host needs, for a process that is to stand by."""
    make(becomes=becomes)


def libraries(given: Mapping[str, Any]) -> tuple[str, ...]:
    """A worker has no certificates that we look into."""
    return ("yaml",) if given["becomes"] == WORKER else ("cryptography", "yaml")


def main() -> None:
    """Survey the phases."""
    spec = {
        "everything": {"type": "bool", "default": False},
        "phases": {"type": "dict"},
        "renew_before": {"type": "str"},
        "proxy_env": {"type": "dict", "no_log": True},
        "manifest": {"type": "path"},
        "manifest_content": {"type": "str", "no_log": True},
        "upload_certs": {"type": "bool", "default": False},
        "verify_kubelets": {"type": "str", "choices": ["never", "keep", "always"], "default": "never"},
        "node_labels": {"type": "dict"},
        "node_taints": {"type": "list", "elements": "dict"},
        "serving_certificates": {"type": "str", "choices": ["self-signed", "kubelet", "collection"], "default": "self-signed"},
    }
    run(make, libraries, spec, durations=("renew_before",), told=("becomes",))


if __name__ == "__main__":
    main()
