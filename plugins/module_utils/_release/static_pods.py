# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Static pods: probes, flags, volumes and the order of arguments."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Each, Row, Since, Steps


class ProbePaths(NamedTuple):
    """Paths that the kubelet asks; None where the container has no such probe."""

    liveness: str
    readiness: str | None
    startup: str


class ProbeTiming(NamedTuple):
    """Seconds and counts of a probe; the startup probe's failures come from the control plane's timeout."""

    initial_delay: int
    timeout: int
    failures: int
    period: int


Flag = tuple[str, str]

_EXPERIMENTAL_CORRUPTION: Flag = ("experimental-initial-corrupt-check", "true")
_EXPERIMENTAL_PROGRESS: Flag = ("experimental-watch-progress-notify-interval", "5s")
_CORRUPTION: Flag = ("feature-gates", "InitialCorruptCheck=true")
_PROGRESS: Flag = ("watch-progress-notify-interval", "5s")
_NO_FLAGS: tuple[Flag, ...] = ()

_HEALTHZ = ProbePaths("/healthz", None, "/healthz")
_LIVEZ = ProbePaths("/livez", "/readyz", "/livez")


class StaticPodFacts:
    """What the control-plane and etcd phases write."""

    pod_priority: Row[int | None] = Steps(
        ("1.22.0", None),
        ("1.25.12", 2000001000),
        ("1.26.0", None),
        ("1.26.7", 2000001000),
    )
    pod_creation_timestamp = Before("1.34.0")
    # Probes name a container port; before, they held its number and there was no ports list.
    probe_port_named = Since("1.34.0")
    probe_paths = Each(
        {
            "kube-apiserver": Always(_LIVEZ),
            "kube-controller-manager": Always(_HEALTHZ),
            "kube-scheduler": Steps(("1.22.0", _HEALTHZ), ("1.32.0", _LIVEZ)),
            "etcd": Steps(
                ("1.22.0", ProbePaths("/health", None, "/health")),
                # An alarm must not restart a member that can still answer, nor a lost quorum a healthy one.
                ("1.25.0", ProbePaths("/health?exclude=NOSPACE&serializable=true", None, "/health?serializable=false")),
                ("1.31.0", ProbePaths("/livez", "/readyz", "/readyz")),
            ),
        }
    )
    probe_timings = Each(
        {
            "liveness": Always(ProbeTiming(10, 15, 8, 10)),
            "readiness": Always(ProbeTiming(0, 15, 3, 1)),
            "startup": Always(ProbeTiming(10, 15, 24, 10)),
        }
    )
    ports = Each(
        {
            "kube-apiserver": Always(6443),
            "kube-controller-manager": Always(10257),
            "kube-scheduler": Always(10259),
            "etcd-client": Always(2379),
            "etcd-peer": Always(2380),
            "etcd-metrics": Always(2381),
            "kubelet": Always(10250),
            "kubelet-healthz": Always(10248),
        }
    )
    cpu_requests = Each(
        {
            "kube-apiserver": Always("250m"),
            "kube-controller-manager": Always("200m"),
            "kube-scheduler": Always("100m"),
            "etcd": Always("100m"),
        }
    )
    etcd_memory_request = Always("100Mi")

    # 1.22 still had to close the insecure ports of controller manager and scheduler.
    insecure_port_flag = Before("1.23.0")
    # Flags for an etcd older than 3.6, and for 3.6 and later; 1.34 and 1.35 look at the tag they deploy.
    etcd_flags_before_3_6: Row[tuple[Flag, ...]] = Steps(
        ("1.22.0", _NO_FLAGS),
        ("1.22.10", (_EXPERIMENTAL_CORRUPTION,)),
        ("1.23.0", _NO_FLAGS),
        ("1.23.7", (_EXPERIMENTAL_CORRUPTION,)),
        ("1.25.0", (_EXPERIMENTAL_CORRUPTION, _EXPERIMENTAL_PROGRESS)),
        ("1.36.0", (_CORRUPTION, _PROGRESS)),
    )
    etcd_flags_from_3_6: Row[tuple[Flag, ...]] = Steps(
        ("1.22.0", _NO_FLAGS),
        ("1.22.10", (_EXPERIMENTAL_CORRUPTION,)),
        ("1.23.0", _NO_FLAGS),
        ("1.23.7", (_EXPERIMENTAL_CORRUPTION,)),
        ("1.25.0", (_EXPERIMENTAL_CORRUPTION, _EXPERIMENTAL_PROGRESS)),
        ("1.34.0", (_CORRUPTION, _PROGRESS)),
    )
    # Defaults sorted and then extraArgs in their own order, instead of everything sorted.
    extra_args_keep_order = Since("1.32.12", "1.33.8", "1.34.4", "1.35.1", "1.36.0")
    extra_envs_sorted = Since("1.32.0")
    # Unknown authorization modes of the user were dropped from the flag.
    authorization_modes_filtered = Before("1.30.0")
    authorization_config_replaces_mode = Since("1.30.0")
    # Rendering the flag wrote the mode into the documents that were uploaded afterwards.
    authorization_mode_stored = Before("1.30.0")

    extra_ca_directories: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("/etc/pki", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/ca-certificates")),
        (
            "1.31.0",
            (
                "/etc/pki/ca-trust",
                "/etc/pki/tls/certs",
                "/etc/ca-certificates",
                "/usr/share/ca-certificates",
                "/usr/local/share/ca-certificates",
            ),
        ),
    )
    flexvolume_directory = Before("1.36.0")
    patch_targets: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")),
        ("1.25.0", ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeletconfiguration")),
        (
            "1.31.0",
            ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeletconfiguration", "corednsdeployment"),
        ),
        (
            "1.37.0",
            (
                "etcd",
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubeletconfiguration",
                "corednsdeployment",
                "kubeproxydaemonset",
            ),
        ),
    )
