# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addon phase: CoreDNS, kube-proxy and a manifest of the user's, as far as they differ from what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._addons import coredns, kube_proxy, proxy_config
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.corefile import is_default, migration_reason
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.user_manifest import objects
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patches import Patches, patch_files, read_patches
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.strategic import POD_MERGE_KEYS
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import read_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey, ObjectState, key_of

COREDNS, KUBE_PROXY = "coredns", "kube-proxy"
ADDONS = (COREDNS, KUBE_PROXY)
_USER = "manifest"


@dataclass(frozen=True)
class Addon:
    """One add-on: what is wanted of it, and what was decided about it."""

    name: str
    image: str = ""
    manifests: tuple[Manifest, ...] = ()
    # Why it, or a part of it, is left alone.
    kept: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Observed:
    """The add-ons, and their objects as they are."""

    addons: tuple[Addon, ...]
    states: Mapping[ObjectKey, ObjectState]
    warnings: tuple[str, ...] = ()


class AddonPhase:
    """kubeadm's addon phase as read and plan."""

    name = "addon"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Render the add-ons around what is there, and ask the API server what applying them would change."""
        patches = read_patches(patch_files(world.files, docs.init.patches.directory), docs.known_release.patch_targets)
        wanted = [name for name in ADDONS if name in (ADDONS if options.get("addons") is None else options["addons"])]
        dns = read_objects(world, [], docs)
        live = {} if dns.virgin else {key: world.api.get(key) for key in (coredns.CONFIG_MAP, coredns.DEPLOYMENT)}
        addons = [_addon(docs, name, patches, live, options.get("proxy_env") or {}) for name in wanted]
        manifests = _user_manifests(world, options)
        if manifests:
            addons.append(Addon(_USER, manifests=manifests))
        states = {} if dns.virgin else world.api.observe([each for addon in addons for each in addon.manifests])
        return Observed(tuple(addons), states, patches.warnings)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Apply what does not exist or differs."""
        found = [(addon, changes(addon.manifests, seen.states)) for addon in seen.addons]
        facts = [
            {
                "name": addon.name,
                "image": addon.image,
                "done": "applied" if needed else "kept",
                "reason": "; ".join(part for part in (addon.kept, f"{len(needed)} objects differ" if needed else "") if part),
                "objects": [str(key_of(each)) for each in addon.manifests],
            }
            for addon, needed in found
        ]
        warnings = (*seen.warnings, *(text for addon in seen.addons for text in addon.warnings))
        return Plan(tuple(change for _addon, needed in found for change in needed), {"addons": facts}, warnings)


def disabled(docs: Documents, name: str) -> str:
    """Say why the documents leave an add-on out, or nothing."""
    switch = docs.cluster.dns.disabled if name == COREDNS else docs.cluster.proxy.disabled
    if switch:
        return f"{'dns' if name == COREDNS else 'proxy'}.disabled is set"
    skipped = [phase for phase in ("addon", "addon/all", f"addon/{name}") if phase in docs.init.skip_phases]
    return f"skipPhases names {skipped[0]}" if skipped else ""


def _addon(docs: Documents, name: str, patches: Patches, live: Mapping[ObjectKey, Manifest | None], proxy_env: Mapping[str, str]) -> Addon:
    left_out = disabled(docs, name)
    if left_out:
        return Addon(name, kept=left_out)
    return _coredns(docs, patches, live) if name == COREDNS else _kube_proxy(docs, patches, proxy_env)


def _coredns(docs: Documents, patches: Patches, live: Mapping[ObjectKey, Manifest | None]) -> Addon:
    found, running = live.get(coredns.CONFIG_MAP), live.get(coredns.DEPLOYMENT)
    corefile = str(((found or {}).get("data") or {}).get("Corefile") or "")
    deployment = coredns.deployment(docs, docs.known_release.coredns_replicas)
    deployment = patches.applied(coredns.PATCH_TARGET, deployment, POD_MERGE_KEYS)
    manifests = [coredns.config_map(docs), *coredns.access(docs), deployment, coredns.service(docs)]
    if found is None or is_default(corefile):
        return Addon(COREDNS, coredns.image(docs), tuple(manifests))
    kept, unwanted, warnings = "the Corefile is customised", [coredns.CONFIG_MAP], []
    reason = migration_reason(corefile, _tag(_image(running)), _tag(coredns.image(docs))) if running is not None else ""
    if reason:
        kept = f"the Corefile is customised and does not fit {_tag(coredns.image(docs))}: {reason}"
        unwanted.append(coredns.DEPLOYMENT)
        warnings.append(
            f"CoreDNS stays at {_image(running)} with its Corefile: for {_tag(coredns.image(docs))} the Corefile has to be migrated "
            f"({reason}). Edit ConfigMap kube-system/coredns accordingly and run again"
        )
    wanted = tuple(each for each in manifests if key_of(each) not in unwanted)
    return Addon(COREDNS, coredns.image(docs), wanted, kept, tuple(warnings))


def _kube_proxy(docs: Documents, patches: Patches, proxy_env: Mapping[str, str]) -> Addon:
    daemon_set = patches.applied(kube_proxy.PATCH_TARGET, kube_proxy.daemon_set(docs), POD_MERGE_KEYS)
    manifests = (kube_proxy.config_map(docs), *kube_proxy.access(), kube_proxy.with_proxy_env(daemon_set, proxy_env))
    return Addon(KUBE_PROXY, kube_proxy.image(docs), manifests, warnings=proxy_config.warnings(docs))


def _user_manifests(world: Any, options: Mapping[str, Any]) -> tuple[Manifest, ...]:
    path, content = options.get("manifest"), options.get("manifest_content")
    if content:
        return objects("manifest_content", content)
    if not path:
        return ()
    state = world.files.read(path)
    if state is None:
        raise Unusable(path, "there is no such manifest on this host", "Put it there, or hand it over as manifest_content")
    return objects(path, state.content)


def _image(deployment: Manifest | None) -> str:
    containers: Sequence[Mapping[str, Any]] = ()
    if deployment is not None:
        containers = deployment.get("spec", {}).get("template", {}).get("spec", {}).get("containers") or ()
    return str(containers[0].get("image", "")) if containers else ""


def _tag(image: str) -> str:
    """Take the tag of an image; a digest after it and a port in the registry's name are none."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]
