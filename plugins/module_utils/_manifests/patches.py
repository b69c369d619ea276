# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Patch files: which of a directory apply to what, and what a document is once they are applied."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.json_patch import PatchFailed, merged, operated
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patch_text import documents
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.strategic import strategic
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState

KINDS = ("json", "merge", "strategic")

_EXTENSIONS = (".json", ".yaml")
_NAMING = "Name it TARGET[SUFFIX][+strategic|+merge|+json].yaml or .json"


@dataclass(frozen=True)
class Patch:
    """One document of a patch file."""

    path: str
    target: str
    kind: str
    body: Any = field(repr=False)


@dataclass(frozen=True)
class Patches:
    """What a directory of patches holds for the targets of a release, in the order of application."""

    found: tuple[Patch, ...] = ()
    warnings: tuple[str, ...] = ()

    def applied(self, target: str, document: Mapping[str, Any], merge_keys: Mapping[str, str]) -> dict[str, Any]:
        """Give the document with every patch for the target applied; merge_keys are for strategic patches."""
        result: Any = dict(document)
        for patch in self.found:
            if patch.target == target:
                result = _apply(patch, result, merge_keys)
                if not isinstance(result, dict):
                    raise Unusable(patch.path, "it leaves no object", f"Let it patch the fields of {target}")
        return dict(result)


def patch_files(files: Any, directory: str) -> tuple[FileState, ...]:
    """Read every file below a directory through the files adapter; no directory asked for is as good as an empty one."""
    if not directory:
        return ()
    if files.directory_mode(directory) is None:
        raise Unusable(directory, "there is no such directory on this host", "Put the patches there, or correct patches.directory")
    states = (files.read(path) for path in sorted(files.below(directory), key=lambda path: path.split("/")))
    return tuple(state for state in states if state is not None)


def read_patches(files: Sequence[FileState], targets: Sequence[str]) -> Patches:
    """Sort files by what they patch; every file that cannot be used is reported at once."""
    found: list[Patch] = []
    warnings: list[str] = []
    findings: list[Unusable] = []
    for state in files:
        try:
            target, kind, ignored = _named(state.path, targets)
            if ignored:
                warnings.append(f"{state.path} is not applied: {ignored}")
            if target:
                found += [Patch(state.path, target, kind, body) for body in _bodies(state, kind)]
        except Unusable as finding:
            findings.append(finding)
    if findings:
        raise ManyUnusable(tuple(findings))
    return Patches(tuple(found), tuple(warnings))


def _named(path: str, targets: Sequence[str]) -> tuple[str, str, str]:
    """Read target and kind from a file's name, or why the file is left out; files that are clearly no patches say nothing."""
    name = path.rpartition("/")[2]
    match = re.match(rf"({'|'.join(map(re.escape, targets))})([^.+\n]*)(\+)?({'|'.join(KINDS)})?", name)
    if len(name) <= len(".yaml") or not name.endswith(_EXTENSIONS):
        return "", "", f"its name ends neither in .yaml nor in .json. {_NAMING}" if match else ""
    if match is None:
        return "", "", f"its name begins with none of the targets {', '.join(targets)}. {_NAMING}"
    if match[3] and not match[4]:
        raise Unusable(path, f"its name has no known kind of patch after the plus sign, which must be one of {', '.join(KINDS)}", _NAMING)
    return match[1], match[4] or "strategic", ""


def _bodies(state: FileState, kind: str) -> list[Any]:
    bodies = documents(state.path, state.content)
    wanted, called = (list, "a list of operations") if kind == "json" else (dict, "a map of fields")
    if not all(isinstance(body, wanted) for body in bodies):
        raise Unusable(
            state.path, f"a patch of kind {kind} must be {called}, and it holds something else", "Mend it, or give it the right kind"
        )
    return bodies


def _apply(patch: Patch, document: dict[str, Any], merge_keys: Mapping[str, str]) -> Any:
    try:
        if patch.kind == "json":
            return operated(document, patch.body)
        if patch.kind == "merge":
            return merged(document, patch.body)
        return strategic(document, patch.body, merge_keys)
    except PatchFailed as problem:
        raise Unusable(patch.path, f"it cannot be applied to {patch.target}: {problem}", "Mend the patch and run again") from None
