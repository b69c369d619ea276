# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that passes every check, and the means to break it in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import RuntimeState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Cgroups, HostState, Listener, Process
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.images import required
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.observed import Observed
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.preflight import PreflightPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import PreflightFailed

NOW = datetime(2027, 1, 31, 12, tzinfo=timezone.utc)
ADDRESS = "192.0.2.10"
FORWARD = "/proc/sys/net/ipv4/ip_forward"
SYSCTLS = (
    FORWARD,
    "/proc/sys/net/ipv6/conf/default/forwarding",
    "/proc/sys/net/bridge/bridge-nf-call-iptables",
    "/proc/sys/net/bridge/bridge-nf-call-ip6tables",
)
PROGRAMS = ["crictl", "conntrack", "ip", "iptables", "losetup", "mount", "cp", "nsenter", "ebtables", "ethtool", "socat", "tc", "touch"]
OPTIONS = [
    *("NAMESPACES", "NET_NS", "PID_NS", "IPC_NS", "UTS_NS", "CGROUPS", "CPUSETS", "MEMCG", "INET", "EXT4_FS", "PROC_FS"),
    *("IP_NF_TARGET_REDIRECT", "NETFILTER_XT_MATCH_COMMENT", "FAIR_GROUP_SCHED"),
    *("CGROUP_CPUACCT", "CGROUP_DEVICE", "CGROUP_FREEZER", "CGROUP_PIDS", "CGROUP_SCHED", "CGROUP_BPF"),
]

HEALTHY = HostState(
    cpus=2,
    memory_mb=1700,
    kernel="6.1.0-25-amd64",
    kernel_config=dict.fromkeys(OPTIONS, "y"),
    cgroups=Cgroups(2, ("cpu", "cpuset", "devices", "freezer", "memory", "pids", "hugetlb", "io")),
    default_route=True,
    own_addresses={ADDRESS: True},
    executables={name: f"/usr/bin/{name}" for name in PROGRAMS},
    sysctls=dict.fromkeys(SYSCTLS, "1\n"),
    services={
        "kubelet": ServiceState("kubelet", known=True, active=True, enabled=True),
        "firewalld": ServiceState("firewalld", known=False, active=False, enabled=False),
    },
    name_addresses=(ADDRESS,),
)


def documents(
    version: str = "v1.37.1",
    cluster: Mapping[str, Any] | None = None,
    node: Mapping[str, Any] | None = None,
    kubelet: Mapping[str, Any] | None = None,
    join: Mapping[str, Any] | None = None,
    init: Mapping[str, Any] | None = None,
) -> Documents:
    """Documents of a host whose runtime is containerd."""
    given: dict[str, Any] = {"ClusterConfiguration": {"kubernetesVersion": version, **(cluster or {})}}
    if join is not None:
        given["JoinConfiguration"] = dict(join)
    else:
        given["InitConfiguration"] = {"nodeRegistration": dict(node or {}), **(init or {})}
    if kubelet:
        given["KubeletConfiguration"] = dict(kubelet)
    facts = NodeFacts("cp1", ADDRESS, "", ("unix:///var/run/containerd/containerd.sock",))
    return resolve(given, facts)


def observed(docs: Documents, host: Mapping[str, Any] | None = None, runtime: Mapping[str, Any] | None = None, **other: Any) -> Observed:
    """The healthy host, with some of it replaced."""
    answers = RuntimeState(client="/usr/bin/crictl", cgroup_driver="systemd", tells_config=True, images=required(docs))
    seen = Observed(
        replace(HEALTHY, **(host or {})), replace(answers, **(runtime or {})), NOW, kubelet_version=str(docs.known_release.version)
    )
    return replace(seen, **other)


def judged(docs: Documents, seen: Observed, **options: Any) -> tuple[dict[str, dict[str, str]], Plan | None]:
    """Every check by its name, and the plan unless one failed."""
    try:
        plan = PreflightPhase().plan(docs, seen, options)
    except PreflightFailed as failure:
        return {check["name"]: check for check in failure.facts["checks"]}, None
    return {check["name"]: check for check in plan.facts["checks"]}, plan


def outcomes(docs: Documents, seen: Observed, **options: Any) -> dict[str, str]:
    """What did not simply pass."""
    checks, _plan = judged(docs, seen, **options)
    return {name: check["outcome"] for name, check in checks.items() if check["outcome"] != "passed"}


def listening(port: int, program: str, *arguments: str, address: str = "::", pid: int = 4711) -> Listener:
    """Somebody on a port."""
    return Listener(port, address, Process(pid, program, (program, *arguments)))


def file(path: str, content: str) -> FileState:
    """A file with some content."""
    return FileState(path, content.encode(), 0o600, NOW.timestamp())


def manifest(component: str, *arguments: str, **other: Any) -> FileState:
    """A static pod manifest as kubeadm lays it out."""
    command = "".join(f"    - {part}\n" for part in (component, *arguments))
    text = (
        f"apiVersion: v1\nkind: {other.get('kind', 'Pod')}\nmetadata:\n  name: {other.get('name', component)}\n"
        f"  namespace: kube-system\nspec:\n  containers:\n  - name: {component}\n    command:\n{command}"
    )
    return file(f"/etc/kubernetes/manifests/{component}.yaml", text)
