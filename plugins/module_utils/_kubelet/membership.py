# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a joining host has of the cluster before its kubelet starts: bootstrap credentials, the CA, a name of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url, local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import JoinConfiguration
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import Kubeconfig, dump, parse
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.table import kubelet_talks_locally
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import BOOTSTRAP, KUBECONFIG, rotating_certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.bootstrap import names, user_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, FollowFile, RequireFile, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

_DISCOVER = "Run the discovery phase first, which writes it"
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True)
class Membership:
    """What there is; admitted: the kubelet has its certificate, so that the Node of its name is its own."""

    admitted: bool
    kubeconfig: FileState | None = None
    bootstrap: FileState | None = None
    authority: FileState | None = None
    node: Manifest | None = None


def membership(docs: Documents, world: Any) -> Membership:
    """Look at the files and, while the kubelet is not admitted, at who has its name; through ``node_api`` and ``bootstrap_api``."""
    admitted = world.node_api.admitted()
    bootstrap = world.files.read(BOOTSTRAP)
    node = None
    if not admitted and bootstrap is not None and not _was_admitted(docs, world.files.read(rotating_certificate(docs))):
        # The file of a control plane may lead to an API server that is yet to come.
        shared = docs.becomes == CONTROL_PLANE and docs.cluster.control_plane_endpoint
        world.bootstrap_api.talk_to(control_plane_url(docs) if shared else "")
        node = world.bootstrap_api.get(node_key(docs.node.name))
    return Membership(admitted, world.files.read(KUBECONFIG), bootstrap, world.files.read(_authority_path(docs)), node)


def arrangements(docs: Documents, seen: Membership) -> list[Change]:
    """What has to be in place before the kubelet may start; raises Unusable where it must not."""
    if not seen.admitted:
        _refuse_a_name_in_use(docs, seen.node)
    source = seen.kubeconfig if seen.admitted else seen.bootstrap
    if source is None:
        return _foreseen(docs, seen)
    found = parse(source.path, source.content)
    return [*_authority(docs, seen, found), *([] if seen.admitted else _pointed(docs, found))]


def restart_reason(seen: Membership) -> str:
    """Why a kubelet that runs with all of its files has to be restarted all the same, or nothing."""
    if seen.admitted:
        return ""
    if seen.bootstrap is None:
        return "it runs without bootstrap-kubelet.conf"
    # It writes kubelet.conf as soon as it has read the other one, before it has a certificate.
    return "" if _is_kubeconfig(seen.kubeconfig) else "it has not taken up bootstrap-kubelet.conf"


def _refuse_a_name_in_use(docs: Documents, node: Manifest | None) -> None:
    conditions = ((node or {}).get("status") or {}).get("conditions") or ()
    if any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions):
        raise Unusable(
            str(node_key(docs.node.name)),
            "the cluster has a node of this name, and it is Ready: it is another host, or this one before it was set up anew",
            "Give this host another name in nodeRegistration.name, or delete that Node first",
        )


def _foreseen(docs: Documents, seen: Membership) -> list[Change]:
    """Without the file there is nothing to start with; what it will bring can be told all the same."""
    needed = Change(BOOTSTRAP, "the kubelet has no other credentials yet", "", "", RequireFile(BOOTSTRAP, _DISCOVER))
    path = _authority_path(docs)
    if seen.authority is not None:
        return [needed]
    return [needed, Change(path, "it does not exist", "", "the cluster's certificate authority\n", FollowFile(BOOTSTRAP, _DISCOVER))]


def _authority(docs: Documents, seen: Membership, found: Kubeconfig) -> list[Change]:
    """The CA by which the kubelet knows the API server: written where there is none, never overwritten."""
    path = _authority_path(docs)
    if seen.authority is None:
        action = WriteFile(path, found.authority, 0o644)
        return [Change(path, "it does not exist", "", "the cluster's certificate authority\n", action)] if found.authority else []
    known = _certificates(found.authority)
    if not seen.admitted and known and not known & _certificates(seen.authority.content):
        raise Unusable(
            path,
            f"it is another certificate authority than the one in {BOOTSTRAP}",
            "It belongs to another cluster: move it away, and run again",
        )
    return []


def _pointed(docs: Documents, found: Kubeconfig) -> list[Change]:
    """Lead the kubelet of a control plane to the API server beside it, where the release does so."""
    server = local_url(docs)
    if docs.becomes != CONTROL_PLANE or not kubelet_talks_locally(docs) or found.server == server:
        return []
    before = found.server
    found.cluster["server"] = server
    action = WriteFile(BOOTSTRAP, dump(found.document).encode(), 0o600)
    reason = "the kubelet of a control plane talks to the API server beside it"
    return [Change(BOOTSTRAP, reason, f"server: {before}\n", f"server: {server}\n", action)]


def _authority_path(docs: Documents) -> str:
    return (docs.join or JoinConfiguration()).ca_cert_path


def _certificates(pem: bytes) -> set[bytes]:
    return {b"".join(body.split()) for body in _CERTIFICATE.findall(pem)}


def _was_admitted(docs: Documents, certificate: FileState | None) -> bool:
    """A host that lost its kubelet.conf still has the certificate by which it is that node."""
    return certificate is not None and names(certificate.content, user_of(docs.node.name))


def _is_kubeconfig(state: FileState | None) -> bool:
    try:
        return state is not None and bool(parse(state.path, state.content).server)
    except Unusable:
        return False
