# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Node with marks added: pure, because the plan shows what the adapter then does to a fresh copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, PatchNode


def marks(node: Manifest, wanted: PatchNode) -> dict[str, Any]:
    """The merge patch that is still missing on a node; empty when it carries all that is wanted."""
    metadata = node.get("metadata", {})
    patch: dict[str, Any] = {}
    for name, values in (("labels", wanted.labels), ("annotations", wanted.annotations)):
        present = metadata.get(name) or {}
        missing = {key: value for key, value in values.items() if present.get(key) != value}
        if missing:
            patch.setdefault("metadata", {})[name] = missing
    present_taints = node.get("spec", {}).get("taints") or []
    if any(not _carried(present_taints, taint) for taint in wanted.taints):
        patch["spec"] = {"taints": with_taints(present_taints, wanted.taints)}
    return patch


def with_taints(present: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All taints of a node, ours first as kubeadm orders them; a taint is told apart by its key and effect."""
    own = {_identity(taint) for taint in wanted}
    return [dict(taint) for taint in wanted] + [dict(taint) for taint in present if _identity(taint) not in own]


def _carried(present: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> bool:
    return any(_identity(taint) == _identity(wanted) and (taint.get("value") or "") == (wanted.get("value") or "") for taint in present)


def _identity(taint: Mapping[str, Any]) -> tuple[str, str]:
    return str(taint.get("key", "")), str(taint.get("effect", ""))
