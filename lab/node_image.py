# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The root file system of a node: a distribution with systemd, sshd and containerd, then one release on top."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.cache import Artifact, Store, content_of
from lab.command import run
from lab.debian import codename, configured_sources, main_archive
from lab.images import FILES
from lab.podman import build_image, image_exists, import_image
from lab.recipes import ON_NODES, Release
from lab.toolchain import architecture

MAKE_BASE = FILES / "make-base.sh"

# Where each file of lab/files goes in a node, and with which mode.
NODE_FILES: Mapping[str, str] = {
    "kubelet.service": "usr/lib/systemd/system/kubelet.service",
    "10-kubeadm.conf": "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "lab-node.service": "usr/lib/systemd/system/lab-node.service",
    "lab-node": "usr/local/sbin/lab-node",
    "lab-import-images": "usr/local/sbin/lab-import-images",
    "containerd.toml": "etc/containerd/config.toml",
    "crictl.yaml": "etc/crictl.yaml",
    "sshd.conf": "etc/ssh/sshd_config.d/lab.conf",
}
EXECUTABLE = ("lab-node", "lab-import-images")
ENABLED = ("kubelet", "lab-node")
# These would set kernel parameters of the machine.
MASKED = ("systemd-sysctl.service", "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount")


def base_artifact(store: Store) -> Artifact:
    """Describe the distribution that all nodes share, and the netfilter tools that two images borrow from it."""
    suite = codename(Path("/etc/os-release").read_text())

    def make(target: Path) -> None:
        # Asked only now: the mirror is how the machine gets packages, not what the result is made of.
        mirror = main_archive(configured_sources(), suite).uri
        root = target / "rootfs"
        debs = store.scratch("debs")
        apart = ("unshare", "--mount", "--propagation", "private")
        run([*apart, "sh", str(MAKE_BASE), str(root), suite, mirror, str(debs)], log=store.log("node-base"))
        run(["tar", "-C", str(root), "--dereference", "-cf", str(target / "netfilter.tar"), "-T", str(target / "netfilter.files")])
        run(["tar", "-C", str(root), "--numeric-owner", "-cf", str(target / "rootfs.tar"), "."])
        shutil.rmtree(root)

    inputs = {"suite": suite, "script": content_of(MAKE_BASE), "architecture": architecture()}
    return Artifact(f"node-base {suite}", inputs, make)


def tree_artifact(store: Store, of: Release, programs: Mapping[str, Artifact]) -> Artifact:
    """Describe what a release adds to the base: its programs, its units and its settings."""
    plugins = programs["cni-plugins"]
    tools = {name: programs[name] for name in (*ON_NODES, "crictl")}

    def make(target: Path) -> None:
        for name, artifact in tools.items():
            copy(store.path(artifact) / name, target / "usr/bin" / name)
        for plugin in store.path(plugins).iterdir():
            copy(plugin, target / "opt/cni/bin" / plugin.name)
        lay_out(target, NODE_FILES, ENABLED, of.pause_tag)

    inputs = {
        "masked": list(MASKED),
        "files": {name: content_of(FILES / name) for name in NODE_FILES},
        "places": dict(NODE_FILES),
        "enabled": list(ENABLED),
        "pause": of.pause_tag,
        "programs": sorted(artifact.digest for artifact in (*tools.values(), plugins)),
    }
    return Artifact(f"node-tree {of.version}", inputs, make)


def lay_out(target: Path, names: Iterable[str], enabled: Iterable[str], pause_tag: str = "") -> None:
    """Put files of lab/files where they go in a node, and switch its units on and off."""
    for name in names:
        written = target / NODE_FILES[name]
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text((FILES / name).read_text().replace("@PAUSE_TAG@", pause_tag))
        written.chmod(0o755 if name in EXECUTABLE else 0o644)
    wants = target / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    for unit in enabled:
        (wants / f"{unit}.service").symlink_to(f"/usr/lib/systemd/system/{unit}.service")
    for unit in MASKED:
        (wants.parent / unit).symlink_to("/dev/null")


def base_reference(base: Artifact) -> str:
    """Name the base in podman's storage."""
    return f"localhost/kubephase-base:{base.digest}"


def node_reference(base: Artifact, tree: Artifact) -> str:
    """Name a release's node image in podman's storage."""
    return f"localhost/kubephase-node:{base.digest}-{tree.digest}"


def ensure_node_image(store: Store, base: Artifact, tree: Artifact) -> str:
    """Put the node image into podman's storage unless it is there."""
    reference = node_reference(base, tree)
    with store.lock("podman-images"):
        if not image_exists(reference):
            ensure_base_image(store, base)
            build_image(f"FROM {base_reference(base)}\nCOPY . /\n", store.path(tree), reference)
    return reference


def ensure_base_image(store: Store, base: Artifact) -> None:
    """Put the base into podman's storage unless it is there; its caller holds the lock."""
    if not image_exists(base_reference(base)):
        import_image(store.path(base) / "rootfs.tar", base_reference(base))


def copy(source: Path, target: Path) -> None:
    """Put a program somewhere with its execute bit, sharing the bytes where the file system can."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
