# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts that the sources at hand do not show, or not of that release: the last release before each change and the first after it."""

from __future__ import annotations

from typing import Any

Expected = dict[str, tuple[tuple[str, Any], ...]]


def _turns(first_false: str, first_true: str) -> tuple[tuple[str, Any], ...]:
    return ((first_false, False), (first_true, True))


_CONTROLLERS = ("CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER", "CGROUP_PIDS", "CGROUP_SCHED")


def _kernel_options(newest: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """The options of the validators that the releases' go.mod files name: 1.8.0, 1.9.1, 1.9.2, 1.10.1, 1.10.2, 1.12.1."""
    common = (
        *("NAMESPACES", "NET_NS", "PID_NS", "IPC_NS", "UTS_NS", "CGROUPS", "CPUSETS", "MEMCG", "INET", "EXT4_FS", "PROC_FS"),
        *("NETFILTER_XT_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT", "FAIR_GROUP_SCHED"),
    )
    old, both, few = (*common, *_CONTROLLERS), (*common, *_CONTROLLERS, "CGROUP_BPF"), common
    return (
        *(("1.22.0", old), ("1.31.14", old), ("1.32.0", both), ("1.32.9", both), ("1.32.10", few), ("1.32.13", few)),
        *(("1.33.0", both), ("1.33.5", both), ("1.33.6", few), ("1.33.13", few), ("1.34.0", both), ("1.34.1", both)),
        *(("1.34.2", few), ("1.34.10", few), ("1.35.0", (*common, *newest)), ("1.37.1", (*common, *newest))),
    )


EXPECTED: Expected = {
    "addon_disabled_fields": _turns("1.30.14", "1.31.0"),
    "api_read_seconds": (("1.29.15", 15), ("1.30.0", 60)),
    "authorization_modes_filtered": (("1.29.15", True), ("1.30.0", False)),
    # The self-signed CA is made by client-go, whose patches go with those of Kubernetes.
    "ca_serial_random": (
        *_turns("1.25.11", "1.25.12"),
        *_turns("1.26.6", "1.26.7"),
        *_turns("1.27.3", "1.27.4"),
        ("1.27.16", True),
        ("1.28.0", True),
    ),
    "cgroup_v1_severity": (("1.31.14", None), ("1.32.0", "warning"), ("1.34.10", "warning"), ("1.35.0", "error")),
    "cgroup_driver_from_runtime": _turns("1.30.14", "1.31.0"),
    "cgroup_v1_optional": (("1.23.17", ("hugetlb",)), ("1.24.0", ("hugetlb", "blkio"))),
    "cgroup_v2_optional": (("1.23.17", ("hugetlb",)), ("1.24.0", ("hugetlb", "io"))),
    "cri_socket_has_scheme": _turns("1.23.17", "1.24.0"),
    "discovery_file_wins": _turns("1.26.15", "1.27.0"),
    "discovery_needs_ca": _turns("1.35.8", "1.36.0"),
    "dockershim": (("1.23.17", True), ("1.24.0", False)),
    "encryption_algorithm_field": _turns("1.30.14", "1.31.0"),
    "etcd_flags_from_3_6": (
        ("1.22.9", ()),
        ("1.22.10", (("experimental-initial-corrupt-check", "true"),)),
        ("1.22.17", (("experimental-initial-corrupt-check", "true"),)),
        ("1.23.0", ()),
        ("1.23.6", ()),
        ("1.23.7", (("experimental-initial-corrupt-check", "true"),)),
        ("1.24.17", (("experimental-initial-corrupt-check", "true"),)),
        ("1.25.0", (("experimental-initial-corrupt-check", "true"), ("experimental-watch-progress-notify-interval", "5s"))),
        ("1.33.13", (("experimental-initial-corrupt-check", "true"), ("experimental-watch-progress-notify-interval", "5s"))),
        ("1.34.0", (("feature-gates", "InitialCorruptCheck=true"), ("watch-progress-notify-interval", "5s"))),
    ),
    "etcd_member_add_lists_first": (
        *_turns("1.28.14", "1.28.15"),
        *_turns("1.29.9", "1.29.10"),
        *_turns("1.30.5", "1.30.6"),
        *_turns("1.31.1", "1.31.2"),
        ("1.31.14", True),
        ("1.32.0", True),
    ),
    "etcd_tag": (
        ("1.24.7", "3.5.3-0"),
        ("1.24.8", "3.5.5-0"),
        ("1.27.11", "3.5.10-0"),
        ("1.27.12", "3.5.12-0"),
        ("1.29.10", "3.5.15-0"),
        ("1.29.11", "3.5.16-0"),
    ),
    "extra_args_keep_order": (*_turns("1.32.11", "1.32.12"), *_turns("1.33.7", "1.33.8")),
    "extra_envs": _turns("1.30.14", "1.31.0"),
    "image_pull_serial_field": _turns("1.30.14", "1.31.0"),
    "images_follow_disabled_addons": _turns("1.28.15", "1.29.0"),
    "kernel_options_cgroup_v1": _kernel_options(_CONTROLLERS),
    "kernel_options_cgroup_v2": _kernel_options(("CGROUP_BPF", "CGROUP_PIDS", "CGROUP_SCHED")),
    "kernel_severity": (("1.33.13", "error"), ("1.34.0", "warning")),
    # encryptionAlgorithm is in 1.29's and 1.30's draft of v1beta4 too, which init refuses.
    "key_algorithms": (
        ("1.22.0", ("RSA-2048",)),
        ("1.30.14", ("RSA-2048",)),
        ("1.31.0", ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256")),
        ("1.33.13", ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256")),
        ("1.34.0", ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384")),
    ),
    "known_cri_sockets": (
        ("1.23.17", ("/var/run/dockershim.sock", "/run/containerd/containerd.sock", "/var/run/crio/crio.sock")),
        (
            "1.24.0",
            ("unix:///var/run/containerd/containerd.sock", "unix:///var/run/crio/crio.sock", "unix:///var/run/cri-dockerd.sock"),
        ),
    ),
    "kube_proxy_either_wildcard": _turns("1.36.5", "1.37.0"),
    "kube_proxy_modes": (
        ("1.25.16", ("iptables", "ipvs", "userspace")),
        ("1.26.0", ("iptables", "ipvs")),
        ("1.28.15", ("iptables", "ipvs")),
        ("1.29.0", ("iptables", "ipvs", "nftables")),
    ),
    "kubeconfig_phases": (
        ("1.28.15", ("admin", "kubelet", "controller-manager", "scheduler")),
        ("1.29.0", ("admin", "super-admin", "kubelet", "controller-manager", "scheduler")),
    ),
    # client-go and apimachinery leave out empty structures since 1.34.
    "kubeconfig_preferences": (("1.33.13", True), ("1.34.0", False)),
    "kubelet_follows_dual_stack_gate": (("1.22.17", True), ("1.23.0", False)),
    "pod_creation_timestamp": (("1.33.13", True), ("1.34.0", False)),
    "kubelet_config_map_read": (("1.22.17", "versioned"), ("1.23.0", "either"), ("1.24.17", "either"), ("1.25.0", "unversioned")),
    "kubelet_config_role": (
        ("1.22.17", "kubeadm:kubelet-config-1.22"),
        ("1.23.17", "kubeadm:kubelet-config-1.23"),
        ("1.24.0", "kubeadm:kubelet-config"),
    ),
    "kubelet_waits_parallel": (("1.29.15", True), ("1.30.0", False)),
    "kubeadm_config_read_retried": _turns("1.35.6", "1.35.7"),
    "learner_promotion_waits_for_start": (*_turns("1.32.11", "1.32.12"), *_turns("1.33.7", "1.33.8")),
    "merge_method": _turns("1.36.5", "1.37.0"),
    "network_plugin_flag": (("1.23.17", "dockershim"), ("1.24.0", "older kubelet"), ("1.24.17", "older kubelet"), ("1.25.0", "never")),
    "object_writes_retried": _turns("1.29.15", "1.30.0"),
    "patch_node_seconds": (("1.29.15", 120), ("1.30.0", 60)),
    "preflight_families_of_networks": _turns("1.26.15", "1.27.0"),
    "ports_on_bind_address": _turns("1.36.5", "1.37.0"),
    "renewal_rewrites_organizations": (("1.28.15", False), ("1.29.0", True), ("1.29.15", True), ("1.30.0", False)),
    "resolv_conf_may_be_empty": _turns("1.22.17", "1.23.0"),
    "serving_files_reloaded": (("1.30.14", False), ("1.31.0", True)),
    "serving_needs_address": (("1.30.14", False), ("1.31.0", True)),
    "serving_usages_by_key": (("1.26.15", False), ("1.27.0", True)),
    "stored_config_api": (("1.30.14", "v1beta3"), ("1.31.0", "v1beta4")),
    "validity_fields": _turns("1.30.14", "1.31.0"),
    "wait_addresses": (("1.31.14", "constants"), ("1.32.0", "arguments"), ("1.32.13", "arguments"), ("1.33.0", "manifests")),
    "wait_order": (("1.29.15", "parallel"), ("1.30.0", "serial"), ("1.32.13", "serial"), ("1.33.0", "components")),
    "wait_paths_apiserver": (("1.31.14", "/healthz"), ("1.32.0", "/livez")),
    "wait_paths_scheduler": (("1.31.14", "/healthz"), ("1.32.0", "/livez")),
    "worker_needs_default_route": (
        ("1.33.11", True),
        ("1.33.12", False),
        ("1.34.7", True),
        ("1.34.8", False),
        ("1.35.4", True),
        ("1.35.5", False),
        ("1.36.0", True),
        ("1.36.1", False),
    ),
}
