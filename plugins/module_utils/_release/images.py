# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images and their tags, and which versions of kubelet and external etcd a release goes with."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Row, Since, Steps
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import image_tag

KUBE_APISERVER = "kube-apiserver"
KUBE_CONTROLLER_MANAGER = "kube-controller-manager"
KUBE_SCHEDULER = "kube-scheduler"
KUBE_PROXY = "kube-proxy"
ETCD = "etcd"


class ImageFacts:
    """What is pulled from where."""

    image_repository = Steps(
        ("1.22.0", "k8s.gcr.io"),
        ("1.22.17", "registry.k8s.io"),
        ("1.23.0", "k8s.gcr.io"),
        ("1.23.15", "registry.k8s.io"),
        ("1.24.0", "k8s.gcr.io"),
        ("1.24.9", "registry.k8s.io"),
    )
    etcd_tag = Steps(
        ("1.22.0", "3.5.0-0"),
        ("1.22.17", "3.5.6-0"),
        ("1.23.0", "3.5.1-0"),
        ("1.23.14", "3.5.5-0"),
        ("1.23.15", "3.5.6-0"),
        ("1.24.0", "3.5.3-0"),
        ("1.24.8", "3.5.5-0"),
        ("1.24.9", "3.5.6-0"),
        ("1.25.0", "3.5.4-0"),
        ("1.25.4", "3.5.5-0"),
        ("1.25.5", "3.5.6-0"),
        ("1.25.15", "3.5.9-0"),
        ("1.26.0", "3.5.6-0"),
        ("1.26.10", "3.5.9-0"),
        ("1.26.13", "3.5.10-0"),
        ("1.27.0", "3.5.7-0"),
        ("1.27.7", "3.5.9-0"),
        ("1.27.10", "3.5.10-0"),
        ("1.27.12", "3.5.12-0"),
        ("1.28.0", "3.5.9-0"),
        ("1.28.6", "3.5.10-0"),
        ("1.28.8", "3.5.12-0"),
        ("1.28.14", "3.5.15-0"),
        ("1.29.0", "3.5.10-0"),
        ("1.29.3", "3.5.12-0"),
        ("1.29.9", "3.5.15-0"),
        ("1.29.11", "3.5.16-0"),
        ("1.30.0", "3.5.12-0"),
        ("1.30.5", "3.5.15-0"),
        ("1.31.14", "3.5.24-0"),
        ("1.32.0", "3.5.16-0"),
        ("1.32.10", "3.5.24-0"),
        ("1.33.0", "3.5.21-0"),
        ("1.33.6", "3.5.24-0"),
        ("1.34.0", "3.6.4-0"),
        ("1.34.2", "3.6.5-0"),
        ("1.35.0", "3.6.6-0"),
        ("1.36.0", "3.6.8-0"),
        ("1.37.0", "3.7.0-0"),
    )
    coredns_tag = Steps(
        ("1.22.0", "v1.8.4"),
        ("1.23.0", "v1.8.6"),
        ("1.25.0", "v1.9.3"),
        ("1.27.0", "v1.10.1"),
        ("1.29.0", "v1.11.1"),
        ("1.30.5", "v1.11.3"),
        ("1.31.0", "v1.11.1"),
        ("1.31.1", "v1.11.3"),
        ("1.33.0", "v1.12.0"),
        ("1.34.0", "v1.12.1"),
        ("1.35.0", "v1.13.1"),
        ("1.36.0", "v1.14.2"),
        ("1.37.0", "v1.14.6"),
    )
    pause_tag = Steps(
        ("1.22.0", "3.5"),
        ("1.23.0", "3.6"),
        ("1.24.0", "3.7"),
        ("1.25.0", "3.8"),
        ("1.26.0", "3.9"),
        ("1.31.0", "3.10"),
        ("1.34.0", "3.10.1"),
        ("1.36.0", "3.10.2"),
    )
    min_external_etcd = Steps(
        ("1.22.0", "3.2.18"),
        ("1.28.0", "3.4.13-4"),
        ("1.31.0", "3.5.11-0"),
        ("1.31.14", "3.5.24-0"),
        ("1.32.0", "3.5.11-0"),
        ("1.32.10", "3.5.24-0"),
        ("1.33.0", "3.5.11-0"),
        ("1.33.6", "3.5.24-0"),
        ("1.34.0", "3.5.21-0"),
        ("1.34.2", "3.5.24-0"),
    )
    # Minors that a kubelet may be behind, and that the control plane may be behind kubeadm.
    kubelet_skew = Steps(("1.22.0", 1), ("1.29.0", 3))
    control_plane_skew = Always(1)
    # The images of disabled add-ons are left out of the pull.
    images_follow_disabled_addons = Since("1.29.0")
    image_pull_serial_field = Since("1.31.0")
    image_pull_tries = Always(5)
    control_plane_components: Row[tuple[str, ...]] = Always((KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER))


def component_image(repository: str, component: str, kubernetes_version: str) -> str:
    """Name the image of a Kubernetes component; a build's plus sign cannot stand in a tag."""
    return f"{repository}/{component}:{image_tag(kubernetes_version)}"


def etcd_image(repository: str, tag: str) -> str:
    """Name the image of a stacked etcd member."""
    return f"{repository}/{ETCD}:{tag}"


def pause_image(repository: str, tag: str) -> str:
    """Name the image of the pod sandbox."""
    return f"{repository}/pause:{tag}"


def coredns_image(repository: str, tag: str, default_repository: str) -> str:
    """Name the image of CoreDNS, which has a directory of its own in the default repository only."""
    folder = f"{repository}/coredns" if repository == default_repository else repository
    return f"{folder}/coredns:{tag}"


def control_plane_only(names: Iterable[str]) -> tuple[str, ...]:
    """Pick the images that only control planes run out of those of a cluster."""
    components = (KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, ETCD)
    return tuple(name for name in names if name.rpartition("/")[2].partition(":")[0] in components)


def full_name(name: str) -> str:
    """Give the name as a runtime lists it: Docker Hub and the tag latest are left out by people and never by runtimes."""
    first, slash, rest = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif first == "docker.io" and "/" not in rest:
        name = f"docker.io/library/{rest}"
    elif not ("." in first or ":" in first or first == "localhost"):
        name = f"docker.io/{name}"
    return name if "@" in name or ":" in name.rpartition("/")[2] else f"{name}:latest"


def running_version(manifest: bytes) -> str:
    """Read the version of a control plane from the image of its API server's manifest; nothing when it names none."""
    found = re.search(rb"image: \S*/kube-apiserver:(v[0-9][^\s@\"']*)", manifest)
    return found.group(1).decode().replace("_", "+") if found else ""
