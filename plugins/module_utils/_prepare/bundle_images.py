# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images of an offline bundle: the archives that bring what a host's role needs and the host does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import RequireFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import ImportImages
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.images import required
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import to_import
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import address_of, uses_containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import wanted_part
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.offline import bundle_of, must_fit, staged_at, verified
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.privileges import must_be_root
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import control_plane_only, full_name

PART = "images"


@dataclass(frozen=True)
class Observed:
    """The images that are there; None while no runtime answers."""

    privileged: bool = True
    architecture: str = ""
    images: tuple[str, ...] | None = ()


class BundleImagesPhase:
    """The images of a bundle as read and plan."""

    name = PART

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """List the images of the runtime."""
        if not wanted_part(options, PART) or not options.get("bundle_list"):
            return Observed()
        return Observed(
            privileged=world.account.is_root(),
            architecture=world.packages.system().architecture,
            images=world.containerd.images(address_of(docs)) if uses_containerd(docs) else (),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Import the archives that bring what is missing, and none else."""
        bundle = bundle_of(options)
        if not wanted_part(options, PART) or bundle is None:
            return Plan()
        must_be_root(seen.privileged)
        if not uses_containerd(docs):
            fix = "Load the images yourself, and leave the part images out"
            raise Unusable(docs.node.cri_socket, "only containerd's images can be imported here", fix)
        must_fit(docs, bundle, seen.architecture, options)
        needed = required(docs)
        worker = docs.becomes == WORKER
        archives = to_import(bundle, seen.images or (), needed, not worker)
        spared = set(control_plane_only(needed)) if worker else set()
        nowhere = [name for name in needed if full_name(name) not in {*bundle.image_names, *(seen.images or ())} and name not in spared]
        facts = {"imported": list(archives), "lacking_images": list(archives)}
        return Plan(_imports(docs, seen, bundle, archives, options), facts, tuple(_warnings(nowhere)))


def _imports(docs: Documents, seen: Observed, bundle: Any, archives: tuple[str, ...], options: Mapping[str, Any]) -> tuple[Change, ...]:
    if not archives:
        return ()
    changes = [verified(bundle, archives, options)]
    if seen.images is None:
        fix = "Start containerd, for example with container_runtime, and run again"
        changes.append(Change("containerd", "no runtime answers yet", "", "", RequireFile(address_of(docs), fix)))
    there = {full_name(name) for name in seen.images or ()}
    names = {path: tuple(full_name(name) for name in bundle.images[path]) for path in archives}
    after = "".join(f"{name}\n" for path in archives for name in names[path] if name not in there)
    action = ImportImages({staged_at(options, path): (path, names[path]) for path in archives}, address_of(docs))
    return (*changes, Change("container images", "they are not on the host", "", after, action))


def _warnings(nowhere: list[str]) -> list[str]:
    return [f"neither the host nor the bundle has {', '.join(nowhere)}; a registry will be asked for that"] if nowhere else []
