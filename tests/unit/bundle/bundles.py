# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bundles made on the spot: real files and real image archives, small ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAUSE = "registry.k8s.io/pause:3.10.2"
IMAGES = (
    "registry.k8s.io/kube-apiserver:v1.37.1",
    "registry.k8s.io/kube-controller-manager:v1.37.1",
    "registry.k8s.io/kube-scheduler:v1.37.1",
    "registry.k8s.io/kube-proxy:v1.37.1",
    "registry.k8s.io/coredns/coredns:v1.14.6",
    PAUSE,
    "registry.k8s.io/etcd:3.7.0-0",
)
FILES = ("bin/crictl", "bin/kubectl", "bin/kubelet", "cni/bridge", "cni/host-local", "cni/loopback", "cni/portmap")
DEBS = ("containerd_1_amd64.deb", "python3-cryptography_1_amd64.deb", "python3-yaml_1_amd64.deb")


def tar_of(members: Mapping[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


def docker_manifest(names: Sequence[str]) -> bytes:
    return json.dumps([{"Config": "c.json", "RepoTags": list(names), "Layers": []}]).encode()


def docker_archive(*names: str) -> bytes:
    return tar_of({"layer.tar": bytes(3_000_000), "manifest.json": docker_manifest(names)})


def oci_archive(*names: str) -> bytes:
    manifests = [{"digest": "sha256:0", "annotations": {"org.opencontainers.image.ref.name": name}} for name in names]
    index = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    return gzip.compress(tar_of({"./oci-layout": b"{}", "./blobs/a": b"a", "./index.json": index}), mtime=0)


def contents(images: Sequence[str] = IMAGES) -> dict[str, bytes]:
    """The files of a bundle that is whole: half of its images in a docker-archive, half in a compressed OCI archive."""
    files = {path: path.encode() for path in (*FILES, *(f"debs/{deb}" for deb in DEBS))}
    files["images/first.tar"] = docker_archive(*images[:3])
    files["images/second.tar.gz"] = oci_archive(*images[3:])
    return files


def listing(held: Mapping[str, bytes], **different: Any) -> dict[str, Any]:
    """What bundle.json says of such files."""
    return {
        "kubernetes": "1.37.1",
        "architecture": "amd64",
        "files": {path: hashlib.sha256(content).hexdigest() for path, content in held.items()},
        "images": {"images/first.tar": list(IMAGES[:3]), "images/second.tar.gz": list(IMAGES[3:])},
        **different,
    }


def lay(root: Path, files: Mapping[str, bytes], listed: Mapping[str, Any] | None) -> None:
    """Write a bundle's directory."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    if listed is not None:
        (root / "bundle.json").write_text(json.dumps(listed))
