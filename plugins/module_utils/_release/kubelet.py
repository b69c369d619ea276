# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet's files and flags, and how kubeadm finds the container runtime."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Derived, Each, Row, Since, Steps
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import Version

_CONTAINERD = "unix:///var/run/containerd/containerd.sock"

# Durations that are no pointers in Go print as 0s; the kubelet takes them as unset.
_ZERO_DURATIONS = (
    "authentication.webhook.cacheTTL",
    "authorization.webhook.cacheAuthorizedTTL",
    "authorization.webhook.cacheUnauthorizedTTL",
    "cpuManagerReconcilePeriod",
    "evictionPressureTransitionPeriod",
    "fileCheckFrequency",
    "httpCheckFrequency",
    "imageMinimumGCAge",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "runtimeRequestTimeout",
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
    "volumeStatsAggPeriod",
)
_ALWAYS: Row[bool] = Always(True)
_ZERO_VALUES: Mapping[str, tuple[Any, Row[bool]]] = {
    **dict.fromkeys(_ZERO_DURATIONS, ("0s", _ALWAYS)),
    "containerRuntimeEndpoint": ("", Since("1.27.0")),
    "crashLoopBackOff": ({}, Since("1.32.0")),
    "imageMaximumGCAge": ("0s", Since("1.29.0")),
    "logging": ({}, Before("1.23.0")),
    "logging.flushFrequency": (0, Since("1.23.0")),
    "logging.options.json.infoBufferSize": ("0", Since("1.23.0")),
    "logging.options.text.infoBufferSize": ("0", Since("1.30.0")),
    "logging.verbosity": (0, Since("1.23.0")),
    "memorySwap": ({}, _ALWAYS),
}


def _present_zeros(present: Mapping[str, bool], version: Version) -> dict[str, Any]:
    # A copy, because what takes the empty objects fills them.
    return {path: copy(value) for path, (value, _row) in _ZERO_VALUES.items() if present[path]}


class KubeletFacts:
    """What kubelet-start writes, and what later phases say about the node's runtime."""

    # Flags in kubeadm-flags.env.
    runtime_remote_flag = Before("1.26.0")
    # The endpoint moved to a file of the node: always a flag, only without the gate NodeLocalCRISocket, never.
    runtime_endpoint_flag = Steps(("1.22.0", "always"), ("1.32.0", "gate"), ("1.37.0", "never"))
    pod_infra_container_image_flag = Before("1.35.0")
    # network-plugin=cni: with dockershim's socket, then only for a kubelet of the minor before.
    network_plugin_flag = Steps(("1.22.0", "dockershim"), ("1.24.0", "older kubelet"), ("1.25.0", "never"))

    # instance-config.yaml, written before config.yaml and merged into it after the user's patches.
    instance_config = Steps(("1.22.0", "never"), ("1.32.0", "gate"), ("1.37.0", "always"))
    # Node annotation kubeadm.alpha.kubernetes.io/cri-socket: written always, only without the gate, never.
    cri_socket_annotation = Steps(("1.22.0", "always"), ("1.32.0", "gate"), ("1.36.0", "never"))
    kubelet_config_patches = Since("1.25.0")

    # systemd-resolved's file: chosen with the defaults, or on each node when config.yaml is written.
    resolv_conf_chosen = Steps(("1.22.0", "defaults"), ("1.31.0", "node"))
    # Writing init's config.yaml changed the object that is uploaded later.
    resolv_conf_in_config_map = Steps(("1.22.0", True), ("1.36.5", False), ("1.37.0", True), ("1.37.1", False))
    # An empty resolvConf became a value of its own: the kubelet is to use none.
    resolv_conf_may_be_empty = Since("1.23.0")
    # kubeadm's own gate IPv6DualStack, where the documents set it, was set for the kubelet too.
    kubelet_follows_dual_stack_gate = Before("1.23.0")
    patches_in_config_map = Steps(
        ("1.22.0", False),
        ("1.27.0", True),
        ("1.27.11", False),
        ("1.28.0", True),
        ("1.28.7", False),
        ("1.29.0", True),
        ("1.29.2", False),
    )
    # Path and value of the fields that KubeletConfiguration shows although nobody set them.
    kubelet_zero_values = Derived(Each({path: row for path, (_value, row) in _ZERO_VALUES.items()}), _present_zeros)

    default_cri_socket = Steps(("1.22.0", "/var/run/dockershim.sock"), ("1.24.0", _CONTAINERD))
    known_cri_sockets: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("/var/run/dockershim.sock", "/run/containerd/containerd.sock", "/var/run/crio/crio.sock")),
        ("1.24.0", (_CONTAINERD, "unix:///var/run/crio/crio.sock", "unix:///var/run/cri-dockerd.sock")),
    )
    cri_socket_has_scheme = Since("1.24.0")
    dockershim = Before("1.24.0")

    # kubelet-finalize: the user is found by its name, or through the current context.
    finalize_finds_user = Steps(("1.22.0", "name"), ("1.30.0", "context"))

    # A kubelet's request for a serving certificate: usages by its key, and an address besides its host name.
    serving_usages_by_key = Since("1.27.0")
    serving_needs_address = Since("1.31.0")
    # A serving certificate that somebody else wrote is read again without a restart.
    serving_files_reloaded = Since("1.31.0")
