# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that a cluster of one release needs, made in order and only where it is missing."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from lab.bare import bare_artifact, bare_reference, ensure_bare_image
from lab.bundle import bundle_artifact
from lab.cache import Artifact, Store, content_of
from lab.gobuild import program_artifact
from lab.images import FILES, image_artifacts, pause_artifact, verify_against_kubeadm
from lab.node_image import base_artifact, ensure_node_image, node_reference, tree_artifact
from lab.packages import distribution_artifact
from lab.podman import LIMITS, image_exists, podman
from lab.progress import Progress
from lab.recipes import FIREWALLS, FROM_DISTRIBUTION, Release, kubernetes, programs
from lab.repository import repository_artifact
from lab.toolchain import Go, ensure


@dataclass(frozen=True)
class Offered:
    """What bare nodes can be prepared from: a repository to serve, and a bundle."""

    repository: Path
    bundle: Path


@dataclass(frozen=True)
class Built:
    """What `up` starts nodes from; bare ones are offered what they lack, and get images only where they were asked for."""

    node_image: str
    containerd_template: Path | None = None
    offered: Offered | None = None


@dataclass(frozen=True)
class Recipe:
    """All artifacts of a release, in the order in which they can be made."""

    release: Release
    base: Artifact
    programs: tuple[Artifact, ...]
    images: tuple[Artifact, ...]
    tree: Artifact
    template: Artifact
    bare: Artifact
    distribution: Artifact
    firewalls: Artifact
    repository: Artifact
    bundle: Artifact

    @property
    def built(self) -> tuple[Artifact, ...]:
        """List what every cluster of the release is made of."""
        return (self.base, *self.programs, *self.images)

    @property
    def whole(self) -> tuple[Artifact, ...]:
        """List what nodes add that have everything on them."""
        return (self.tree, self.template)

    @property
    def offers(self) -> tuple[Artifact, ...]:
        """List what bare nodes add."""
        return (self.bare, self.distribution, self.firewalls, self.repository, self.bundle)


def recipe(store: Store, go: Go, of: Release) -> Recipe:
    """Work out what a release is made from; nothing is made."""
    base = base_artifact(store)
    named = {program.name: program_artifact(store, go, program) for program in programs(of)}
    named["pause"] = pause_artifact(go, of)
    images = tuple(image_artifacts(store, of, named, base))
    tree = tree_artifact(store, of, named)
    template = _template_artifact(store, of, base, tree, images)
    bare = bare_artifact()
    distribution = distribution_artifact(store, base, bare, "distribution-packages", FROM_DISTRIBUTION)
    firewalls = distribution_artifact(store, base, bare, "firewall-packages", FIREWALLS)
    return Recipe(
        of,
        base,
        tuple(named.values()),
        images,
        tree,
        template,
        bare,
        distribution,
        firewalls,
        repository_artifact(store, of, named, (distribution, firewalls)),
        bundle_artifact(store, of, named, images, distribution),
    )


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
    wanted = (*everything.built, *everything.whole)
    if not _is_there(store, of, wanted, reference):
        _make(store, everything, Progress(len(wanted) + 1))
    return Built(reference, containerd_template=store.path(everything.template) / "containerd")


def build_bare(store: Store, of: Release, images: bool = False) -> Built:
    """Make what is missing for bare nodes of a release: they themselves, and what they can be prepared from.

    With images they get containerd's directory filled beforehand, as if somebody had imported them, though no containerd.
    """
    everything = recipe(store, ensure(store), of)
    reference = bare_reference(everything.base, everything.bare)
    template = everything.whole if images else ()
    wanted = (*everything.built, *everything.offers, *template)
    if not _is_there(store, of, wanted, reference):
        progress = Progress(len(wanted) + 1)
        _make_built(store, everything, progress)
        _step(store, everything.bare, progress)
        if image_exists(reference):
            progress.cached("bare node image")
        else:
            with progress.step("bare node image", done="made"):
                ensure_bare_image(store, everything.base, everything.bare)
        for artifact in (*everything.offers[1:], *template):
            _step(store, artifact, progress)
    filled = store.path(everything.template) / "containerd" if images else None
    return Built(reference, filled, Offered(store.path(everything.repository), store.path(everything.bundle)))


def _is_there(store: Store, of: Release, wanted: tuple[Artifact, ...], reference: str) -> bool:
    there = all(store.has(artifact) for artifact in wanted) and image_exists(reference)
    if there:
        Progress(0).note(f"lab: everything for {of.version} is there ({len(wanted) + 1} artifacts in {store.root})")
    return there


def _make_built(store: Store, everything: Recipe, progress: Progress) -> None:
    # The base waits for the network while the compiler waits for nothing, so the two run side by side.
    beside = _Beside(store, everything.base, progress)
    for artifact in everything.programs:
        _step(store, artifact, progress)
    beside.join()
    for artifact in everything.images:
        _step(store, artifact, progress)
    kubeadm = next(program for program in everything.programs if program.name.startswith("kubeadm "))
    verify_against_kubeadm(store.path(kubeadm) / "kubeadm", everything.release, progress.note)


def _make(store: Store, everything: Recipe, progress: Progress) -> None:
    _make_built(store, everything, progress)
    _step(store, everything.tree, progress)
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
