# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The components of a joining control plane that need its etcd: their manifests are written once the member votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import Observed, StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import MakeDirectory


class FollowersPhase:
    """kubeadm's control-plane-prepare/control-plane, at another time; nothing where nobody is to follow."""

    name = "control-plane-prepare/control-plane"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed | None:
        """Read the manifests of those who follow."""
        given = _given(options)
        return StaticPodPhase().read(docs, world, given) if given["components"] else None

    def plan(self, docs: Documents, seen: Observed | None, options: Mapping[str, Any]) -> Plan:
        """Write those that differ."""
        if seen is None:
            return Plan()
        plan = StaticPodPhase().plan(docs, seen, _given(options))
        # The directory comes with the member's own manifest, unless there is none.
        made = seen.directory_mode is None and not docs.external_etcd
        return replace(plan, changes=tuple(change for change in plan.changes if not (made and isinstance(change.action, MakeDirectory))))


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, "components": options.get("followed_by") or []}
