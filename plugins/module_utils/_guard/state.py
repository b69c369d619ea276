# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a control plane host is to the cluster: untouched, serving, or somewhere in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url, local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import HealthCheck

_PATH = "/livez"
# Any answer by status is that of a server; what does not even get that far is not.
_STATUS = "it answers with status"


@dataclass(frozen=True)
class Observed:
    """Whether there is anything of a cluster here, and who answers."""

    virgin: bool
    local: bool
    endpoint: bool


class ControlPlaneState:
    """A look at a host that changes nothing."""

    name = "control-plane-state"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look for files and ask both addresses once, without credentials."""
        asked = (HealthCheck("local", local_url(docs) + _PATH, 0), HealthCheck("endpoint", control_plane_url(docs) + _PATH, 0))
        answers = {health.name: health.healthy or _STATUS in health.found for health in world.health.look(asked)}
        return Observed(virgin_host(world), answers["local"], answers["endpoint"])

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Name the state."""
        state = "virgin" if seen.virgin else "serving" if seen.local else "stopped"
        facts = {"state": state, "endpoint": control_plane_url(docs), "endpoint_answers": seen.endpoint}
        return Plan(facts=facts)
