# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The offline bundle of a release: all that a host needs without any repository or registry, by hard links to what was built."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.cache import Artifact, Store, content_of
from lab.docker_archive import sha256
from lab.images import references
from lab.node_image import copy
from lab.recipes import Release
from lab.toolchain import architecture

LIST = "bundle.json"
PROGRAMS = ("kubelet", "kubectl", "crictl")


def bundle_artifact(
    store: Store, of: Release, programs: Mapping[str, Artifact], images: Sequence[Artifact], distribution: Artifact
) -> Artifact:
    """Describe the bundle; images come in the order of their references."""
    named = dict(zip(references(of), images))

    def make(target: Path) -> None:
        for name in PROGRAMS:
            copy(store.path(programs[name]) / name, target / "bin" / name)
        for plugin in store.path(programs["cni-plugins"]).iterdir():
            copy(plugin, target / "cni" / plugin.name)
        for deb in store.path(distribution).glob("*.deb"):
            copy(deb, target / "debs" / deb.name)
        for component, archive in named.items():
            copy(store.path(archive) / "image.tar", target / f"images/{component}.tar")
        digests = {str(path.relative_to(target)): sha256(path) for path in sorted(target.rglob("*")) if path.is_file()}
        (target / LIST).write_text(listing(of, architecture(), digests))

    inputs = {
        "parts": [programs[name].digest for name in (*PROGRAMS, "cni-plugins")],
        "images": {component: archive.digest for component, archive in named.items()},
        "distribution": distribution.digest,
        "code": content_of(Path(__file__)),
    }
    return Artifact(f"bundle {of.version}", inputs, make)


def listing(of: Release, machine: str, digests: Mapping[str, str]) -> str:
    """Spell the bundle's list of itself."""
    images = {f"images/{component}.tar": [reference] for component, reference in references(of).items()}
    return json.dumps({"kubernetes": of.version, "architecture": machine, "files": dict(digests), "images": images}, indent=2) + "\n"
