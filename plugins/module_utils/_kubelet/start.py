# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-start phase: the kubelet's files, and a kubelet that runs with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, INIT, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet import freshness
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.config import questions
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.files import (
    FLAGS,
    INSTANCE,
    READ_BY_KUBELET,
    Host,
    WantedFile,
    wanted_files,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.healthz import healthz_url
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.membership import (
    Membership,
    arrangements,
    membership,
    restart_reason,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import BOOTSTRAP, CONFIG, SERVICE, serving_certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patches import patch_files, read_patches
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import MANIFESTS
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, MakeDirectory, WriteFile, tightened
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState

_RESOLVER = "systemd-resolved"
_MODE = 0o644
_DIRECTORY_MODE = 0o700


@dataclass(frozen=True)
class Observed:
    """The kubelet's files, the patches, the service, what only the host knows, and what a joining one has of the cluster."""

    files: Mapping[str, FileState]
    patches: tuple[FileState, ...]
    service: ServiceState
    host: Host
    now: datetime
    # The directory of static pods where there should be one and is none.
    missing_directory: str = ""
    # None for a host that does not join.
    membership: Membership | None = None


class KubeletStartPhase:
    """kubeadm's kubelet-start phase as read and plan."""

    name = "kubelet-start"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read the files that may be there, the patches and the state of the service."""
        found = (world.files.read(path) for path in (FLAGS, INSTANCE, CONFIG))
        release = docs.known_release
        return Observed(
            files={state.path: state for state in found if state is not None},
            patches=patch_files(world.files, docs.patches_directory) if release.kubelet_config_patches else (),
            service=world.systemd.state(SERVICE),
            host=Host(
                hostname=world.host.hostname(),
                kubelet_version=world.host.kubelet_version() if release.network_plugin_flag == "older kubelet" else "",
                resolved=world.systemd.state(_RESOLVER).active,
                has_serving_certificate=world.files.exists(serving_certificate(docs)),
            ),
            now=world.clock.now(),
            missing_directory=_missing_directory(docs, world.files),
            membership=membership(docs, world) if docs.joining else None,
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Write what differs; restart the kubelet when it does not run with what is then on disk."""
        freshness.must_be_installed(seen.service)
        patches = read_patches(seen.patches, docs.known_release.patch_targets)
        planner = _Planner(seen)
        if seen.membership is not None:
            planner.arrange(docs, seen.membership)
        config = seen.files.get(CONFIG)
        files = wanted_files(docs, seen.host, patches, config.content if config else b"")
        for file in files:
            planner.visit(file)
        planner.make_directory()
        reason = planner.restart_reason()
        if reason:
            url = healthz_url(docs, files[-1].meaning or {})
            planner.changes.append(freshness.restart(reason, seen.service.active, url))
        return Plan(
            tuple(planner.changes),
            {"kubelet_files": planner.facts, "kubelet_restart": reason},
            (*patches.warnings, *questions(docs, seen.host.resolved)),
        )


def _missing_directory(docs: Documents, files: Any) -> str:
    """A kubelet that starts without the directory of its static pods looks for it again only much later."""
    return MANIFESTS if docs.becomes in (INIT, CONTROL_PLANE) and not files.exists(MANIFESTS) else ""


class _Planner:
    """Gathers changes and facts over the files."""

    def __init__(self, seen: Observed) -> None:
        self._seen = seen
        self._written: list[str] = []
        self.changes: list[Change] = []
        self.facts: list[dict[str, str]] = []

    def visit(self, file: WantedFile) -> None:
        """Decide whether a file is kept or written."""
        state = self._seen.files.get(file.path)
        reason = self._write_reason(file, state)
        if reason:
            content = file.text.encode()
            before = file.shown(state.content) if state else ""
            action = WriteFile(file.path, content, _MODE, _DIRECTORY_MODE)
            self.changes.append(Change(file.path, reason, before, file.shown(content), action))
            self._written.append(file.path)
            self._note(file, "written", reason)
            return
        change = tightened(state, _MODE) if state else None
        if change is None:
            self._note(file, "kept", "")
            return
        self.changes.append(change)
        self._note(file, "mode", change.reason)

    def arrange(self, docs: Documents, found: Membership) -> None:
        """See to what a joining host needs of the cluster."""
        self.changes += arrangements(docs, found)
        self._written += [change.target for change in self.changes if change.target == BOOTSTRAP]

    def make_directory(self) -> None:
        """Have the directory of static pods before the kubelet looks for it."""
        path = self._seen.missing_directory
        if path:
            self.changes.append(Change(path, "it does not exist", "", "directory, mode: 0700\n", MakeDirectory(path, 0o700)))

    def restart_reason(self) -> str:
        """Say why the kubelet must be started or restarted, or nothing."""
        service = self._seen.service
        if not service.active:
            return "it is not running"
        found = {**self._seen.files, **self._credentials()}
        kept = (state for path, state in found.items() if path not in self._written)
        stale = {*self._written, *freshness.newer(service, kept)}
        names = [path for path in (*READ_BY_KUBELET, *self._credentials()) if path in stale]
        if names:
            return f"it still runs with an older {freshness.named(names)}"
        return restart_reason(self._seen.membership) if self._seen.membership is not None else ""

    def _credentials(self) -> dict[str, FileState]:
        """What a kubelet reads that has yet to get its certificate: with another token, or another server, it has to start anew."""
        found = self._seen.membership
        return {} if found is None or found.admitted or found.bootstrap is None else {BOOTSTRAP: found.bootstrap}

    def _write_reason(self, file: WantedFile, state: FileState | None) -> str:
        if state is None:
            return "it does not exist"
        if not file.says(state.content):
            return "it differs from what the documents ask for"
        if file.path in READ_BY_KUBELET and freshness.in_the_future(state, self._seen.now):
            return freshness.FUTURE
        return ""

    def _note(self, file: WantedFile, done: str, reason: str) -> None:
        self.facts.append({"path": file.path, "done": done, "reason": reason})
