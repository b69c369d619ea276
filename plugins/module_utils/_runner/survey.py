# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All phases in one process: read and plan each, apply none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url
from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import PARTS
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Phase, Plan, Unusable

STATE = "state"
RUNS_WITH = ("certs", "kubeconfig", "kubelet-start", "control-plane", "etcd")
_PREPARE = "control-plane-prepare"
JOINED_RUNS_WITH = (f"{_PREPARE}/certs", f"{_PREPARE}/kubeconfig", f"{_PREPARE}/control-plane", "kubelet-start", "etcd-join")
# What must have done its work before the API server can be asked.
_MAKE_THE_API = (*RUNS_WITH, *JOINED_RUNS_WITH, "wait-control-plane")


@dataclass(frozen=True)
class Follows:
    """Another phase whose changes, or the change of one target, give work; unless that fact of the own plan is true."""

    phase: str
    target: str = ""
    unless: str = ""


@dataclass(frozen=True)
class Surveyed:
    """A phase to plan; asks_api: it needs the API server for that; wanted: the option that asks for it.

    One without a phase has nothing to do on a host that is a member already.
    """

    name: str
    phase: Phase[Any] | None
    options: Mapping[str, Any] = field(default_factory=dict)
    asks_api: bool = False
    wanted: str = ""
    follows: tuple[Follows, ...] = ()
    # Looked at whatever was chosen, and not told of unless it refuses.
    always: bool = False


@dataclass
class Finding:
    """What one phase would do; with a reason, what could not be looked into."""

    name: str
    changes: list[Change] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        """Whether it has something to do, as far as can be known."""
        return bool(self.changes or self.reason)

    def will_change(self, target: str) -> bool:
        """Whether it changes a target, or anything when none is named."""
        return bool(self.reason) or any(not target or change.target == target for change in self.changes)

    def fact(self) -> dict[str, Any]:
        """Describe it for the result."""
        changes = [{"target": each.target, "reason": each.reason, "before": each.before, "after": each.after} for each in self.changes]
        return {"name": self.name, "pending": self.pending, "reason": self.reason, "changes": changes}


class Survey:
    """Phases in their order, seen as one phase that never changes anything."""

    name = "plan"

    def __init__(self, phases: Sequence[Surveyed]) -> None:
        self._phases = phases

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> tuple[Finding, ...]:
        """Read and plan phase by phase, because what an earlier one has yet to make hides what a later one would find."""
        findings: dict[str, Finding] = {}
        problems: list[Unusable] = []
        chosen = self._chosen(options)
        for each in chosen:
            finding = findings.setdefault(each.name, Finding(each.name))
            if not each.always:
                finding.reason = _known(findings, docs, options)
            if finding.reason or each.phase is None:
                continue
            missing = [name for name in _MAKE_THE_API if name in findings and findings[name].pending]
            try:
                given = {**options, **each.options, **_parts(each.name, options)}
                plan = each.phase.plan(docs, each.phase.read(docs, world, given), given)
            except (Unusable, ManyUnusable) as problem:
                if each.asks_api and missing:
                    finding.reason = f"it cannot be known before {', '.join(missing)} is done"
                    continue
                problems += problem.findings if isinstance(problem, ManyUnusable) else [problem]
                continue
            finding.changes += plan.changes
            finding.warnings += plan.warnings
            finding.facts.update(plan.facts)
        if problems:
            raise ManyUnusable(tuple(problems))
        _follow(findings, chosen)
        return tuple(findings.values())

    def plan(self, docs: Documents, seen: tuple[Finding, ...], options: Mapping[str, Any]) -> Plan:
        """Tell what each phase would change; the survey itself changes nothing."""
        state = next((found.facts for found in seen if found.name == STATE), {})
        shown = {each.name for each in self._phases if not each.always}
        seen = tuple(found for found in seen if found.name in shown)
        pending = [found.name for found in seen if found.pending]
        # The checks of preflight are worth their time only where something is about to be done.
        facts = {
            "pending": ["preflight", *pending] if pending else [],
            "phases": [found.fact() for found in seen],
            "endpoint": control_plane_url(docs),
            "first_expiry": _first_expiry(seen),
            **state,
        }
        return Plan(facts=facts, warnings=tuple(dict.fromkeys(warning for found in seen for warning in found.warnings)))

    def _chosen(self, options: Mapping[str, Any]) -> list[Surveyed]:
        phases = options.get("phases")
        asked = [each for each in self._phases if not each.wanted or options.get(each.wanted)]
        return asked if phases is None else [each for each in asked if each.always or each.name in phases]


def _known(findings: Mapping[str, Finding], docs: Documents, options: Mapping[str, Any]) -> str:
    """Say why a phase has work without looking at it, or nothing."""
    if options.get("everything"):
        return "it was asked for by name"
    if docs.joining and STATE in findings and not findings[STATE].facts["joined"]:
        return "this host has yet to join"
    return ""


def _first_expiry(findings: Sequence[Finding]) -> dict[str, str]:
    """Find what expires first of all that the phases make, as it will be after the run."""
    made = [each for found in findings for group in ("certificates", "kubeconfigs") for each in found.facts.get(group, ())]
    dated = sorted((each["expires"], each["path"]) for each in made if each["expires"])
    return {"path": dated[0][1], "expires": dated[0][0]} if dated else {}


def _follow(findings: Mapping[str, Finding], phases: Sequence[Surveyed]) -> None:
    """Name what earlier phases will give work to, although there is none to be seen yet."""
    for each in phases:
        finding = findings.get(each.name)
        if finding is None or finding.pending:
            continue
        causes = [
            cause.phase
            for cause in each.follows
            if cause.phase in findings and findings[cause.phase].will_change(cause.target) and not finding.facts.get(cause.unless)
        ]
        if causes:
            finding.reason = f"it follows {', '.join(causes)}"


def _parts(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    chosen = (options.get("phases") or {}).get(name)
    return {PARTS[name].option: chosen} if chosen else {}
