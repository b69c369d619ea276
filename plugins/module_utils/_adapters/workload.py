# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The workload that proves a cluster: made, watched through the API alone, and removed whatever came of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, Manifest, ObjectKey, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload import (
    ANSWERS,
    DNS,
    REACH,
    READY,
    SERVICE,
    STEPS,
    ProveCluster,
    answering,
    asking,
    node_problem,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.workload_manifests import (
    answer,
    answer_name,
    namespace,
    neighbour,
    question,
    service,
    service_name,
)

_FIX = {
    READY: "Look at the kubelet's log on that node and at the network plugin, and run again",
    ANSWERS: "See that the node can get the image, or name another with the option image (kubephase_verify_image), and run again",
    REACH: "Look at the network plugin's pods on both nodes, and for a firewall between them, and run again",
    SERVICE: "Look at the log of kube-proxy on that node, and run again",
    DNS: "Look at CoreDNS (kubectl -n kube-system get pods -l k8s-app=kube-dns) and at clusterDNS of the kubelet, and run again",
}


class WorkloadApi(Api):
    """An API server whose cluster is put to the proof."""

    applies: tuple[type[Action], ...] = (ProveCluster, DeleteObject)

    def apply(self, action: Action) -> Mapping[str, Any]:  # type: ignore[override]
        """Carry out one of the actions of ``applies``."""
        if not isinstance(action, ProveCluster):
            super().apply(action)
            return {}
        begun = time.monotonic()
        proof = _Proof(action, begun + action.seconds)
        self._await_nodes(proof)
        where = f"{action.namespace}-{secrets.token_hex(4)}"
        try:
            self._make(namespace(where), proof)
            addresses = self._await_answers(where, proof)
            self._ask(where, addresses, proof)
        except BaseException:
            # What went wrong is worth more than what is wrong with tidying up.
            with suppress(Unusable):
                self._remove(where, action)
            raise
        self._remove(where, action)
        asked = {node: action.nodes[neighbour(index, action.nodes)] for index, node in enumerate(action.nodes)}
        verified = [{"node": node, "asked": other, "steps": list(STEPS)} for node, other in asked.items()]
        return {"verified": verified, "seconds": round(time.monotonic() - begun, 1)}

    def _await_nodes(self, proof: _Proof) -> None:
        while True:
            known = {str(node["metadata"]["name"]): node for node in self.list("v1", "Node")}
            late = {node: problem for node in proof.action.nodes for problem in [node_problem(known.get(node))] if problem}
            proof.go_on((node, READY, problem) for node, problem in late.items())
            if not late:
                return

    def _await_answers(self, where: str, proof: _Proof) -> dict[int, tuple[str, str]]:
        """Let a pod run on every node, behind a Service of its own; give the address of each."""
        services: dict[int, str] = {}
        for index, node in enumerate(proof.action.nodes):
            services[index] = str(self._make(service(where, index), proof)["spec"]["clusterIP"])
            self._make(answer(where, index, node, proof.action.image), proof)
        while True:
            pods = {str(pod["metadata"]["name"]): pod for pod in self.list("v1", "Pod", where)}
            verdicts = {index: answering(pods.get(answer_name(index), {})) for index in services}
            late = [(proof.action.nodes[index], ANSWERS, each.found) for index, each in verdicts.items() if not each.done]
            proof.go_on(late)
            if not late:
                return {index: (str(pods[answer_name(index)]["status"]["podIP"]), address) for index, address in services.items()}

    def _ask(self, where: str, addresses: Mapping[int, tuple[str, str]], proof: _Proof) -> None:
        """Let every node ask its neighbour, again where it fails: rules and names take a moment to get around."""
        nodes = proof.action.nodes
        tries = dict.fromkeys(addresses, 0)
        last: dict[int, Mapping[str, str]] = {}
        for index in tries:
            self._make(self._question(where, index, 0, addresses, proof.action), proof)
        while True:
            pods = {str(pod["metadata"]["name"]): pod for pod in self.list("v1", "Pod", where)}
            for index, count in list(tries.items()):
                verdict = asking(pods.get(_question_name(index, count), {}))
                if verdict.done:
                    del tries[index]
                    continue
                if count == 0:
                    last[index] = {ANSWERS: verdict.found}
                if verdict.failed:
                    last[index] = verdict.steps
                    self._delete(ObjectKey("v1", "Pod", where, _question_name(index, count)))
                    tries[index] = count + 1
                    self._make(self._question(where, index, count + 1, addresses, proof.action), proof)
            proof.go_on(
                (nodes[index], step, f"asking for {nodes[neighbour(index, nodes)]}: {said}")
                for index in tries
                for step, said in last[index].items()
                if said
            )
            if not tries:
                return

    def _question(self, where: str, index: int, count: int, addresses: Mapping[int, tuple[str, str]], action: ProveCluster) -> Manifest:
        other = neighbour(index, action.nodes)
        name = service_name(where, other, action.dns_domain)
        return question(where, _question_name(index, count), action.nodes[index], action.image, addresses[other], name)

    def _make(self, manifest: Manifest, proof: _Proof) -> Manifest:
        """Create an object; the account that pods need appears in a new namespace a moment after it."""
        key = key_of(manifest)
        path = self._known_path(key._replace(name=""))
        while True:
            reply = self._send("POST", path, {"fieldManager": api_fields.MANAGER}, manifest)
            if reply.status == 409:
                # The namespace is ours alone: an earlier try of this same request got through.
                return self.get(key) or manifest
            if reply.status != 403 or "serviceaccount" not in reply.message.lower() or proof.over:
                return self._body(reply, str(key), "created")
            time.sleep(proof.action.poll_seconds)

    def _remove(self, where: str, action: ProveCluster) -> None:
        key = ObjectKey("v1", "Namespace", "", where)
        self._delete(key)
        end = time.monotonic() + action.removal_seconds
        while self.get(key) is not None:
            if time.monotonic() > end:
                found = f"it was deleted, and is still there after {action.removal_seconds:.0f} s"
                raise Unusable(str(key), found, f"See what holds it: kubectl get namespace {where} -o yaml, at status.conditions")
            time.sleep(action.poll_seconds)


class _Proof:
    """What is to be shown, and until when."""

    def __init__(self, action: ProveCluster, end: float) -> None:
        self.action = action
        self._end = end

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self._end

    def go_on(self, late: Iterable[tuple[str, str, str]]) -> None:
        """Pause while something is not there yet; once the time is up, it is the error."""
        findings = [_late(node, step, found, self.action.seconds) for node, step, found in late]
        if findings and self.over:
            raise ManyUnusable(tuple(findings))
        if findings:
            time.sleep(self.action.poll_seconds)


def _question_name(index: int, count: int) -> str:
    return f"ask-{index}-{count}"


def _late(node: str, step: str, found: str, seconds: float) -> Unusable:
    return Unusable(f"node {node}, step {step}", f"not shown within {seconds:.0f} s that {STEPS[step]}: {found}", _FIX[step])
