# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the later phases of init leave in the API: configuration, node marks, RBAC and add-ons."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Derived, Row, Since, Steps
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import Version

_MASTER = "node-role.kubernetes.io/master"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_NO_LOAD_BALANCER = "node.kubernetes.io/exclude-from-external-load-balancers"
_VERSIONED = "-{major}.{minor}"


def _with_minor(template: str, version: Version) -> str:
    return template.format(major=version.major, minor=version.minor)


class ClusterObjectFacts:
    """Objects of kube-system and kube-public, and of the node itself."""

    # With the gate UnversionedKubeletConfigMap 1.23 leaves the version out already.
    kubelet_config_map = Derived(Steps(("1.22.0", "kubelet-config" + _VERSIONED), ("1.24.0", "kubelet-config")), _with_minor)
    kubelet_config_role = Derived(
        Steps(("1.22.0", "kubeadm:kubelet-config" + _VERSIONED), ("1.24.0", "kubeadm:kubelet-config")), _with_minor
    )
    kubelet_config_map_read = Steps(("1.22.0", "versioned"), ("1.23.0", "either"), ("1.25.0", "unversioned"))

    control_plane_labels: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (_MASTER, _CONTROL_PLANE, _NO_LOAD_BALANCER)),
        ("1.24.0", (_CONTROL_PLANE, _NO_LOAD_BALANCER)),
    )
    # Keys; the effect is NoSchedule.
    control_plane_taints: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (_MASTER,)),
        ("1.24.0", (_MASTER, _CONTROL_PLANE)),
        ("1.25.0", (_CONTROL_PLANE,)),
    )

    # The API server's kubelet client has a binding of its own since it is in no privileged group.
    apiserver_kubelet_client_binding = Since("1.33.12", "1.34.8", "1.35.5", "1.36.1")
    # The cluster-wide role and binding kubeadm:get-nodes carried a namespace, which means nothing.
    get_nodes_namespace = Before("1.29.0")

    coredns_drops_capability = Steps(("1.22.0", "all"), ("1.29.0", "ALL"))
    coredns_probe_ports_named = Since("1.34.0")
    coredns_anti_affinity = Since("1.25.0")
    coredns_tolerates_master = Before("1.26.0")
    coredns_reads_nodes = Before("1.28.0")
    coredns_no_negative_cache = Since("1.32.0")
    coredns_replicas = Always(2)
    kube_proxy_modes: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("iptables", "ipvs", "userspace")),
        ("1.26.0", ("iptables", "ipvs")),
        # Behind a gate of kube-proxy's own until 1.31.
        ("1.29.0", ("iptables", "ipvs", "nftables")),
    )
    kube_proxy_empty_mode = Steps(("1.22.0", ""), ("1.37.0", "iptables"))
    kube_proxy_either_wildcard = Since("1.37.0")


class WaitFacts:
    """How init and join find out that the control plane runs."""

    # The kubelet in parallel with the API, one after the other, or the kubelet and then all three components.
    wait_order = Steps(("1.22.0", "parallel"), ("1.30.0", "serial"), ("1.33.0", "components"))
    # With the gate WaitForAllControlPlaneComponents 1.30 to 1.32 wait for the components as well.
    # Where the API server is waited for together with the others, and where it is waited for alone.
    wait_paths_apiserver = Steps(("1.22.0", "/healthz"), ("1.32.0", "/livez"))
    wait_path_api_alone = Always("/healthz")
    wait_paths_controller_manager = Always("/healthz")
    wait_paths_scheduler = Steps(("1.22.0", "/healthz"), ("1.32.0", "/livez"))
    # Where 127.0.0.1 and the default ports were asked, then extraArgs, then the manifests on disk.
    wait_addresses = Steps(("1.22.0", "constants"), ("1.32.0", "arguments"), ("1.33.0", "manifests"))
    kubelet_healthz_configurable = Since("1.30.2", "1.31.0")
    kubelet_healthz_port_zero_skips = Since("1.30.4", "1.31.0")
    # The wait asks the local API server rather than controlPlaneEndpoint.
    wait_asks_local_api = Since("1.33.6", "1.34.2", "1.35.0")
    # So does everything else that init does, the cluster-admins binding included.
    init_asks_local_api = Since("1.33.12", "1.34.8", "1.35.5", "1.36.1")
