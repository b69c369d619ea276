# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Node packages: kubelet, its unit, the tools around it and the libraries of the modules, from where they are to come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import RequireLibraries
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import EnableService
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.belonging import is_node
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import PACKAGES
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import PLUGIN_DIRECTORY
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.kubelet_unit import (
    DROP_IN,
    DROP_IN_PLACES,
    DROP_IN_TEXT,
    SERVICE,
    UNIT,
    UNIT_TEXT,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.offline import bundle_of, from_bundle, places_of
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.owned import is_own, shown, stamped
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.privileges import must_be_root
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.repository import SOURCE_FILES, from_repository
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import (
    LIBRARIES,
    PINNED,
    Installed,
    kubelet_is_wanted,
    missing,
    package_of,
    programs_of,
    wanted_version,
    within_skew,
)

PART = "packages"
AUTO, REPOSITORY, OFFLINE, NONE = "auto", "repository", "offline", "none"
SOURCES = (AUTO, REPOSITORY, OFFLINE, NONE)


class NodePackagesPhase:
    """What a node has installed, as read and plan."""

    name = PART

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Installed:
        """Look for programs and files first; packages are asked for only where something could be installed."""
        if not wanted_part(options, PART):
            return Installed()
        bundle, source = bundle_of(options), _source(options)
        programs = {name: world.packages.which(name) for name in programs_of(docs)}
        found = (world.files.read(path) for path in (UNIT, DROP_IN, *SOURCE_FILES))
        seen = Installed(
            privileged=world.account.is_root(),
            system=world.packages.system(),
            kubelet_version=world.host.kubelet_version(),
            kubelet=world.systemd.state(SERVICE),
            programs=programs,
            plugins=tuple(path.rpartition("/")[2] for path in world.files.below(PLUGIN_DIRECTORY)),
            libraries={name: world.packages.has_library(name) for name in LIBRARIES},
            drop_in=any(world.files.exists(path) for path in DROP_IN_PLACES),
            joined=is_node(world),
            files={state.path: state for state in found if state is not None},
        )
        absent = missing(docs, seen, exact=source in (REPOSITORY, OFFLINE))
        names = {*PINNED, *(package_of(thing, seen.system.manager) for thing in absent)}
        if bundle is not None:
            names |= {name.partition("_")[0] for name in bundle.below(PACKAGES)}
        asked = source == REPOSITORY or bool(absent)
        return _with(
            seen,
            packages=world.packages.installed(seen.system.manager, sorted(names)) if asked and seen.system.manager else {},
            digests=world.bundle_files.digests(places_of(bundle).values()) if bundle is not None and source == OFFLINE else {},
        )

    def plan(self, docs: Documents, seen: Installed, options: Mapping[str, Any]) -> Plan:
        """Bring what is missing from where it is to come, and never touch the kubelet of a node."""
        if not wanted_part(options, PART):
            return Plan()
        must_be_root(seen.privileged)
        source, bundle = _source(options), bundle_of(options)
        if source == OFFLINE and bundle is None:
            raise Unusable("bundle", "none is given, and the source is offline", "Give the path of a bundle on the controller")
        warnings = _of_kubelet(docs, seen, options, source)
        absent = missing(docs, seen, exact=source in (REPOSITORY, OFFLINE))
        if source == NONE:
            _must_have(absent, docs)
        changes: list[Change] = []
        lacking: tuple[str, ...] = ()
        if source == OFFLINE and bundle is not None:
            changes, lacking = from_bundle(docs, seen, absent, bundle, options)
        elif source == REPOSITORY or (source == AUTO and absent):
            changes = from_repository(docs, seen, absent, options, always=source == REPOSITORY)
        libraries = tuple(name for name in LIBRARIES if name in absent)
        if libraries:
            changes.append(Change("Python libraries", "they were missing", "", "", RequireLibraries(libraries)))
        if source != NONE:
            changes += _unit_changes(seen, source == OFFLINE)
        facts = {
            "version": wanted_version(docs),
            "source": source,
            "missing": [{"name": name, "reason": reason} for name, reason in absent.items()],
            "lacking": list(lacking),
        }
        return Plan(tuple(changes), facts, tuple(warnings))


def wanted_part(options: Mapping[str, Any], part: str) -> bool:
    """Tell whether a part of the module was asked for."""
    return part in (options.get("parts") or (PART,))


def _source(options: Mapping[str, Any]) -> str:
    source = str(options.get("source") or AUTO)
    return OFFLINE if source == AUTO and options.get("bundle_list") else source


def _with(seen: Installed, **fields: Any) -> Installed:
    return Installed(**{**vars(seen), **fields})


def _of_kubelet(docs: Documents, seen: Installed, options: Mapping[str, Any], source: str) -> list[str]:
    """A node's kubelet is upgraded by draining and one node at a time, which is not done in passing."""
    if not seen.kubelet_version or kubelet_is_wanted(docs, seen):
        return []
    if not seen.joined:
        tolerated = source in (AUTO, NONE) and within_skew(docs, seen)
        return [f"the kubelet is {seen.kubelet_version}, not v{wanted_version(docs)}, and left as it is"] if tolerated else []
    found = f"this host is a node and its kubelet is {seen.kubelet_version}, while the documents ask for v{wanted_version(docs)}"
    if source in (REPOSITORY, OFFLINE) and str(options.get("source") or AUTO) != AUTO:
        fix = "Set kubernetesVersion to what runs; going to another version is an upgrade, which prepare does not do"
        raise Unusable("kubelet", found, fix)
    return [f"{found}; it is left as it is" + ("" if within_skew(docs, seen) else ", although the release does not take it")]


def _must_have(absent: Mapping[str, str], docs: Documents) -> None:
    if absent:
        fix = f"Install it for Kubernetes {wanted_version(docs)}, or choose another source of packages"
        raise ManyUnusable(tuple(Unusable(name, reason, fix) for name, reason in absent.items()))


def _unit_changes(seen: Installed, with_unit: bool) -> list[Change]:
    """A package brings the unit, and only kubeadm's own the part of it that reads what the phases write."""
    changes = []
    if with_unit and (not seen.kubelet.known or _own(seen, UNIT)):
        changes += _unit(seen, UNIT, UNIT_TEXT)
    # The unit of a node that runs without it has ways of its own.
    if (not seen.drop_in and not seen.joined) or _own(seen, DROP_IN):
        changes += _unit(seen, DROP_IN, DROP_IN_TEXT)
    if not seen.kubelet.enabled:
        reason = "it does not start with the host"
        changes.append(Change(f"{SERVICE}.service", reason, "enabled: no\n", "enabled: yes\n", EnableService(SERVICE)))
    return changes


def _own(seen: Installed, path: str) -> bool:
    return path in seen.files and is_own(seen.files[path].content)


def _unit(seen: Installed, path: str, text: str) -> list[Change]:
    found, content = seen.files.get(path), stamped(text)
    if found is not None and found.content == content:
        return []
    reason = "it does not exist" if found is None else "it differs from what is wanted"
    before = shown(found.content) if found is not None else ""
    return [Change(path, reason, before, shown(content), WriteFile(path, content, 0o644))]
