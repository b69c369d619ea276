# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The images of a release, under exactly the names that its kubeadm asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Callable

from lab.cache import Artifact, Store, content_of
from lab.command import run
from lab.docker_archive import Image, write
from lab.errors import LabError
from lab.gobuild import module_source
from lab.recipes import FLANNEL_IMAGE, IMAGE_REPOSITORY, IN_IMAGES, Release, kubernetes
from lab.toolchain import Go, architecture

FILES = Path(__file__).parent / "files"
FLANNEL_ENTRY = FILES / "flannel-entrypoint"

# One program that answers to all of these names; the plain ones are its nftables flavour.
IPTABLES_NAMES = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
NETFILTER_LINKS = {**{f"usr/sbin/{name}": "xtables-nft-multi" for name in IPTABLES_NAMES}, "bin/sh": "/usr/bin/dash"}


def references(of: Release) -> dict[str, str]:
    """Name every image of a release by the component that it runs."""
    components = {name: f"{IMAGE_REPOSITORY}/{name}:v{of.version}" for name in IN_IMAGES}
    return {
        **components,
        "coredns": f"{IMAGE_REPOSITORY}/coredns/coredns:{of.coredns_tag}",
        "pause": f"{IMAGE_REPOSITORY}/pause:{of.pause_tag}",
        "etcd": f"{IMAGE_REPOSITORY}/etcd:{of.etcd_tag}",
        "flannel": FLANNEL_IMAGE,
        "agnhost": f"{IMAGE_REPOSITORY}/e2e-test-images/agnhost:{of.agnhost_tag}",
    }


def pause_artifact(go: Go, of: Release) -> Artifact:
    """Describe pause, one C file of Kubernetes."""

    def make(target: Path) -> None:
        source = module_source(go, kubernetes("kubeadm", of.version)) / "build" / "pause" / "linux" / "pause.c"
        run(["gcc", "-Os", "-Wall", "-static", f"-DVERSION=v{of.pause_tag}", "-o", str(target / "pause"), str(source)])
        run(["strip", str(target / "pause")])

    return Artifact(f"pause {of.pause_tag}", {"kubernetes": of.version, "architecture": architecture()}, make)


def image_artifacts(store: Store, of: Release, programs: Mapping[str, Artifact], base: Artifact) -> list[Artifact]:
    """Describe the archive of every image of a release."""
    named = references(of)
    return [_archive(store, component, named[component], programs, base) for component in named]


def _archive(store: Store, component: str, reference: str, programs: Mapping[str, Artifact], base: Artifact) -> Artifact:
    contents, netfilter, entrypoint = LAYOUTS[component]
    parts = [programs[program] for program, _ in contents]
    inputs: dict[str, object] = {
        "reference": reference,
        "layout": [list(pair) for pair in contents],
        "parts": [part.digest for part in parts],
        "writer": content_of(Path(__file__).parent / "docker_archive.py"),
    }
    if netfilter:
        inputs["base"] = base.digest
    if component == "flannel":
        inputs["entrypoint"] = content_of(FLANNEL_ENTRY)

    def make(target: Path) -> None:
        files = {place: store.path(programs[program]) / program for program, place in contents}
        if component == "flannel":
            files["usr/local/bin/flannel-entrypoint"] = FLANNEL_ENTRY
        layers: tuple[Path, ...] = (store.path(base) / "netfilter.tar",) if netfilter else ()
        image = Image(reference, entrypoint, files, NETFILTER_LINKS if netfilter else {}, layers)
        write(image, target / "image.tar", architecture())

    return Artifact(f"image {reference.rsplit('/', 1)[1].replace(':', ' ')}", inputs, make)


def _simple(name: str) -> tuple[Sequence[tuple[str, str]], bool, tuple[str, ...]]:
    return ((name, f"usr/local/bin/{name}"),), False, (f"/usr/local/bin/{name}",)


# Component: which program goes where, whether it programs netfilter, how it starts.
LAYOUTS: Mapping[str, tuple[Sequence[tuple[str, str]], bool, tuple[str, ...]]] = {
    "kube-apiserver": _simple("kube-apiserver"),
    "kube-controller-manager": _simple("kube-controller-manager"),
    "kube-scheduler": _simple("kube-scheduler"),
    "kube-proxy": ((("kube-proxy", "usr/local/bin/kube-proxy"),), True, ("/usr/local/bin/kube-proxy",)),
    "coredns": ((("coredns", "coredns"),), False, ("/coredns",)),
    "pause": ((("pause", "pause"),), False, ("/pause",)),
    "etcd": ((("etcd", "usr/local/bin/etcd"), ("etcdctl", "usr/local/bin/etcdctl")), False, ("/usr/local/bin/etcd",)),
    "flannel": ((("flanneld", "usr/local/bin/flanneld"),), True, ("/usr/local/bin/flannel-entrypoint",)),
    "agnhost": ((("agnhost", "agnhost"),), False, ("/agnhost",)),
}


def verify_against_kubeadm(kubeadm: Path, of: Release, say: Callable[[str], None]) -> None:
    """Ask the real kubeadm which images it will want, and stop when the table here disagrees."""
    said = run([str(kubeadm), "config", "images", "list", "--kubernetes-version", f"v{of.version}"])
    wanted = {line for line in said.split() if "/" in line}
    absent = wanted - set(references(of).values())
    if absent:
        raise LabError(f"kubeadm {of.version} wants images that the lab does not make: {', '.join(sorted(absent))}")
    say(f"kubeadm {of.version} finds all {len(wanted)} images that it asks for")
