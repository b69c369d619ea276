# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The binding that gives admin.conf its rights: without it, only super-admin.conf may do anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import report
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import server_of, virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey, ObjectState, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.super_admin import ApplyAsSuperAdmin

_SUPER_ADMIN = "/etc/kubernetes/super-admin.conf"
_GROUP = "kubeadm:cluster-admins"
_RBAC = "rbac.authorization.k8s.io"
BINDING: Manifest = {
    "apiVersion": f"{_RBAC}/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": _GROUP},
    "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": _GROUP}],
}


@dataclass(frozen=True)
class Observed:
    """The binding, and whether admin.conf may not even see it; wanted is False where the release has none."""

    wanted: bool
    forbidden: bool = True
    states: Mapping[ObjectKey, ObjectState] = field(default_factory=dict)


class ClusterAdminsPhase:
    """What kubeadm does when it first gets a client from admin.conf, as read and plan.

    The world has ``api`` and ``super_api``. Before the API server runs, ``to_be_made`` says what will be needed.
    """

    name = "wait-control-plane"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Ask with admin.conf; where that is forbidden, with super-admin.conf."""
        if docs.joining or not docs.known_release.has_super_admin:
            return Observed(wanted=False)
        if virgin_host(world):
            return Observed(wanted=True)
        world.api.talk_to(server_of(docs))
        if not world.api.forbidden(key_of(BINDING)):
            return Observed(wanted=True, forbidden=False, states=world.api.observe([BINDING]))
        if not world.files.exists(_SUPER_ADMIN):
            found = f"it is missing, and there is no {_SUPER_ADMIN} to make it with"
            raise Unusable(str(key_of(BINDING)), found, "Put that file back, or have the kubeconfig phase write it")
        world.super_api.talk_to(server_of(docs))
        return Observed(wanted=True, states=world.super_api.observe([BINDING]))

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Make or mend the binding, as whoever may."""
        if not seen.wanted:
            return Plan()
        found = changes([BINDING], seen.states)
        if seen.forbidden:
            found = tuple(_as_super_admin(change) for change in found)
        return Plan(found, {"objects": report([str(key_of(BINDING))], found)})


def to_be_made(docs: Documents) -> tuple[Change, ...]:
    """What the first run has to make once the API server answers; applying it where it exists changes nothing."""
    wanted = docs.known_release.has_super_admin
    return tuple(_as_super_admin(change) for change in changes([BINDING], {})) if wanted else ()


def _as_super_admin(change: Change) -> Change:
    return replace(change, action=ApplyAsSuperAdmin(BINDING))
