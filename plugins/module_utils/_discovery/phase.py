# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery as a phase: what join does before anything else, and the file by which the host talks to the cluster from then on."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pins
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.discover import Found, discover
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.way import Way, way
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import Kubeconfig, dump, parse
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.discovery import DiscoverWithToken
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile, tightened

KUBELET = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
_MODE = 0o600


@dataclass(frozen=True)
class Observed:
    """What the host has of the cluster, and what was found out about it; found is None when nobody was asked."""

    kubelet: Kubeconfig | None = None
    bootstrap: FileState | None = None
    way: Way | None = None
    found: Found | None = None


class DiscoveryPhase:
    """kubeadm's discovery as read and plan; a survey, which has no token, leaves asks unset and nobody is asked."""

    name = "discovery"

    def __init__(self, asks: bool = True) -> None:
        self._asks = asks

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Find the cluster, unless this host has joined it."""
        kubelet = joined(world.files)
        if kubelet is not None:
            return Observed(kubelet)
        settled = way(docs, options)
        found = discover(settled, docs, world) if settled is not None and self._asks else None
        return Observed(None, world.files.read(BOOTSTRAP), settled, found)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Write the bootstrap kubeconfig where it does not say the same already."""
        if seen.kubelet is not None:
            return Plan(facts=_facts(True, seen, seen.kubelet.server, _pins(seen.kubelet.authority), "absent", ""))
        if seen.found is None:
            return _unknown(seen)
        found = seen.found
        reason = _difference(docs, seen.bootstrap, found)
        facts = _facts(False, seen, found.cluster.server, found.cluster.pins, "written" if reason else "kept", reason)
        if reason:
            content = render(docs, found).encode()
            action = WriteFile(BOOTSTRAP, content, _MODE)
            return Plan((Change(BOOTSTRAP, reason, _lines(seen.bootstrap), _shown(content), action),), facts, found.warnings)
        change = tightened(seen.bootstrap, _MODE) if seen.bootstrap is not None else None
        if change is None:
            return Plan(facts=facts, warnings=found.warnings)
        facts["kubeconfig"].update(done="mode", reason=change.reason)
        return Plan((change,), facts, found.warnings)


def joined(files: Any) -> Kubeconfig | None:
    """Give the kubelet.conf of a host that has joined; None where there is none that leads anywhere."""
    state = files.read(KUBELET)
    try:
        found = parse(KUBELET, state.content) if state is not None else None
    except Unusable:
        return None
    if found is None or not found.server:
        return None
    # The kubelet keeps its certificate in a file of its own; without it kubelet.conf is of no use to anybody.
    pointed_at = [str(found.user[name]) for name in ("client-certificate", "client-key") if found.user.get(name)]
    return found if all(files.exists(path) for path in pointed_at) else None


def render(docs: Documents, found: Found) -> str:
    """Write the bootstrap kubeconfig as kubeadm lays it out."""
    name, user = docs.cluster.cluster_name, found.user
    cluster = {"certificate-authority-data": base64.b64encode(found.cluster.authority).decode(), "server": found.cluster.server}
    if found.cluster.server_name:
        cluster["tls-server-name"] = found.cluster.server_name
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "clusters": [{"cluster": cluster, "name": name}],
        "contexts": [{"context": {"cluster": name, "user": user.name}, "name": user.context}],
        "current-context": user.context,
        "kind": "Config",
        "users": [{"name": user.name, "user": dict(user.credentials)}],
    }
    if docs.known_release.kubeconfig_preferences:
        document["preferences"] = {}
    return dump(document)


def _difference(docs: Documents, state: FileState | None, found: Found) -> str:
    """Say why the file must be written, or nothing; what the cluster is called in it does not matter to anybody."""
    if state is None:
        return "it does not exist"
    try:
        present = parse(BOOTSTRAP, state.content)
    except Unusable as problem:
        return problem.found
    # kubelet-start lets the kubelet of a control plane talk to the API server beside it.
    servers = {found.cluster.server, local_url(docs)} if docs.becomes == CONTROL_PLANE else {found.cluster.server}
    if present.server not in servers:
        return f"it names the server {present.server}, the cluster is at {found.cluster.server}"
    if present.authority != found.cluster.authority:
        return "it trusts another certificate authority than the cluster's"
    if present.user != found.user.credentials:
        return "its user logs in with something else"
    return ""


def _unknown(seen: Observed) -> Plan:
    """Tell that the file will be written, when a token is there to find out with what."""
    reason = "the cluster has yet to be asked" if seen.way is not None else "the cluster cannot be asked before there is a token"
    after = "server: as cluster-info says\nauthority: as cluster-info says\n"
    change = Change(BOOTSTRAP, reason, _lines(seen.bootstrap), after, DiscoverWithToken())
    return Plan((change,), _facts(False, seen, "", (), "written", reason))


def _facts(is_joined: bool, seen: Observed, server: str, authorities: tuple[str, ...], done: str, reason: str) -> dict[str, Any]:
    return {
        "joined": is_joined,
        "method": seen.way.name if seen.way is not None else "",
        "endpoint": seen.found.endpoint if seen.found is not None else "",
        "server": server,
        "ca_cert_hashes": list(authorities),
        "kubeconfig": {"path": BOOTSTRAP, "done": done, "reason": reason},
    }


def _lines(state: FileState | None) -> str:
    return "" if state is None else _shown(state.content)


def _shown(content: bytes) -> str:
    """Describe a bootstrap kubeconfig without its secrets."""
    try:
        found = parse(BOOTSTRAP, content)
    except Unusable as problem:
        return f"{problem.found}\n"
    context = found.document["current-context"]
    token = str(found.user.get("token") or "")
    # The part of a bootstrap token before the dot is no secret: it names the token.
    identifier = token[:6] if len(token) == 23 and token[6] == "." else ""
    by = f"token {identifier}" if identifier else "a token" if token else "a client certificate"
    authorities = ", ".join(_pins(found.authority)) or "none"
    return f"server: {found.server}\nauthority: {authorities}\ncontext: {context}\nlogs in with: {by}\n"


def _pins(authority: bytes) -> tuple[str, ...]:
    try:
        return pins(authority)
    except ValueError:
        return ()
