# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wait-control-plane phase: a look at the control plane, and a wait where something is not healthy yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import load
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health, HealthCheck, WaitForControlPlane
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.checks import (
    API_SERVER,
    CONTROLLER_MANAGER,
    MANIFESTS,
    SCHEDULER,
    StaticPod,
    checks,
    command_of,
)


@dataclass(frozen=True)
class Observed:
    """What has to be healthy, and what a first look found."""

    checks: tuple[HealthCheck, ...]
    health: tuple[Health, ...]


class WaitControlPlanePhase:
    """kubeadm's wait-control-plane as read and plan; the wait itself is one action."""

    name = "wait-control-plane"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Find out whom to ask, and ask once."""
        pods = {}
        for component in (API_SERVER, CONTROLLER_MANAGER, SCHEDULER):
            state = world.files.read(f"{MANIFESTS}/{component}.yaml")
            command = command_of(component, _loaded(state)) if state is not None else ()
            if state is not None and command:
                pods[component] = StaticPod(command, state.mtime)
        wanted = checks(docs, pods)
        return Observed(wanted, world.health.look(wanted, docs.node.cri_socket))

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Wait when something that is required is not healthy yet."""
        facts = {"components": [_fact(health) for health in seen.health]}
        late = [health for check, health in zip(seen.checks, seen.health) if check.required and not health.healthy]
        if not late:
            return Plan(facts=facts)
        change = Change(
            target=f"control plane on {docs.node.name}",
            reason="not healthy yet: " + ", ".join(f"{health.name} ({health.found})" for health in late),
            before="".join(f"{health.name}: {'healthy' if health.healthy else health.found}\n" for health in seen.health),
            after="".join(_goal(check, health) for check, health in zip(seen.checks, seen.health)),
            action=WaitForControlPlane(seen.checks, docs.node.cri_socket),
        )
        return Plan((change,), facts)


def _goal(check: HealthCheck, health: Health) -> str:
    if health.healthy:
        return f"{check.name}: healthy\n"
    if not check.required:
        return f"{check.name}: {health.found}\n"
    return f"{check.name}: healthy, asked at {check.url} for up to {check.seconds:.0f} s\n"


def _fact(health: Health) -> dict[str, Any]:
    return {"name": health.name, "url": health.url, "healthy": health.healthy, "seconds": round(health.seconds, 3)}


def _loaded(state: FileState) -> Any:
    try:
        return load(state.content)
    except ValueError:
        raise Unusable(state.path, "it is not valid YAML", "Run the control-plane phase to have it written anew") from None
