# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All that prepare would do, found in one call: which of its parts have something to do on a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Phase, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare import bundle_images, node_packages


@dataclass
class Finding:
    """What one part would do; with a reason, what could not be looked into."""

    name: str
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def pending(self) -> bool:
        """Whether it has something to do, as far as can be known."""
        return bool(self.reason) or any(change.action.changes_something for change in self.changes)

    def fact(self) -> dict[str, Any]:
        """Describe it for the result."""
        changes = [
            {"target": each.target, "reason": each.reason, "before": each.before, "after": each.after}
            for each in self.changes
            if each.action.changes_something
        ]
        return {"name": self.name, "pending": self.pending, "reason": self.reason, "changes": changes}


class PrepareSurvey:
    """The parts of prepare in their order, seen as one phase that never changes anything."""

    name = "prepare"

    def __init__(self, *phases: Phase[Any]) -> None:
        self._phases = phases

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> tuple[Finding, ...]:
        """Read and plan part by part; every refusal is told at once."""
        given = {**options, "parts": (node_packages.PART, bundle_images.PART)}
        findings: list[Finding] = []
        problems: list[Unusable] = []
        for phase in self._phases:
            try:
                plan = phase.plan(docs, phase.read(docs, world, given), given)
            except (Unusable, ManyUnusable) as problem:
                problems += problem.findings if isinstance(problem, ManyUnusable) else [problem]
                continue
            findings.append(Finding(phase.name, plan.changes, plan.warnings, plan.facts))
        if problems:
            # Parts may stumble over the same thing.
            raise ManyUnusable(tuple({str(problem): problem for problem in problems}.values()))
        return tuple(findings)

    def plan(self, docs: Documents, seen: tuple[Finding, ...], options: Mapping[str, Any]) -> Plan:
        """Tell what each part would change; the survey itself changes nothing."""
        pending = [found.name for found in seen if found.pending]
        facts = {"pending": pending, "parts": [found.fact() for found in seen]}
        # Parts that run tell of their own warnings.
        return Plan(facts=facts, warnings=tuple(text for found in seen if not found.pending for text in found.warnings))
