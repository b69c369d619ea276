# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that a cluster of one release needs, made in order and only where it is missing."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from lab.cache import Artifact, Store, content_of
from lab.gobuild import program_artifact
from lab.images import FILES, image_artifacts, pause_artifact, verify_against_kubeadm
from lab.node_image import base_artifact, ensure_node_image, node_reference, tree_artifact
from lab.podman import LIMITS, image_exists, podman
from lab.progress import Progress
from lab.recipes import Release, kubernetes, programs
from lab.toolchain import Go, ensure


@dataclass(frozen=True)
class Built:
    """What `up` starts nodes from."""

    node_image: str
    containerd_template: Path


@dataclass(frozen=True)
class Recipe:
    """All artifacts of a release, in the order in which they can be made."""

    release: Release
    base: Artifact
    programs: tuple[Artifact, ...]
    images: tuple[Artifact, ...]
    tree: Artifact
    template: Artifact

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """List them all."""
        return (self.base, *self.programs, *self.images, self.tree, self.template)


def recipe(store: Store, go: Go, of: Release) -> Recipe:
    """Work out what a release is made from; nothing is made."""
    base = base_artifact(store)
    named = {program.name: program_artifact(store, go, program) for program in programs(of)}
    named["pause"] = pause_artifact(go, of)
    images = tuple(image_artifacts(store, of, named, base))
    tree = tree_artifact(store, of, named)
    template = _template_artifact(store, of, base, tree, images)
    return Recipe(of, base, tuple(named.values()), images, tree, template)


def kubeadm(store: Store, version: str) -> Path:
    """Build kubeadm of a version if needed and say where it is."""
    artifact = program_artifact(store, ensure(store), kubernetes("kubeadm", version))
    if not store.has(artifact):
        with Progress(1).step(artifact.name, done="built"):
            store.ensure(artifact)
    return store.path(artifact) / "kubeadm"


def build(store: Store, of: Release) -> Built:
    """Make what is missing of a release and say so, or say in one line that nothing is."""
    everything = recipe(store, ensure(store), of)
    reference = node_reference(everything.base, everything.tree)
    steps = len(everything.artifacts) + 1
    if all(store.has(artifact) for artifact in everything.artifacts) and image_exists(reference):
        Progress(0).note(f"lab: everything for {of.version} is there ({steps} artifacts in {store.root})")
    else:
        _make(store, everything, Progress(steps))
    return Built(reference, store.path(everything.template) / "containerd")


def _make(store: Store, everything: Recipe, progress: Progress) -> None:
    # The base waits for the network while the compiler waits for nothing, so the two run side by side.
    beside = _Beside(store, everything.base, progress)
    for artifact in everything.programs:
        _step(store, artifact, progress)
    beside.join()
    for artifact in (*everything.images, everything.tree):
        _step(store, artifact, progress)
    verify_against_kubeadm(store.path(everything.tree) / "usr/bin/kubeadm", everything.release, progress.note)
    reference = node_reference(everything.base, everything.tree)
    if image_exists(reference):
        progress.cached("node image")
    else:
        with progress.step("node image", done="imported"):
            ensure_node_image(store, everything.base, everything.tree)
    _step(store, everything.template, progress)


def _step(store: Store, artifact: Artifact, progress: Progress) -> None:
    if store.has(artifact):
        progress.cached(artifact.name)
        return
    with progress.step(artifact.name, done="built"):
        store.ensure(artifact)


class _Beside:
    """One artifact made in a thread of its own; join brings its failure back."""

    def __init__(self, store: Store, artifact: Artifact, progress: Progress) -> None:
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(store, artifact, progress), daemon=True)
        self._thread.start()

    def _run(self, store: Store, artifact: Artifact, progress: Progress) -> None:
        try:
            _step(store, artifact, progress)
        except BaseException as failure:
            self._failure = failure

    def join(self) -> None:
        """Wait for the end and fail as the thread did."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure


def _template_artifact(store: Store, of: Release, base: Artifact, tree: Artifact, images: tuple[Artifact, ...]) -> Artifact:
    """Describe containerd's root directory with all images unpacked, which each node gets a copy of."""

    def make(target: Path) -> None:
        image = ensure_node_image(store, base, tree)
        root = target / "containerd"
        root.mkdir()
        mounts: list[str] = ["-v", f"{root}:/var/lib/containerd"]
        for archive in images:
            mounts += ["-v", f"{store.path(archive)}:/images/{archive.key}:ro"]
        # Not by its entry point but by the script alone: no systemd is needed to unpack archives.
        options = ("--rm", "--privileged", "--network", "none", "--cgroupns", "private", "--tmpfs", "/run", *LIMITS)
        said = podman("run", *options, *mounts, image, "/usr/local/sbin/lab-import-images")
        store.log(f"containerd-{of.version}").write_text(said)

    inputs = {"images": sorted(image.digest for image in images), "base": base.digest, "script": content_of(FILES / "lab-import-images")}
    return Artifact(f"containerd-template {of.version}", inputs, make)
