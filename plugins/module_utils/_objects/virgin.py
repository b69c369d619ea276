# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host on which no cluster was ever made: there, nothing can be asked, and everything would be created."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey, ObjectState

ADMIN = "/etc/kubernetes/admin.conf"
MANIFESTS = "/etc/kubernetes/manifests"
# A static pod of somebody else's, such as one that carries a virtual address, may be there before the cluster is.
_STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
_SIGNS = (ADMIN, *(f"{MANIFESTS}/{name}.yaml" for name in _STATIC_PODS))


@dataclass(frozen=True)
class Seen:
    """What the API said about some objects; on a virgin host nobody was asked."""

    virgin: bool
    states: Mapping[ObjectKey, ObjectState] = field(default_factory=dict)


def is_virgin(present: Collection[str]) -> bool:
    """Judge by the files that are there: neither admin.conf nor a manifest of the control plane."""
    return not any(sign in present for sign in _SIGNS)


def virgin_host(world: Any) -> bool:
    """Look for the signs of a cluster on the host."""
    return is_virgin([sign for sign in _SIGNS if world.files.exists(sign)])


def server_of(docs: Documents) -> str:
    """The API server to ask: for init this node's own where the release does so, else the one that admin.conf names."""
    return local_url(docs) if docs.known_release.init_asks_local_api and not docs.joining else ""


def read_objects(world: Any, manifests: Sequence[Manifest], docs: Documents | None = None) -> Seen:
    """Ask the API server about objects, unless the host is virgin; with documents, the server that the release asks."""
    if virgin_host(world):
        return Seen(virgin=True)
    if docs is not None:
        world.api.talk_to(server_of(docs))
    return Seen(virgin=False, states=world.api.observe(manifests))
