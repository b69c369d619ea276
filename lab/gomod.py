# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The go.mod and the go build command line of a program, as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lab.recipes import Program

_STAGING = re.compile(r"^\s*(?:replace\s+)?(k8s\.io/[a-z0-9.-]+)\s+=>\s+\./staging/", re.MULTILINE)


def staging_modules(kubernetes_go_mod: str) -> list[str]:
    """Read from Kubernetes' own go.mod which modules live in its staging directory."""
    return sorted(set(_STAGING.findall(kubernetes_go_mod)))


def staging_version(kubernetes_version: str) -> str:
    """Staging modules are published as v0 with the minor and patch of their release."""
    return f"v0.{kubernetes_version.split('.', 1)[1]}"


def render(program: Program, staging: Iterable[str]) -> str:
    """Write a main module that requires the program and stands in for what its own go.mod replaces.

    Replacements of a dependency do not count for whoever requires it, so the staging ones must be said again.
    """
    replaced = [(module, staging_version(program.version)) for module in staging] + list(program.replace)
    lines = ["module kubephase.lab/build", "", "go 1.21", "", f"require {program.module} v{program.version}"]
    if replaced:
        lines += ["", "replace (", *(f"\t{module} => {module} {version}" for module, version in replaced), ")"]
    return "\n".join(lines) + "\n"


def build_arguments(program: Program, output: str) -> Sequence[str]:
    """Spell the go build of a program."""
    return ("build", "-mod=mod", "-trimpath", "-ldflags", " ".join(("-s -w", *program.link)), "-o", output, *program.packages)
