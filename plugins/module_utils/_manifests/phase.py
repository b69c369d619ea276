# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control-plane and etcd phases: which manifests must be written, and which are kept."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import LocalEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.control_plane import (
    KUBELET_AUTHORITY,
    KUBERNETES_DIRECTORY,
    Surroundings,
    api_server,
    certificate,
    controller_manager,
    scheduler,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.etcd import ETCD, etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import dump, load
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patches import Patches, patch_files, read_patches
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.pods import Component, pod
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.settled import checked, meaning, settled
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.shown import shown
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.strategic import POD_MERGE_KEYS
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, MakeDirectory, WriteFile, tightened
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import (
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)

MANIFESTS = posixpath.join(KUBERNETES_DIRECTORY, "manifests")
# etcd first, as kubeadm does: the API server cannot start without it.
COMPONENTS = (ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)

# Whether the API server verifies kubelets: not, as it is, or in any case.
NEVER, KEEP, ALWAYS = "never", "keep", "always"

_GATE = "RootlessControlPlane"
_MEMBER = re.compile(r"[^=,\s]+=https?://[^=,\s]+")


@dataclass(frozen=True)
class Observed:
    """The manifests that are there, and what on the host decides their content."""

    manifests: Mapping[str, FileState] = field(default_factory=dict)
    directory_mode: int | None = None
    data_mode: int | None = None
    has_member: bool = False
    existing: frozenset[str] = frozenset()
    external_ca: bool = False
    patches: tuple[FileState, ...] = ()


class StaticPodPhase:
    """kubeadm's phases control-plane and etcd as read and plan."""

    name = "control-plane"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read the manifests, the patches, and which of the host's directories are there."""
        files = world.files
        states = {component: files.read(manifest_path(component)) for component in wanted_components(docs, options)}
        directory = data_directory(docs)
        return Observed(
            manifests={component: state for component, state in states.items() if state is not None},
            directory_mode=files.directory_mode(MANIFESTS),
            data_mode=files.directory_mode(directory) if ETCD in states else None,
            has_member=ETCD in states and files.exists(posixpath.join(directory, "member")),
            existing=frozenset(path for path in docs.known_release.extra_ca_directories if files.exists(path)),
            external_ca=files.exists(certificate(docs, "ca.crt")) and not files.exists(certificate(docs, "ca.key")),
            patches=patch_files(files, docs.patches_directory),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide for each manifest whether it is kept or written."""
        refuse_what_we_do_not_do(docs, options)
        patches = read_patches(seen.patches, docs.known_release.patch_targets)
        planner = _Planner(docs, seen, options, patches)
        for component in wanted_components(docs, options):
            planner.visit(component)
        if planner.findings:
            raise ManyUnusable(tuple(planner.findings))
        changes = (*_directories(docs, seen, options), *planner.changes)
        return Plan(changes, {"manifests": planner.facts}, patches.warnings)


def manifest_path(component: str) -> str:
    """Where the kubelet looks for the manifest of a component."""
    return posixpath.join(MANIFESTS, f"{component}.yaml")


def wanted_components(docs: Documents, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The components to look after; etcd is none of them where somebody else runs it."""
    names = options.get("components")
    return tuple(name for name in COMPONENTS if (not names or name in names) and not (name == ETCD and docs.external_etcd))


def data_directory(docs: Documents) -> str:
    """Where the local member keeps its data."""
    return (docs.cluster.etcd.local or LocalEtcd()).data_dir


def refuse_what_we_do_not_do(docs: Documents, options: Mapping[str, Any]) -> None:
    """Say at once what in the documents and options stops us."""
    findings = []
    if docs.cluster.feature_gates.get(_GATE):
        place = f"ClusterConfiguration.featureGates.{_GATE}"
        findings.append(Unusable(place, "a control plane without root is not supported here", "Remove the gate: kubeadm has deprecated it"))
    for name, value in (options.get("proxy_env") or {}).items():
        if not str(name).lower().endswith("_proxy"):
            findings.append(Unusable(f"proxy_env.{name}", "its name does not end in _proxy", "Use extraEnvs for other variables"))
        elif not isinstance(value, str):
            findings.append(Unusable(f"proxy_env.{name}", "its value is not a text", "Put it in quotes"))
    for index, member in enumerate(options.get("initial_cluster") or ()):
        if not _MEMBER.fullmatch(member):
            findings.append(Unusable(f"initial_cluster[{index}]", f"{member!r} is no member", "Give name=https://address:2380"))
    if findings:
        raise ManyUnusable(tuple(findings))


def _directories(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> list[Change]:
    wanted = [(MANIFESTS, seen.directory_mode)]
    if ETCD in wanted_components(docs, options):
        wanted.append((data_directory(docs), seen.data_mode))
    changes = []
    for path, mode in wanted:
        if mode is None:
            changes.append(Change(path, "it does not exist", "", "directory, mode: 0700\n", MakeDirectory(path, 0o700)))
        elif mode & 0o077:
            reason = f"its mode {mode:04o} allows more than 0700"
            narrow = mode & ~0o077
            changes.append(Change(path, reason, f"mode: {mode:04o}\n", f"mode: {narrow:04o}\n", MakeDirectory(path, narrow)))
    return changes


class _Planner:
    """Gathers changes, facts and findings over the manifests."""

    def __init__(self, docs: Documents, seen: Observed, options: Mapping[str, Any], patches: Patches) -> None:
        self._docs = docs
        self._seen = seen
        self._patches = patches
        self._initial_cluster: Sequence[str] = options.get("initial_cluster") or ()
        self._around = Surroundings(
            existing=seen.existing,
            external_ca=seen.external_ca,
            proxies={name: value for name, value in (options.get("proxy_env") or {}).items() if value},
            start_timeout=docs.timeouts.control_plane_component_health_check,
            verify_kubelets=_verifies(docs, seen, options.get("verify_kubelets") or NEVER),
        )
        self.changes: list[Change] = []
        self.facts: list[dict[str, Any]] = []
        self.findings: list[Unusable] = []

    def visit(self, name: str) -> None:
        """Plan one manifest; a finding is kept for the common report."""
        try:
            state = self._seen.manifests.get(name)
            found = _parsed(state)
            wanted = self._wanted(name, found)
            image = str(wanted["spec"]["containers"][0].get("image", ""))
            if state is None:
                self._write(name, image, "it does not exist", None, wanted)
            elif found is None:
                self._write(name, image, "it holds no manifest", None, wanted)
            elif self._same(found, wanted):
                self._keep(name, image, state)
            else:
                self._write(name, image, "it is not what the documents ask for", found, wanted)
        except Unusable as finding:
            self.findings.append(finding)

    def _wanted(self, name: str, found: Any) -> dict[str, Any]:
        release = self._docs.known_release
        result = self._patches.applied(name, pod(self._component(name, found), release), POD_MERGE_KEYS)
        checked(result, name, self._docs.patches_directory)
        return settled(result, release.pod_creation_timestamp)

    def _component(self, name: str, found: Any) -> Component:
        if name == ETCD:
            return etcd(self._docs, self._around, self._initial_cluster, _command(found, ETCD) if self._seen.has_member else None)
        builders = {KUBE_APISERVER: api_server, KUBE_CONTROLLER_MANAGER: controller_manager, KUBE_SCHEDULER: scheduler}
        return builders[name](self._docs, self._around)

    def _same(self, found: Any, wanted: dict[str, Any]) -> bool:
        ordered = self._docs.known_release.extra_envs_sorted
        return bool(_comparable(found, ordered) == _comparable(load(dump(wanted).encode()), ordered))

    def _write(self, name: str, image: str, reason: str, found: Any, wanted: dict[str, Any]) -> None:
        path = manifest_path(name)
        before = "" if found is None else shown(settled(found, self._docs.known_release.pod_creation_timestamp))
        # Staged outside the directory that the kubelet watches: it would run whatever it finds there.
        action = WriteFile(path, dump(wanted).encode(), 0o600, directory_mode=0o700, staging=KUBERNETES_DIRECTORY)
        self.changes.append(Change(path, reason, before, shown(wanted, found), action))
        self._fact(name, image, "written" if name not in self._seen.manifests else "rewritten", reason)

    def _keep(self, name: str, image: str, state: FileState) -> None:
        change = tightened(state, 0o600)
        if change is not None:
            self.changes.append(change)
        self._fact(name, image, "mode" if change else "kept", change.reason if change else "")

    def _fact(self, name: str, image: str, done: str, reason: str) -> None:
        self.facts.append({"component": name, "path": manifest_path(name), "image": image, "done": done, "reason": reason})


def _verifies(docs: Documents, seen: Observed, wanted: str) -> bool:
    """Whether the API server is to have the flag; one with another value is not ours, and none that could be kept."""
    if wanted != KEEP:
        return wanted == ALWAYS
    found = _command(_parsed(seen.manifests.get(KUBE_APISERVER)), KUBE_APISERVER) or ()
    return f"--{KUBELET_AUTHORITY}={certificate(docs, 'ca.crt')}" in found


def _parsed(state: FileState | None) -> dict[str, Any] | None:
    """Read a manifest; what is none cannot be running, and is written anew."""
    if state is None:
        return None
    try:
        found = load(state.content)
    except ValueError:
        return None
    return found if _is_pod(found) else None


def _is_pod(found: Any) -> bool:
    if not isinstance(found, dict) or not all(isinstance(found.get(part), dict) for part in ("metadata", "spec")):
        return False
    containers = found["spec"].get("containers")
    return isinstance(containers, list) and all(isinstance(each, dict) for each in containers)


def _command(found: dict[str, Any] | None, name: str) -> list[Any] | None:
    """The command of the container of this name in a manifest."""
    for container in found["spec"]["containers"] if found else ():
        if container.get("name") == name and isinstance(container.get("command"), list):
            return list(container["command"])
    return None


def _comparable(pod_found: Any, env_ordered: bool) -> Any:
    """A pod as data that is equal when its meaning is; where kubeadm itself wrote variables in random order, they are sorted."""
    result = meaning(pod_found)
    result.pop("status", None)
    for container in result.get("spec", {}).get("containers", ()):
        container.setdefault("resources", {})
        if not env_ordered and isinstance(container.get("env"), list):
            container["env"] = sorted(container["env"], key=str)
    return result
