# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of a phase: documents settled, world read, plan made and, unless checking, applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, INIT, WORKER, Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Phase, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._release import release_for
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import running_version
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter

_KIND = {INIT: "InitConfiguration", WORKER: "JoinConfiguration", CONTROL_PLANE: "JoinConfiguration"}
_ENDPOINT = {INIT: ("localAPIEndpoint",), WORKER: (), CONTROL_PLANE: ("controlPlane", "localAPIEndpoint")}
_API_SERVER = "/etc/kubernetes/manifests/kube-apiserver.yaml"


@dataclass(frozen=True)
class Outcome:
    """What a run found and did; the same with and without check mode."""

    plan: Plan

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is returned, with what only doing it has brought."""
        return self.plan.facts

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know."""
        return self.plan.warnings

    @property
    def changed(self) -> bool:
        """A plan with changes is a change, whether it was applied or only shown."""
        return bool(self.plan.real_changes)


def execute(
    phases: Phase[Any] | tuple[Phase[Any], ...],
    world: interpreter.World,
    documents: Mapping[str, Any],
    options: Mapping[str, Any],
    check: bool = False,
) -> Outcome:
    """Run a phase, or several of which each builds on the one before; with check nothing is applied."""
    docs = settle(documents, world, options)
    _give_time(world, documents, docs)
    changes: tuple[Change, ...] = ()
    warnings = docs.warnings
    facts: dict[str, Any] = {}
    for phase in phases if isinstance(phases, tuple) else (phases,):
        plan = phase.plan(docs, phase.read(docs, world, options), options)
        learned = {} if check else interpreter.apply(plan, world)
        changes += plan.changes
        warnings += plan.warnings
        facts.update({**plan.facts, **learned})
    return Outcome(Plan(changes, facts, warnings))


def _give_time(world: interpreter.World, documents: Mapping[str, Any], docs: Documents) -> None:
    """Heed a kubernetesAPICall that the documents state; kubeadm's own default is longer than a person waits for an error."""
    timeouts = documents.get(_KIND[docs.becomes], {}).get("timeouts") or {}
    if timeouts.get("kubernetesAPICall"):
        world.give_time(docs.timeouts.kubernetes_api_call.total_seconds())


def _version(world: interpreter.World) -> str:
    """Take the version of the control plane that runs here, else the kubelet's: a newer kubelet upgrades nothing."""
    running = world.files.read(_API_SERVER)
    return (running_version(running.content) if running else "") or str(world.host.kubelet_version())


def _address(world: interpreter.World, interface: str) -> str:
    found = str(world.host.address_of(interface) if interface else world.host.default_route_address())
    if interface and not found:
        raise Unusable(
            "advertise_interface",
            f"the interface {interface} has no global address on this host",
            "Name one that has, or set InitConfiguration.localAPIEndpoint.advertiseAddress",
        )
    return found


def settle(documents: Mapping[str, Any], world: interpreter.World, options: Mapping[str, Any]) -> Documents:
    """Resolve the documents with what only the host knows, and a joining host's with what only the cluster knows."""
    becomes = options.get("becomes") or INIT
    documents = _with_stored(documents, world) if becomes != INIT else documents
    # The version and the address cost a process each, so they are asked for only where the documents leave them out.
    facts = NodeFacts(
        hostname=world.host.hostname(),
        advertise_address="" if _advertised(documents, becomes) else _address(world, options.get("advertise_interface") or ""),
        kubelet_version="" if documents.get("ClusterConfiguration", {}).get("kubernetesVersion") else _version(world),
        cri_sockets=world.host.cri_sockets(),
    )
    docs = resolve(documents, facts, becomes=becomes)
    if docs.release is None:
        raise Unusable(
            "ClusterConfiguration.kubernetesVersion",
            "it is not set, and no kubelet is installed whose version could be taken",
            "Set it, for example to v1.37.1, or install the kubelet",
        )
    if not docs.node.advertise_address and becomes != WORKER:
        raise Unusable(
            ".".join((_KIND[becomes], *_ENDPOINT[becomes], "advertiseAddress")),
            "it is not set, and this host has no default route to take an address from",
            "Set it to the address by which other nodes reach this host",
        )
    return docs


def _advertised(documents: Mapping[str, Any], becomes: str) -> str:
    found = documents.get(_KIND[becomes], {})
    for name in _ENDPOINT[becomes]:
        found = found.get(name) or {}
    return str(found.get("advertiseAddress") or "")


def _with_stored(documents: Mapping[str, Any], world: interpreter.World) -> Mapping[str, Any]:
    """Complete documents that do not describe the cluster with those that it keeps; the user's own win."""
    given = documents.get("ClusterConfiguration") or {}
    if given.get("kubernetesVersion"):
        return documents
    # Only who joins a cluster of which the documents say nothing needs an API client here.
    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.stored_config import stored_documents
    from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical

    found = stored_documents(world.files, lambda version: release_for(version).kubelet_config_map)
    stored = canonical([Source(name, None, document) for name, document in found.items()]).documents
    if not given:
        return {**stored, **documents}
    version = stored.get("ClusterConfiguration", {}).get("kubernetesVersion")
    return {**documents, "ClusterConfiguration": {**given, "kubernetesVersion": version}} if version else documents
