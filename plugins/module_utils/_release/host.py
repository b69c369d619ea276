# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a release needs of the host below it: modules and settings of the kernel, files of packages."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Row

IPV4 = "ipv4"
IPV6 = "ipv6"


class HostFacts:
    """What must be there before a kubelet can do its work."""

    # Layers of images; rules for packets that cross a bridge of pods.
    kernel_modules: Row[tuple[str, ...]] = Always(("overlay", "br_netfilter"))
    # What kube-proxy needs besides in some of its modes.
    proxy_mode_modules: Row[Mapping[str, tuple[str, ...]]] = Always(
        {"ipvs": ("ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_sh", "nf_conntrack"), "nftables": ("nf_tables",)}
    )
    # Settings whatever the networks, and those of each address family.
    bridge_settings: Row[Mapping[str, str]] = Always(
        {"net.bridge.bridge-nf-call-iptables": "1", "net.bridge.bridge-nf-call-ip6tables": "1"}
    )
    forwarding_settings: Row[Mapping[str, Mapping[str, str]]] = Always(
        {
            IPV4: {"net.ipv4.ip_forward": "1"},
            IPV6: {"net.ipv6.conf.all.forwarding": "1", "net.ipv6.conf.default.forwarding": "1"},
        }
    )
    # What a kubelet with protectKernelDefaults insists on, and would set itself without.
    protected_kernel_settings: Row[Mapping[str, str]] = Always(
        {
            "kernel.keys.root_maxbytes": "25000000",
            "kernel.keys.root_maxkeys": "1000000",
            "kernel.panic": "10",
            "kernel.panic_on_oops": "1",
            "vm.overcommit_memory": "1",
            "vm.panic_on_oom": "0",
        }
    )
    # Where the project serves the packages of a minor, by the format of the package manager.
    package_repository = Always("https://pkgs.k8s.io/core:/stable:/v{major}.{minor}/{format}/")
