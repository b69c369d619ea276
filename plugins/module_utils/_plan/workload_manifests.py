# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of the workload that proves a cluster; every node has a pod that answers and one that asks its neighbour's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload import DNS, REACH, SERVICE

MANAGED_BY = "app.kubernetes.io/managed-by"
OURS = "kubephase-verify"
_PLACE = "kubephase.cluster/verify"
_PORT, _SERVICE_PORT = 8080, 80
_SECONDS = "5s"
# Nobody, who needs nothing: so the strictest rules for pods let it in.
_USER = 65534


def namespace(name: str) -> Manifest:
    """The namespace that goes with all that is in it."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {MANAGED_BY: OURS}}}


def answer_name(index: int) -> str:
    """Name the pod that answers on a node, and its Service."""
    return f"answer-{index}"


def neighbour(index: int, nodes: Sequence[str]) -> int:
    """Whom a node asks: the next one, so that every node is asked once and from another; a single node asks itself."""
    return (index + 1) % len(nodes)


def answer(where: str, index: int, node: str, image: str) -> Manifest:
    """A pod that answers over HTTP on one node."""
    container = {
        "name": "answer",
        "args": ["netexec", f"--http-port={_PORT}"],
        "ports": [{"containerPort": _PORT}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": _PORT}, "periodSeconds": 1},
    }
    return _pod(where, answer_name(index), node, image, [container], "Always", {_PLACE: str(index)})


def service(where: str, index: int) -> Manifest:
    """A Service that leads to the pod of one node only, so that which node answers is no matter of luck."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": answer_name(index), "namespace": where},
        "spec": {"selector": {_PLACE: str(index)}, "ports": [{"port": _SERVICE_PORT, "targetPort": _PORT}]},
    }


def question(where: str, name: str, node: str, image: str, addresses: tuple[str, str], service_name: str) -> Manifest:
    """A pod that asks a neighbour, once in each way: its address, that of its Service, and the name of that."""
    pod_address, service_address = addresses
    targets = {
        REACH: _joined(pod_address, _PORT),
        SERVICE: _joined(service_address, _SERVICE_PORT),
        DNS: f"{service_name}:{_SERVICE_PORT}",
    }
    containers = [
        {
            "name": step,
            "args": ["connect", target, "--timeout", _SECONDS],
            # What it says becomes part of the pod's status, where nobody needs the kubelet to read it.
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
        for step, target in targets.items()
    ]
    return _pod(where, name, node, image, containers, "Never", {})


def service_name(where: str, index: int, dns_domain: str) -> str:
    """The name by which a Service is found; with the dot at its end no other name is tried first."""
    return f"{answer_name(index)}.{where}.svc.{dns_domain}."


def _pod(where: str, name: str, node: str, image: str, containers: list[dict[str, Any]], restart: str, labels: dict[str, str]) -> Manifest:
    secured = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    on_node = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": where, "labels": {MANAGED_BY: OURS, **labels}},
        "spec": {
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"runAsNonRoot": True, "runAsUser": _USER, "seccompProfile": {"type": "RuntimeDefault"}},
            "tolerations": [{"operator": "Exists"}],
            # By the scheduler, whose work is to be seen as well.
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on_node]}}},
            "containers": [
                {"image": image, "imagePullPolicy": "IfNotPresent", "securityContext": secured, **container} for container in containers
            ],
        },
    }


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
