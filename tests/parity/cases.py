# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The corpus: kubeadm documents, the releases they apply to and what must lie on disk before they are rendered."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

CONFIGS = Path(__file__).parent / "configs"

EVERY_RELEASE = (
    "1.22.17",
    "1.23.17",
    "1.24.17",
    "1.25.9",
    "1.26.13",
    "1.27.8",
    "1.28.15",
    "1.29.15",
    "1.30.5",
    "1.31.4",
    "1.32.5",
    "1.33.13",
    "1.34.10",
    "1.35.8",
    "1.36.4",
    "1.37.1",
)
USUAL_RELEASES = ("1.22.17", "1.28.15", "1.37.1")


def chosen(named: str) -> tuple[str, ...]:
    """The releases of a run: the usual ones, all, or those that are listed."""
    if named == "all":
        return EVERY_RELEASE
    return tuple(named.split(",")) if named else USUAL_RELEASES


RELEASES = chosen(os.environ.get("KUBEPHASE_PARITY", ""))

FIRST_V1BETA4_MINOR = 31
DIRECTIVE = re.compile(r"# (from|until|given): (\S+)")


def minor_of(release: str) -> int:
    """The 31 of 1.31 and of 1.31.4."""
    return int(release.split(".")[1])


@dataclass(frozen=True)
class Case:
    """One kubeadm.yaml of the corpus."""

    name: str
    text: str
    first_minor: int
    last_minor: int
    given: str

    def applies_to(self, release: str) -> bool:
        """Whether kubeadm of that release can read the document."""
        return self.first_minor <= minor_of(release) <= self.last_minor

    def document(self, release: str) -> str:
        """The document as that release reads it: its schema version, and the Kubernetes version that it is to render."""
        text = self.text
        if minor_of(release) < FIRST_V1BETA4_MINOR:
            text = text.replace("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3")
        kind = "kind: ClusterConfiguration\n"
        return text.replace(kind, f"{kind}kubernetesVersion: v{release}\n")


def read_case(path: Path) -> Case:
    """A corpus file with the directives of its leading comment."""
    text = path.read_text(encoding="utf-8")
    directives = {match[1]: match[2] for line in text.splitlines() if (match := DIRECTIVE.fullmatch(line))}
    return Case(
        name=path.stem,
        text=text,
        first_minor=minor_of(directives.get("from", "1.22")),
        last_minor=minor_of(directives.get("until", "1.99")),
        given=directives.get("given", ""),
    )


def corpus() -> tuple[Case, ...]:
    """Every case, by name."""
    return tuple(read_case(path) for path in sorted(CONFIGS.glob("*.yaml")))


def case_named(name: str) -> Case:
    """One case of the corpus."""
    return read_case(CONFIGS / f"{name}.yaml")


def pairs(releases: tuple[str, ...]) -> list[tuple[Case, str]]:
    """Every case with every one of the releases that it applies to."""
    return [(case, release) for release in releases for case in corpus() if case.applies_to(release)]
