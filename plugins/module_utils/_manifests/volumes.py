# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host paths that the pods of the control plane mount."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import ExternalEtcd, HostPathMount
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.arguments import last_value

DIRECTORY = "DirectoryOrCreate"
FILE = "FileOrCreate"
SYSTEM_CAS = "/etc/ssl/certs"

_FLEXVOLUMES = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"


@dataclass(frozen=True)
class Mount:
    """One host path in a pod."""

    name: str
    host_path: str
    mount_path: str
    read_only: bool
    path_type: str

    def volume(self) -> dict[str, Any]:
        """Describe it as a volume of the pod."""
        return {"name": self.name, "hostPath": {"path": self.host_path, "type": self.path_type}}

    def volume_mount(self) -> dict[str, Any]:
        """Describe it as a mount of the container."""
        mount: dict[str, Any] = {"name": self.name, "mountPath": self.mount_path}
        if self.read_only:
            mount["readOnly"] = True
        return mount


def same_path(name: str, path: str, path_type: str = DIRECTORY, read_only: bool = True) -> Mount:
    """Mount a host path where it lies on the host."""
    return Mount(name, path, path, read_only, path_type)


def by_name(mounts: Iterable[Mount], extra: Iterable[HostPathMount]) -> tuple[Mount, ...]:
    """Add the user's volumes, which take the place of ours of the same name, and sort by name."""
    table = {mount.name: mount for mount in mounts}
    table.update({each.name: Mount(each.name, each.host_path, each.mount_path, each.read_only, each.path_type) for each in extra})
    return tuple(table[name] for name in sorted(table))


def api_server_mounts(docs: Documents, existing: Collection[str]) -> tuple[Mount, ...]:
    """Certificates, the CAs of the system, and where the certificates of an external etcd lie."""
    mounts = [same_path("k8s-certs", docs.cluster.certificates_dir), same_path("ca-certs", SYSTEM_CAS)]
    if docs.cluster.etcd.external is not None:
        mounts += _external_etcd_mounts(docs, docs.cluster.etcd.external)
    return by_name([*mounts, *_extra_ca_mounts(docs, existing)], docs.cluster.api_server.extra_volumes)


def controller_manager_mounts(docs: Documents, existing: Collection[str], kubeconfig: str) -> tuple[Mount, ...]:
    """Certificates, the CAs of the system, the kubeconfig and, for as long as there were any, flexvolumes."""
    component = docs.cluster.controller_manager
    mounts = [
        same_path("k8s-certs", docs.cluster.certificates_dir),
        same_path("ca-certs", SYSTEM_CAS),
        same_path("kubeconfig", kubeconfig, FILE),
    ]
    if docs.known_release.flexvolume_directory:
        place = last_value(component.extra_args, "flex-volume-plugin-dir")
        mounts.append(same_path("flexvolume-dir", _FLEXVOLUMES if place is None else place, read_only=False))
    return by_name([*mounts, *_extra_ca_mounts(docs, existing)], component.extra_volumes)


def scheduler_mounts(docs: Documents, kubeconfig: str) -> tuple[Mount, ...]:
    """The kubeconfig."""
    return by_name([same_path("kubeconfig", kubeconfig, FILE)], docs.cluster.scheduler.extra_volumes)


def _extra_ca_mounts(docs: Documents, existing: Collection[str]) -> list[Mount]:
    """Directories that /etc/ssl/certs may hold links into, where the host has them."""
    paths = docs.known_release.extra_ca_directories
    return [same_path(path.replace("/", "-")[1:], path) for path in paths if path in existing]


def _external_etcd_mounts(docs: Documents, etcd: ExternalEtcd) -> list[Mount]:
    # kubeadm compares by the beginning of the text: /etc/kubernetes/pki-etcd counts as mounted with /etc/kubernetes/pki.
    mounted = (*docs.known_release.extra_ca_directories, SYSTEM_CAS, docs.cluster.certificates_dir)
    chosen: set[str] = set()
    for file in (etcd.ca_file, etcd.cert_file, etcd.key_file):
        directory = posixpath.dirname(posixpath.normpath(file)) if file else ""
        if not directory or directory.startswith(mounted):
            continue
        inside_another = any(directory.startswith(each) and not each.startswith(directory) for each in chosen)
        chosen = {each for each in chosen if not each.startswith(directory)}
        if not inside_another:
            chosen.add(directory)
    return [same_path(f"etcd-certs-{number}", directory) for number, directory in enumerate(sorted(chosen))]
