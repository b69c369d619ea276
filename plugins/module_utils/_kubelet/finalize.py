# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-finalize phase: kubelet.conf points at the client certificate that the kubelet rotates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import Kubeconfig, dump, parse
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet import freshness
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.healthz import healthz_url_on_disk
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import CONFIG, KUBECONFIG, SERVICE, rotating_certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState

_EMBEDDED = ("client-certificate-data", "client-key-data")
_POINTERS = ("client-certificate", "client-key")
_MODE = 0o600


@dataclass(frozen=True)
class Observed:
    """The kubelet's kubeconfig, whether there is a certificate that rotates, and the service."""

    kubeconfig: FileState | None
    rotating: bool
    service: ServiceState
    now: datetime
    health_url: str = ""


class KubeletFinalizePhase:
    """kubeadm's kubelet-finalize phase as read and plan.

    A host that joins has no use for it: its kubelet wrote kubelet.conf itself, as it should be, and later than it started.
    """

    name = "kubelet-finalize"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read kubelet.conf, look for the rotating certificate and at the service."""
        return Observed(
            kubeconfig=world.files.read(KUBECONFIG),
            rotating=world.files.exists(rotating_certificate(docs)),
            service=world.systemd.state(SERVICE),
            now=world.clock.now(),
            health_url=healthz_url_on_disk(docs, world.files.read(CONFIG)),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Point kubelet.conf at the certificate where there is one; restart a kubelet that runs with another kubelet.conf."""
        certificate = rotating_certificate(docs)
        changes: list[Change] = []
        if seen.rotating and not docs.joining:
            freshness.must_be_installed(seen.service)
            if seen.kubeconfig is None:
                raise Unusable(
                    KUBECONFIG, "it does not exist, although the kubelet rotates its certificate", "Run the kubeconfig phase first"
                )
            changes += _pointed(docs, seen.kubeconfig, certificate) or _dated(seen.kubeconfig, seen.now)
        reason = "" if docs.joining else _restart_reason(seen, bool(changes))
        if reason:
            changes.append(freshness.restart(reason, seen.service.active, seen.health_url))
        facts = {"rotation": seen.rotating, "client_certificate": certificate if seen.rotating else "", "kubelet_restart": reason}
        return Plan(tuple(changes), facts)


def _pointed(docs: Documents, seen: FileState, certificate: str) -> list[Change]:
    found = parse(KUBECONFIG, seen.content)
    user = _user(docs, found)
    if not any(user.get(name) for name in _EMBEDDED) and all(user.get(name) == certificate for name in _POINTERS):
        return []
    before = _shown(user)
    for name in _EMBEDDED:
        user.pop(name, None)
    user.update(dict.fromkeys(_POINTERS, certificate))
    action = WriteFile(KUBECONFIG, dump(found.document).encode(), _MODE)
    return [Change(KUBECONFIG, f"the kubelet rotates {certificate}, and this file does not point at it", before, _shown(user), action)]


def _dated(seen: FileState, now: datetime) -> list[Change]:
    """Write a file anew whose time cannot be compared with anything; the kubelet would be restarted in every run."""
    if not freshness.in_the_future(seen, now):
        return []
    return [Change(KUBECONFIG, freshness.FUTURE, "", "", WriteFile(KUBECONFIG, seen.content, seen.mode))]


def _user(docs: Documents, found: Kubeconfig) -> dict[str, Any]:
    """Find the user whose credentials rotate, by the rule of the release."""
    if docs.known_release.finalize_finds_user == "context":
        return found.user
    name = f"system:node:{docs.node.name}"
    for entry in found.document["users"]:
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get("user"), dict):
            user: dict[str, Any] = entry["user"]
            return user
    raise Unusable(KUBECONFIG, f"it has no user {name}", "Is nodeRegistration.name still the name that this node was made with?")


def _shown(user: Mapping[str, Any]) -> str:
    """Describe credentials without showing any."""
    lines = [f"{name}: {user[name]}" for name in _POINTERS if user.get(name)]
    lines += [f"{name}: embedded" for name in _EMBEDDED if user.get(name)]
    return "".join(f"{line}\n" for line in sorted(lines))


def _restart_reason(seen: Observed, written: bool) -> str:
    """A kubelet that does not run is the kubelet-start phase's business, unless its file changes under it."""
    if written and not seen.service.active:
        return "it is not running"
    comparable = [seen.kubeconfig] if seen.kubeconfig and not freshness.in_the_future(seen.kubeconfig, seen.now) else []
    if written or freshness.newer(seen.service, comparable):
        return "it still runs with an older kubelet.conf"
    return ""
