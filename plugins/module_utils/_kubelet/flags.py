# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm-flags.env: the flags that the kubelet of this node is started with."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Taint
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import (
    extra_argument,
    has_endpoint_flag,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import go_quoted
from ansible_collections.kubephase.cluster.plugins.module_utils._release import UnsupportedVersion, Version, pause_image

_DOCKERSHIM = "/var/run/dockershim.sock"


def render_flags(docs: Documents, hostname: str, kubelet_version: str = "") -> str:
    """Write the file; hostname is the host's own name, and the kubelet's version matters where the release says so."""
    words = [f"--{name}={value}" for name, value in _arguments(docs, hostname, kubelet_version)]
    return f"KUBELET_KUBEADM_ARGS={go_quoted(' '.join(words))}\n"


def _arguments(docs: Documents, hostname: str, kubelet_version: str) -> list[tuple[str, str]]:
    extra = [(argument.name, argument.value) for argument in docs.registration.kubelet_extra_args]
    own = sorted(_own(docs, hostname, kubelet_version).items())
    kept = [(name, value) for name, value in own if name not in dict(extra)]
    return kept + extra if docs.known_release.extra_args_keep_order else sorted(kept + extra)


def _own(docs: Documents, hostname: str, kubelet_version: str) -> dict[str, str]:
    release, node = docs.known_release, docs.registration
    flags = {}
    if _with_dockershim(docs, kubelet_version):
        flags["network-plugin"] = "cni"
    else:
        if release.runtime_remote_flag:
            flags["container-runtime"] = "remote"
        if has_endpoint_flag(docs):
            flags["container-runtime-endpoint"] = node.cri_socket
    if release.pod_infra_container_image_flag:
        flags["pod-infra-container-image"] = pause_image(docs.cluster.image_repository, release.pause_tag)
    # A control plane is tainted through the API; a worker may not taint itself once it has registered.
    if docs.becomes == WORKER and node.taints:
        flags["register-with-taints"] = ",".join(_taint(taint) for taint in node.taints)
    name = extra_argument(docs, "hostname-override") or node.name
    if name != hostname:
        flags["hostname-override"] = name
    return flags


def _with_dockershim(docs: Documents, kubelet_version: str) -> bool:
    rule, socket = docs.known_release.network_plugin_flag, docs.registration.cri_socket
    if rule == "dockershim":
        return socket == _DOCKERSHIM
    return rule == "older kubelet" and socket == f"unix://{_DOCKERSHIM}" and _has_dockershim(docs, kubelet_version)


def _has_dockershim(docs: Documents, kubelet_version: str) -> bool:
    try:
        return Version.parse(kubelet_version).minor < docs.known_release.version.minor
    except UnsupportedVersion:
        return False


def _taint(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
