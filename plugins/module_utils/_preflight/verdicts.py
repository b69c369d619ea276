# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What one check concluded, how severe that is, and the report of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import ERROR, WARNING

PASSED = "passed"
# What would be in the way of a first run is there, and it is proven to be this cluster's own.
OWNED = "owned"
WARNED = "warned"
IGNORED = "ignored"
FAILED = "failed"

_ORDER = (PASSED, OWNED, WARNED, IGNORED, FAILED)


@dataclass(frozen=True)
class Verdict:
    """One conclusion: what was found and how to mend it."""

    outcome: str
    found: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Conclusion:
    """A check with everything that it concluded, the worst deciding."""

    name: str
    severity: str
    outcome: str
    found: str = ""
    fix: str = ""

    @property
    def line(self) -> str:
        """The check as a warning shows it."""
        return f"preflight {self.name}: {self.found}. {self.fix}" if self.fix else f"preflight {self.name}: {self.found}"

    def fact(self) -> dict[str, str]:
        """The check as a machine reads it."""
        return {"name": self.name, "severity": self.severity, "outcome": self.outcome, "found": self.found, "fix": self.fix}


class PreflightFailed(ManyUnusable):
    """Every check that failed; the facts tell of all checks, the others too."""

    def __init__(self, conclusions: Sequence[Conclusion]) -> None:
        failed = tuple(Unusable(each.name, each.found, each.fix) for each in conclusions if each.outcome == FAILED)
        super().__init__(failed, {"checks": [each.fact() for each in conclusions]})
        # What is only warned of may well be the cause.
        self.warnings = warnings_of(conclusions)


def passed(found: str = "") -> Verdict:
    """Nothing to mend."""
    return Verdict(PASSED, found)


def owned(found: str) -> Verdict:
    """In the way, but this cluster's own."""
    return Verdict(OWNED, found)


def against(severity: str, found: str, fix: str) -> Verdict:
    """A finding, as bad as the release says it is."""
    return Verdict(WARNED if severity == WARNING else FAILED, found, fix)


def conclude(name: str, severity: str, verdicts: Iterable[Verdict], ignored: frozenset[str]) -> Conclusion:
    """Join the verdicts of one check; an ignored failure becomes a warning, as with kubeadm."""
    judged = list(verdicts) or [passed()]
    outcome = max((each.outcome for each in judged), key=_ORDER.index)
    telling = [each for each in judged if each.outcome == outcome or each.outcome in (WARNED, FAILED)]
    if outcome == FAILED and ("all" in ignored or name.lower() in ignored):
        outcome = IGNORED
    if outcome in (WARNED, IGNORED, FAILED):
        severity = WARNING if outcome == WARNED else ERROR
    elif severity != WARNING:
        severity = ERROR
    return Conclusion(
        name, severity, outcome, _joined("; ", (each.found for each in telling)), _joined(". ", (each.fix for each in telling))
    )


def warnings_of(conclusions: Iterable[Conclusion]) -> tuple[str, ...]:
    """List what a person should be warned of."""
    return tuple(each.line for each in conclusions if each.outcome in (WARNED, IGNORED))


def _joined(glue: str, parts: Iterable[str]) -> str:
    return glue.join(dict.fromkeys(part for part in parts if part))
