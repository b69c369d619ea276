# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is built for each release, and from which module: tables only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.errors import LabError

GO_MINIMUM = (1, 26, 2)
GO_FETCHED = "1.26.8"

# The highest patch of each minor whose staging modules are all to be had.
KUBEADM_PATCHES = {
    22: 17, 23: 17, 24: 17, 25: 9, 26: 13, 27: 8, 28: 15, 29: 15,
    30: 5, 31: 4, 32: 5, 33: 13, 34: 10, 35: 8, 36: 4, 37: 1,
}  # fmt: skip

IMAGE_REPOSITORY = "registry.k8s.io"


@dataclass(frozen=True)
class Program:
    """One or more commands of one Go module."""

    name: str
    version: str
    module: str
    packages: tuple[str, ...]
    cgo: bool = False
    link: tuple[str, ...] = ()
    replace: tuple[tuple[str, str], ...] = ()
    kubernetes: bool = False

    @property
    def title(self) -> str:
        """Name the program as a person would."""
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Release:
    """What a cluster of one Kubernetes version is made of, beside Kubernetes itself."""

    version: str
    etcd: str
    etcd_tag: str
    coredns: str
    coredns_tag: str
    pause_tag: str
    agnhost_tag: str


RELEASES = {
    "1.37.1": Release("1.37.1", "3.7.0", "3.7.0-0", "1.14.6", "v1.14.6", "3.10.2", "2.66.1"),
    "1.28.15": Release("1.28.15", "3.5.15", "3.5.15-0", "1.10.1", "v1.10.1", "3.9", "2.45"),
}
DEFAULT_RELEASE = "1.37.1"

ON_NODES = ("kubeadm", "kubelet", "kubectl")
IN_IMAGES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")

# What a node needs of the distribution: on bare nodes these come from the lab's repository or bundle.
FROM_DISTRIBUTION = (
    "conntrack", "containerd", "ebtables", "ethtool", "iptables", "python3-cryptography", "python3-yaml", "runc", "socat",
)  # fmt: skip
# What a machine may have besides, for tests that want it there: in the repository, and not in the bundle.
FIREWALLS = ("firewalld", "ufw")
# The Kubernetes project calls its packages 1.37.1-1.1.
PACKAGE_REVISION = "1.1"

# Nodes run the distribution's containerd; this is the one that tests put in its place.
CONTAINERD_2 = "2.4.2"
CRICTL = "1.36.0"
CNI_PLUGINS = "1.9.1"
FLANNEL = "0.26.7"
FLANNEL_IMAGE = f"kubephase.lab/flannel:v{FLANNEL}"


def release(version: str) -> Release:
    """Look a release up, or say which there are."""
    try:
        return RELEASES[version]
    except KeyError:
        raise LabError(f"no whole cluster is built for {version}; there are {' and '.join(RELEASES)}") from None


def kubeadm_version(asked: str) -> str:
    """Complete 1.30 to its patch, take 1.30.5 as it is, and refuse what is no version."""
    found = re.fullmatch(r"v?1\.(\d+)(?:\.(\d+))?", asked)
    if found is None:
        raise LabError(f"{asked!r} is no Kubernetes version; write it like 1.37 or 1.37.1")
    minor = int(found[1])
    if found[2] is None and minor not in KUBEADM_PATCHES:
        raise LabError(f"no patch of 1.{minor} is known to build; name one, like 1.{minor}.0")
    return f"1.{minor}.{found[2] if found[2] is not None else KUBEADM_PATCHES[minor]}"


def kubernetes(name: str, version: str) -> Program:
    """Describe one command of Kubernetes itself."""
    minor = int(version.split(".")[1])
    stamp = {
        "gitVersion": f"v{version}",
        "gitMajor": "1",
        "gitMinor": str(minor),
        "gitTreeState": "clean",
        "gitCommit": "0" * 40,
        "buildDate": "1970-01-01T00:00:00Z",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    link = tuple(f"-X {package}.{key}={value}" for package in packages for key, value in stamp.items())
    # Before 1.24 a dependency reaches into the runtime in ways that a current Go refuses or crashes on.
    old = minor <= 23
    return Program(
        name,
        version,
        "k8s.io/kubernetes",
        (f"k8s.io/kubernetes/{'test/images' if name == 'agnhost' else 'cmd'}/{name}",),
        link=(*link, "-checklinkname=0") if old else link,
        replace=(("github.com/modern-go/reflect2", "v1.0.2"),) if old else (),
        kubernetes=True,
    )


def etcd(version: str) -> tuple[Program, Program]:
    """Describe the etcd server and its client."""
    server = "go.etcd.io/etcd/server/v3"
    client = "go.etcd.io/etcd/etcdctl/v3"
    return Program("etcd", version, server, (server,)), Program("etcdctl", version, client, (client,))


def coredns(version: str) -> Program:
    """Describe CoreDNS."""
    module = "github.com/coredns/coredns"
    # Up to 1.10 it carries a check that ends the program at once under any Go that the check has not heard of.
    old = version.startswith("1.10.")
    check = (("go4.org/unsafe/assume-no-moving-gc", "v0.0.0-20231121144256-b99613f794b6"),)
    return Program("coredns", version, module, (module,), replace=check if old else ())


def crictl() -> Program:
    """Describe crictl, one version for all releases."""
    link = (f"-X sigs.k8s.io/cri-tools/pkg/version.Version=v{CRICTL}",)
    return Program("crictl", CRICTL, "sigs.k8s.io/cri-tools", ("sigs.k8s.io/cri-tools/cmd/crictl",), link=link)


def containerd() -> Program:
    """Describe containerd 2, whose configuration has other words than that of the distribution's."""
    module = "github.com/containerd/containerd/v2"
    packages = tuple(f"{module}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr"))
    return Program("containerd", CONTAINERD_2, module, packages, link=(f"-X {module}/version.Version={CONTAINERD_2}",))


def cni_plugins() -> Program:
    """Describe the CNI plugins that a bridge network with port mappings needs."""
    module = "github.com/containernetworking/plugins"
    wanted = ("main/bridge", "main/loopback", "main/host-device", "ipam/host-local", "meta/portmap", "meta/firewall", "meta/tuning")
    return Program("cni-plugins", CNI_PLUGINS, module, tuple(f"{module}/plugins/{plugin}" for plugin in wanted))


def flannel() -> Program:
    """Describe flanneld, whose UDP backend is C and hence linked statically."""
    module = "github.com/flannel-io/flannel"
    link = (f"-X {module}/pkg/version.Version=v{FLANNEL}", '-extldflags "-static"')
    return Program("flanneld", FLANNEL, module, (module,), cgo=True, link=link)


def programs(of: Release) -> tuple[Program, ...]:
    """List every program of a cluster of this release, the slowest to build first."""
    server, client = etcd(of.etcd)
    return (
        kubernetes("kubeadm", of.version),
        kubernetes("kubelet", of.version),
        *(kubernetes(name, of.version) for name in IN_IMAGES),
        kubernetes("kubectl", of.version),
        kubernetes("agnhost", of.version),
        server,
        client,
        coredns(of.coredns),
        crictl(),
        cni_plugins(),
        flannel(),
    )
