# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small workload that proves a cluster, as a plan asks for it and as the answers to it are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

READY, ANSWERS, REACH, SERVICE, DNS = "ready", "answers", "reach", "service", "dns"
# What each step shows, in the order in which they build on each other.
STEPS: Mapping[str, str] = {
    READY: "the Node is Ready",
    ANSWERS: "a pod runs on it",
    REACH: "a pod on another node is reached from it",
    SERVICE: "the address of a Service answers on it",
    DNS: "the name of a Service is found on it",
}


@dataclass(frozen=True)
class ProveCluster(Action):
    """Wait for the nodes, run the workload in a namespace of its own, and remove it whatever came of it."""

    changes_something = False

    nodes: tuple[str, ...]
    image: str
    dns_domain: str
    # Before the random part.
    namespace: str
    seconds: float
    # How long it is waited for that everything is gone again.
    removal_seconds: float = 60.0
    poll_seconds: float = 0.5


@dataclass(frozen=True)
class PodVerdict:
    """What the status of a pod tells: it is at its goal, it has failed for good, or neither yet."""

    done: bool = False
    failed: bool = False
    # What keeps it, or why it failed; of a pod that asks, by the step that each of its containers takes.
    found: str = ""
    steps: Mapping[str, str] = field(default_factory=dict)


def node_problem(node: Manifest | None) -> str:
    """Say why a Node is not Ready, or nothing."""
    if node is None:
        return "the cluster has no such Node"
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == READY.capitalize():
            if condition.get("status") == "True":
                return ""
            return f"it is not Ready: {condition.get('message') or condition.get('reason') or 'no reason is given'}"
    return "it has not told whether it is Ready"


def answering(pod: Manifest) -> PodVerdict:
    """Judge a pod that is to answer: it must be Ready."""
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True" and status.get("podIP"):
            return PodVerdict(done=True)
    return PodVerdict(found=_kept(status))


def asking(pod: Manifest) -> PodVerdict:
    """Judge a pod whose containers ask, each once: how each ended is what the step came to."""
    status = pod.get("status") or {}
    ended: dict[str, str] = {}
    for container in status.get("containerStatuses") or ():
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is not None:
            said = " ".join(str(terminated.get("message") or "").split())
            good = terminated.get("exitCode") == 0
            ended[str(container.get("name"))] = "" if good else said or f"it ended with {terminated.get('exitCode')}"
    wanted = [str(each.get("name")) for each in (pod.get("spec") or {}).get("containers") or ()]
    if not wanted or set(wanted) - set(ended):
        return PodVerdict(found=_kept(status), steps=ended)
    return PodVerdict(done=not any(ended.values()), failed=any(ended.values()), steps=ended)


def _kept(status: Mapping[str, Any]) -> str:
    """Say what keeps a pod from running, as far as its status tells."""
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        stuck = state.get("waiting") or state.get("terminated") or {}
        said = ": ".join(str(each) for each in (stuck.get("reason"), stuck.get("message")) if each)
        if said and stuck.get("exitCode") != 0 and stuck.get("reason") not in ("ContainerCreating", "PodInitializing"):
            return said
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"it is not scheduled: {condition.get('message') or condition.get('reason') or ''}".rstrip(": ")
    return f"its phase is {status.get('phase') or 'not known'}"
