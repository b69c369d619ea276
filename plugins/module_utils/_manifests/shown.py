# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a diff of manifests shows: the whole pod, but no value of an environment variable."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import dump

HIDDEN = "<hidden>"
HIDDEN_OTHER = "<hidden, another value>"


def shown(pod: Any, compared_with: Any = None) -> str:
    """Write a pod for people; a value that is not the one of the pod compared with is marked, not told."""
    copied = copy.deepcopy(pod)
    known = _values(compared_with)
    for container, entry in _variables(copied):
        if "value" in entry:
            other = known.get((container, entry.get("name")), entry["value"]) != entry["value"]
            entry["value"] = HIDDEN_OTHER if other else HIDDEN
    return dump(copied)


def _values(pod: Any) -> dict[tuple[Any, Any], Any]:
    return {(container, entry.get("name")): entry.get("value", "") for container, entry in _variables(pod)}


def _variables(pod: Any) -> list[tuple[Any, dict[str, Any]]]:
    spec = pod.get("spec") if isinstance(pod, dict) else None
    found: list[tuple[Any, dict[str, Any]]] = []
    for group in ("containers", "initContainers"):
        containers = spec.get(group) if isinstance(spec, dict) else None
        for container in containers if isinstance(containers, list) else ():
            env = container.get("env") if isinstance(container, dict) else None
            found += [(container.get("name"), entry) for entry in env if isinstance(entry, dict)] if isinstance(env, list) else []
    return found
