# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight checks of a release: kubeadm's names, their severity and where they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Derived, Each, Row, Since, Steps
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import Version

ERROR = "error"
WARNING = "warning"
# What is checked decides, for example a kernel that is too old or a module that is missing.
EITHER = "either"

INIT = "init"
JOIN = "join"
CONTROL_PLANE_JOIN = "control-plane-join"

_EVERYWHERE = (INIT, JOIN)
_CONTROL_PLANES = (INIT, CONTROL_PLANE_JOIN)
_MANIFESTS = "FileAvailable--etc-kubernetes-manifests"

Severity = Row[Optional[str]]


@dataclass(frozen=True)
class PreflightCheck:
    """One check; {names in braces} come from the documents, with slashes turned into dashes."""

    name: str
    severity: str
    commands: tuple[str, ...]
    # The case it is made in, or empty: local-etcd, external-etcd, ipv4, ipv6, token-discovery, worker.
    only: str = ""


@dataclass(frozen=True)
class _CheckRow:
    name: str
    severity: Severity
    commands: tuple[str, ...]
    only: str = ""


def _error() -> Severity:
    return Always(ERROR)


def _warning() -> Severity:
    return Always(WARNING)


def _until(severity: str, end: str) -> Severity:
    return Steps(("1.22.0", severity), (end, None))


def _since(start: str, severity: str) -> Severity:
    return Steps(("1.22.0", None), (start, severity))


# Dropped at a patch release, so that every minor in between starts with it again.
_EBTABLES_SOCAT: Severity = Steps(
    ("1.22.0", WARNING),
    ("1.28.15", None),
    ("1.29.0", WARNING),
    ("1.29.10", None),
    ("1.30.0", WARNING),
    ("1.30.6", None),
    ("1.31.0", WARNING),
    ("1.31.2", None),
)

# In the order in which kubeadm runs them.
_CHECKS: tuple[_CheckRow, ...] = (
    _CheckRow("IsPrivilegedUser", _error(), _EVERYWHERE),
    _CheckRow("NumCPU", _error(), _CONTROL_PLANES),
    _CheckRow("Mem", _error(), _CONTROL_PLANES),
    _CheckRow("KubernetesVersion", _warning(), _CONTROL_PLANES),
    _CheckRow("Firewalld", _warning(), _CONTROL_PLANES),
    _CheckRow("Port-{bindPort}", _error(), _CONTROL_PLANES),
    _CheckRow("Port-10259", _error(), _CONTROL_PLANES),
    _CheckRow("Port-10257", _error(), _CONTROL_PLANES),
    _CheckRow(f"{_MANIFESTS}-kube-apiserver.yaml", _error(), _CONTROL_PLANES),
    _CheckRow(f"{_MANIFESTS}-kube-controller-manager.yaml", _error(), _CONTROL_PLANES),
    _CheckRow(f"{_MANIFESTS}-kube-scheduler.yaml", _error(), _CONTROL_PLANES),
    _CheckRow(f"{_MANIFESTS}-etcd.yaml", _error(), _CONTROL_PLANES),
    _CheckRow("HTTPProxy", _warning(), _CONTROL_PLANES),
    _CheckRow("HTTPProxyCIDR", _warning(), _CONTROL_PLANES),
    _CheckRow("DirAvailable--etc-kubernetes-manifests", _until(ERROR, "1.23.0"), (JOIN,)),
    _CheckRow("FileAvailable--etc-kubernetes-kubelet.conf", _error(), (JOIN,)),
    _CheckRow("FileAvailable--etc-kubernetes-bootstrap-kubelet.conf", _error(), (JOIN,)),
    _CheckRow("CRI", _error(), _EVERYWHERE),
    _CheckRow("ContainerRuntimeVersion", _since("1.35.0", EITHER), _EVERYWHERE),
    _CheckRow("Service-Docker", _until(EITHER, "1.24.0"), _EVERYWHERE, only="docker"),
    _CheckRow("FileContent--proc-sys-net-bridge-bridge-nf-call-iptables", _until(ERROR, "1.27.0"), _EVERYWHERE),
    _CheckRow("FileContent--proc-sys-net-ipv4-ip_forward", _until(ERROR, "1.27.0"), _EVERYWHERE),
    _CheckRow("Swap", Steps(("1.22.0", ERROR), ("1.23.0", WARNING)), _EVERYWHERE),
    _CheckRow("FileExisting-crictl", Steps(("1.22.0", ERROR), ("1.31.0", WARNING), ("1.32.0", None)), _EVERYWHERE),
    _CheckRow("FileExisting-conntrack", _until(ERROR, "1.32.0"), _EVERYWHERE),
    _CheckRow("FileExisting-ip", _until(ERROR, "1.33.0"), _EVERYWHERE),
    _CheckRow("FileExisting-iptables", _until(ERROR, "1.33.0"), _EVERYWHERE),
    _CheckRow("FileExisting-losetup", _since("1.33.0", ERROR), _EVERYWHERE),
    _CheckRow("FileExisting-mount", _error(), _EVERYWHERE),
    _CheckRow("FileExisting-cp", _since("1.33.0", ERROR), _EVERYWHERE),
    _CheckRow("FileExisting-nsenter", _until(ERROR, "1.33.0"), _EVERYWHERE),
    _CheckRow("FileExisting-ebtables", _EBTABLES_SOCAT, _EVERYWHERE),
    _CheckRow("FileExisting-ethtool", _until(WARNING, "1.33.0"), _EVERYWHERE),
    _CheckRow("FileExisting-socat", _EBTABLES_SOCAT, _EVERYWHERE),
    _CheckRow("FileExisting-tc", _until(WARNING, "1.33.0"), _EVERYWHERE),
    _CheckRow("FileExisting-touch", _until(WARNING, "1.33.0"), _EVERYWHERE),
    _CheckRow("SystemVerification", Always(EITHER), _EVERYWHERE),
    _CheckRow("Hostname", _warning(), _EVERYWHERE),
    _CheckRow("KubeletVersion", _error(), _EVERYWHERE),
    # One check, whose name lost its capital.
    _CheckRow("Service-Kubelet", _until(WARNING, "1.35.0"), _EVERYWHERE),
    _CheckRow("Service-kubelet", _since("1.35.0", WARNING), _EVERYWHERE),
    _CheckRow("Port-10250", _error(), _EVERYWHERE),
    _CheckRow("FileAvailable-{caCertPath}", _error(), (JOIN,), only="worker"),
    _CheckRow("HTTPProxy", _warning(), (JOIN,), only="token-discovery"),
    # Join knows the address family only from an endpoint that is an address.
    _CheckRow(
        "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
        Steps(("1.22.0", None), ("1.27.0", ERROR), ("1.30.0", None)),
        _EVERYWHERE,
        only="ipv4",
    ),
    _CheckRow("FileContent--proc-sys-net-ipv4-ip_forward", _since("1.27.0", ERROR), _EVERYWHERE, only="ipv4"),
    _CheckRow("FileContent--proc-sys-net-bridge-bridge-nf-call-ip6tables", _until(ERROR, "1.30.0"), _EVERYWHERE, only="ipv6"),
    _CheckRow("FileContent--proc-sys-net-ipv6-conf-default-forwarding", _error(), _EVERYWHERE, only="ipv6"),
    _CheckRow("ExternalEtcdVersion", _error(), (INIT,), only="external-etcd"),
    _CheckRow("Port-2379", _error(), _CONTROL_PLANES, only="local-etcd"),
    _CheckRow("Port-2380", _error(), _CONTROL_PLANES, only="local-etcd"),
    _CheckRow("DirAvailable-{dataDir}", _error(), _CONTROL_PLANES, only="local-etcd"),
    _CheckRow("ExternalEtcdClientCertificates", _error(), _CONTROL_PLANES, only="external-etcd"),
    _CheckRow("ImagePull", _error(), _CONTROL_PLANES),
)

# Options that the kernel must have been built with; the controllers of the first hierarchy are asked for by name in some.
_KERNEL = (
    "NAMESPACES",
    "NET_NS",
    "PID_NS",
    "IPC_NS",
    "UTS_NS",
    "CGROUPS",
    "CPUSETS",
    "MEMCG",
    "INET",
    "EXT4_FS",
    "PROC_FS",
    "NETFILTER_XT_TARGET_REDIRECT",
    "NETFILTER_XT_MATCH_COMMENT",
    "FAIR_GROUP_SCHED",
)
_KERNEL_V1 = (*_KERNEL, "CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER", "CGROUP_PIDS", "CGROUP_SCHED")
_KERNEL_BOTH = (*_KERNEL_V1, "CGROUP_BPF")
_KERNEL_V2 = (*_KERNEL, "CGROUP_BPF", "CGROUP_PIDS", "CGROUP_SCHED")


def _kernel_options(since_split: tuple[str, ...]) -> Row[tuple[str, ...]]:
    return Steps(
        ("1.22.0", _KERNEL_V1),
        ("1.32.0", _KERNEL_BOTH),
        ("1.32.10", _KERNEL),
        ("1.33.0", _KERNEL_BOTH),
        ("1.33.6", _KERNEL),
        ("1.34.0", _KERNEL_BOTH),
        ("1.34.2", _KERNEL),
        ("1.35.0", since_split),
    )


def _made(severities: Mapping[str, str | None], version: Version) -> tuple[PreflightCheck, ...]:
    return tuple(
        PreflightCheck(row.name, severity, row.commands, row.only)
        for row, severity in zip(_CHECKS, severities.values())
        if severity is not None
    )


class PreflightFacts:
    """What kubeadm looks at before it touches a host."""

    # A joining control plane runs the checks of join and those of control-plane-join.
    preflight_checks = Derived(
        Each({str(position): row.severity for position, row in enumerate(_CHECKS)}),
        _made,
    )
    min_cpus = Always(2)
    min_memory_mb = Always(1700)
    # Ports are looked at on the address that the component will bind, not on all of them.
    ports_on_bind_address = Since("1.37.0")
    # Patterns of kernel releases, and how bad any other is.
    kernel_releases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (r"^3\.[1-9][0-9].*$", r"^([4-9]|[1-9][0-9]+)\.([0-9]+)\.([0-9]+).*$")),
        ("1.32.0", (r"^4\.19.*$", r"^4\.[2-9][0-9].*$", r"^([5-9]|[1-9][0-9]+)\.([0-9]+)\.([0-9]+).*$")),
        ("1.34.0", (r"^5\.4.*$", r"^5\.10.*$", r"^5\.15.*$", r"^([6-9]|[1-9][0-9]+)\.([0-9]+)\.([0-9]+).*$")),
    )
    kernel_severity = Steps(("1.22.0", ERROR), ("1.34.0", WARNING))
    # The kubelet's minor decides, which may be older than the release.
    cgroup_v1_severity: Severity = Steps(("1.22.0", None), ("1.32.0", WARNING), ("1.35.0", ERROR))
    cgroup_v1_controllers: Row[tuple[str, ...]] = Always(("cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"))
    cgroup_v2_controllers: Row[tuple[str, ...]] = Always(("cpu", "cpuset", "devices", "freezer", "memory", "pids"))
    # Controllers whose lack is only spoken of. kubeadm looked for blkio on version 2 too for a while, where it cannot be.
    cgroup_v1_optional: Row[tuple[str, ...]] = Steps(("1.22.0", ("hugetlb",)), ("1.24.0", ("hugetlb", "blkio")))
    cgroup_v2_optional: Row[tuple[str, ...]] = Steps(("1.22.0", ("hugetlb",)), ("1.24.0", ("hugetlb", "io")))
    # Built into the kernel or as a module, for the version of cgroups in use.
    kernel_options_cgroup_v1 = _kernel_options(_KERNEL_V1)
    kernel_options_cgroup_v2 = _kernel_options(_KERNEL_V2)
    # The kernel settings of an address family are looked at for the networks too, not only for the advertised address.
    preflight_families_of_networks = Since("1.27.0")
    # The kubelet asks the runtime for its cgroup driver and takes it over its own configuration.
    cgroup_driver_from_runtime = Since("1.31.0")
