# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a Node has the labels and taints of the inventory, seen from its own host: what a play decides by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.phase import NodeSettingsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.wanted import LABELS, TAINTS
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable


class NodeSettingsState:
    """A look that changes nothing, and that is taken only where the inventory says something of labels or taints."""

    name = "node-settings"

    def __init__(self) -> None:
        self._phase = NodeSettingsPhase()

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> bool:
        """Compare the Node with the inventory; what cannot be asked now is looked at again by who sets it."""
        if options.get(LABELS) is None and options.get(TAINTS) is None:
            return False
        try:
            seen = self._phase.read(docs, world, options)
        except Unusable:
            return True
        return bool(self._phase.plan(docs, seen, options).changes)

    def plan(self, docs: Documents, seen: bool, options: Mapping[str, Any]) -> Plan:
        """Tell it."""
        return Plan(facts={"node_settings": {"node": docs.node.name, "pending": seen}})
