# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime: containerd with the settings that the kubelet needs, restarted only when it runs with others."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.freshness import newer
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, RemoveFile, RequireFile, WriteFile, tightened
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import EnableService, RestartService, ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare import toml
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.belonging import is_node
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import (
    CERTIFICATES,
    CONFIG,
    PROGRAM,
    SERVICE,
    Wanted,
    address_of,
    disagreements,
    essential,
    format_for,
    format_of,
    tree,
    uses_containerd,
    wanted_of,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.owned import is_own, shown, stamped
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.privileges import must_be_root
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.registries import credentials, hosts_files
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.runtime_files import (
    CRICTL,
    PROXY,
    carries_secret,
    crictl_endpoint,
    crictl_settings,
    proxy_unit,
)

_BACKUP = ".kubephase-backup"
_OPEN, _SECRET = 0o644, 0o600
_REPLACE = "set replace to have it replaced, with a copy kept beside it"


@dataclass(frozen=True)
class Observed:
    """containerd and the files around it; pristine are those that are as the distribution brought them."""

    privileged: bool
    version: str
    service: ServiceState
    files: Mapping[str, FileState]
    pristine: frozenset[str] = frozenset()
    # The host is a node: pods run with what its runtime was set to, whoever did that.
    joined: bool = False


class ContainerRuntimePhase:
    """The configuration of containerd and crictl as read and plan."""

    name = "container-runtime"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at the program, its service, its files and, where one is not ours, whose it is."""
        mirrors = [path for path in world.files.below(CERTIFICATES) if path.endswith("/hosts.toml")]
        found = (world.files.read(path) for path in dict.fromkeys((CONFIG, PROXY, CRICTL, *mirrors)))
        files = {state.path: state for state in found if state is not None}
        config = files.get(CONFIG)
        foreign = config is not None and not is_own(config.content)
        return Observed(
            privileged=world.account.is_root(),
            version=world.containerd.version(),
            service=world.systemd.state(SERVICE),
            files=files,
            joined=is_node(world),
            pristine=frozenset({CONFIG} if config is not None and foreign and world.containerd.is_pristine(CONFIG, config.content) else ()),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Write what differs, keep what somebody else wrote, and restart what runs with something else."""
        must_be_root(seen.privileged)
        planner = _Planner(docs, seen, options)
        planner.crictl()
        if not uses_containerd(docs):
            planner.warnings.append(f"the runtime at {docs.node.cri_socket} is not containerd; its configuration is left to you")
            return planner.done("other")
        planner.mirrors()
        planner.proxy()
        planner.config(wanted_of(docs, credentials(options.get("registry_credentials"))))
        planner.service()
        return planner.done("containerd")


@dataclass
class _Planner:
    docs: Documents
    seen: Observed
    options: Mapping[str, Any]
    changes: list[Change] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: list[dict[str, str]] = field(default_factory=list)
    differences: str = ""
    restart: str = ""

    def done(self, runtime: str) -> Plan:
        if runtime == "containerd" and not self.seen.version:
            fix = "Install containerd (package containerd), or run node_packages before"
            missing = Change("containerd", "it is not installed", "", "", RequireFile(PROGRAM, fix))
            self.changes.insert(0, missing)
        facts = {
            "runtime": runtime,
            "runtime_version": self.seen.version,
            "files": self.facts,
            "differences": self.differences,
            "restart": self.restart,
        }
        return Plan(tuple(self.changes), facts, tuple(self.warnings))

    def crictl(self) -> None:
        address = address_of(self.docs)
        found = self.seen.files.get(CRICTL)
        if found is not None and not is_own(found.content) and crictl_endpoint(found.content.decode(errors="replace")) == address:
            self._note(CRICTL, "kept")
            return
        self._write(CRICTL, crictl_settings(address), _OPEN, f"crictl does not look for the runtime at {address} by it")

    def mirrors(self) -> None:
        wanted = hosts_files(self.options.get("registry_mirrors"))
        for path, text in wanted.items():
            self._write(path, text, _OPEN, "its mirrors are not those that are wanted")
        for path, found in self.seen.files.items():
            if path.startswith(CERTIFICATES) and path not in wanted and is_own(found.content):
                self._note(path, "removed", "its registry has no mirrors any more")
                self.changes.append(Change(path, "its registry has no mirrors any more", shown(found.content), "", RemoveFile(path)))

    def proxy(self) -> None:
        given = self.options.get("proxy_env")
        text, found = proxy_unit(given), self.seen.files.get(PROXY)
        if text:
            mode = _SECRET if carries_secret(given) else _OPEN
            self._restart_if(self._write(PROXY, text, mode, "its proxies are not those that are wanted"), "its proxies change")
        elif found is not None and is_own(found.content):
            self._note(PROXY, "removed", "no proxy is wanted")
            self.changes.append(Change(PROXY, "no proxy is wanted", shown(found.content), "", RemoveFile(PROXY)))
            self._restart_if(True, "its proxies change")

    def config(self, wanted: Wanted) -> None:
        extra = self.options.get("settings") or {}
        text = toml.render(tree(wanted, format_for(self.seen.version), extra))
        mode = _SECRET if wanted.credentials else _OPEN
        found = self.seen.files.get(CONFIG)
        nobodys = (found is None or CONFIG in self.seen.pristine) and not self.seen.joined
        if nobodys or (found is not None and is_own(found.content)):
            done = self._write(CONFIG, text, mode, "it does not say what the kubelet and the documents need")
            self._restart_if(done, "its configuration changes")
            return
        theirs = found.content.decode(errors="replace") if found is not None else ""
        version = format_of(theirs)
        needed = {**essential(wanted, version), **toml.flat(extra)}
        if self.options.get("registry_mirrors") or wanted.credentials:
            asked = toml.flat(tree(wanted, version, {}))
            needed.update({path: value for path, value in asked.items() if "registry" in path})
        wrong = disagreements(theirs, needed)
        if not wrong:
            self._note(CONFIG, "kept")
            return
        self.differences = "".join(_unified(shown(theirs.encode()), shown(text.encode())))
        if self.options.get("replace") and found is not None:
            self.changes.append(_backup(found))
        done = self._write(CONFIG, text, mode, "it was edited by hand, and is to be replaced", "; ".join(map(_safe, wrong)))
        self._restart_if(done, "its configuration changes")

    def service(self) -> None:
        """Judge by the state, never by this run: a run that was killed may have written and not restarted."""
        service, own = self.seen.service, [found for path, found in self.seen.files.items() if path in (CONFIG, PROXY)]
        late = newer(service, [found for found in own if is_own(found.content)])
        if not self.restart and not service.active:
            self.restart = "it is not running"
        if not self.restart and late:
            self.restart = f"it started before {', '.join(late)} was written"
        if not service.enabled:
            change = Change(
                f"{SERVICE}.service", "it does not start with the host", "enabled: no\n", "enabled: yes\n", EnableService(SERVICE)
            )
            self.changes.append(change)
        if self.restart:
            before = "state: running with other settings\n" if service.active else "state: not running\n"
            action = RestartService(SERVICE, reload_units=True)
            self.changes.append(Change(f"{SERVICE}.service", self.restart, before, "state: running with the settings on disk\n", action))

    def _restart_if(self, changed: bool, reason: str) -> None:
        self.restart = self.restart or (reason if changed else "")

    def _note(self, path: str, done: str, reason: str = "") -> None:
        self.facts.append({"path": path, "done": done, "reason": reason})

    def _write(self, path: str, text: str, mode: int, reason: str, what: str = "") -> bool:
        """Write a file of ours, or one that nobody made his own; another only where that was asked for. Tell whether it was."""
        found, content = self.seen.files.get(path), stamped(text)
        if found is not None and found.content == content:
            narrowed = tightened(found, mode)
            self.changes += [narrowed] if narrowed else []
            self._note(path, "mode" if narrowed else "kept", narrowed.reason if narrowed else "")
            return False
        foreign = found is not None and not is_own(found.content) and path not in self.seen.pristine
        # A node's runtime is not given another configuration in passing, even where nobody wrote one.
        foreign = foreign or (path == CONFIG and self.seen.joined and (found is None or not is_own(found.content)))
        if foreign and not self.options.get("replace"):
            self._note(path, "kept", "it was written by somebody else")
            whose = "was written or edited by hand" if not self.seen.joined else "is that of a node that runs with it"
            self.warnings.append(f"{path} {whose} and is kept: {what or reason}; {_REPLACE}")
            return False
        reason = reason if found is not None else "it does not exist"
        self._note(path, "written", reason)
        before = shown(found.content) if found is not None else ""
        self.changes.append(Change(path, reason, before, shown(content), WriteFile(path, content, mode)))
        return True


def _backup(found: FileState) -> Change:
    path = found.path + _BACKUP
    return Change(path, f"{found.path} is replaced", "", shown(found.content), WriteFile(path, found.content, found.mode))


def _unified(theirs: str, ours: str) -> list[str]:
    return list(difflib.unified_diff(theirs.splitlines(True), ours.splitlines(True), f"{CONFIG} (kept)", f"{CONFIG} (wanted)"))


def _safe(text: str) -> str:
    """Tell of a setting; of a secret one only its name."""
    name = text.partition(" is ")[0]
    secret = name.rpartition(".")[2].strip('"').lower() in ("password", "auth", "identitytoken", "username")
    return f"{name} is another" if secret else text
