# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The members of etcd as a report tells of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.cluster import access, find_endpoints, unarmed
from ansible_collections.kubephase.cluster.plugins.module_utils._info.unread import Unread
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.etcd import ETCD
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import manifest_path
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import EtcdAccess, EtcdState, EtcdView, told

PART = "etcd"


def members(docs: Documents, world: Any, unread: Unread) -> list[dict[str, Any]]:
    """Ask every member how it is; a worker has nothing to ask with."""
    if docs.becomes == WORKER or not _armed(docs, world, unread):
        return []
    view: EtcdView | None = unread.attempt(PART, lambda: _look(docs, world), None)
    if view is None:
        return []
    states = {member.identity: view.states.get(member.identity, EtcdState()) for member in view.members}
    leaders = {state.leader for state in states.values()}
    return [
        {
            **fact,
            "leader": member.identity in leaders,
            "version": states[member.identity].version,
            "db_size": states[member.identity].size,
        }
        for fact, member in zip(told(view), view.members)
    ]


def _armed(docs: Documents, world: Any, unread: Unread) -> bool:
    if docs.external_etcd:
        return True
    missing = unarmed(docs, world)
    # On a host without a cluster there is nothing to tell of.
    if missing and world.files.exists(manifest_path(ETCD)):
        unread.note(PART, missing, "it does not exist, so nobody can be asked")
    return not missing


def _look(docs: Documents, world: Any) -> EtcdView:
    external = docs.cluster.etcd.external
    if external is not None:
        endpoints = external.endpoints
        held = EtcdAccess(external.ca_file, external.cert_file, external.key_file, float(docs.known_release.etcd_call_seconds))
    else:
        endpoints, held = find_endpoints(docs, world, {}, world.files.read(manifest_path(ETCD))), access(docs)
    found: EtcdView = world.etcd.look(endpoints, held)
    return found
