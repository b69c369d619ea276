# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the container runtime, and of an etcd that somebody else runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case, last_value
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import registration
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, passed
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import ERROR, WARNING

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def runtime(case: Case) -> Iterator[Verdict]:
    """A runtime that answers and says that it is ready."""
    socket = case.docs.node.cri_socket
    if socket.endswith("/dockershim.sock"):
        yield against(
            case.check.severity,
            "the container runtime would be Docker through dockershim, which this collection does not drive",
            "Install containerd and set nodeRegistration.criSocket to its socket",
        )
    elif case.seen.runtime.problem:
        yield against(
            case.check.severity,
            f"the container runtime at {socket} is of no use: {case.seen.runtime.problem}",
            "Start it (systemctl enable --now containerd), see that its CRI plugin is enabled, or set nodeRegistration.criSocket",
        )


def runtime_version(case: Case) -> Iterator[Verdict]:
    """A runtime that is too old to tell the kubelet its cgroup driver."""
    if case.seen.runtime.problem:
        yield against(ERROR, "the container runtime could not be asked for its version", "Mend what CRI found")
        return
    if case.seen.runtime.tells_config is False:
        yield against(
            WARNING,
            "the container runtime does not know the CRI method RuntimeConfig, which the kubelet will need from 1.38 on",
            "Update it (containerd 2.0 or CRI-O 1.28, or newer)",
        )
    elif case.seen.runtime.tells_config is None:
        yield passed("not known: crictl is missing or too old to ask")


def cgroup_driver(case: Case) -> Iterator[Verdict]:
    """The kubelet and the runtime must manage cgroups the same way, or pods are killed at random."""
    found = case.seen.runtime.cgroup_driver
    wanted = last_value(registration(case.docs, case.mode).kubelet_extra_args, "cgroup-driver")
    # kubeadm's default since 1.21.
    wanted = wanted or str(case.docs.kubelet.get("cgroupDriver") or "systemd")
    gates = case.docs.kubelet.get("featureGates")
    told = gates.get("KubeletCgroupDriverFromCRI") if isinstance(gates, dict) else None
    if case.release.cgroup_driver_from_runtime and case.seen.runtime.tells_config and told is not False:
        yield passed(f"the kubelet takes {found or 'it'} from the runtime")
    elif found and found != wanted:
        yield against(
            case.check.severity,
            f"the container runtime manages cgroups by {found}, the kubelet would by {wanted}",
            f"Set cgroupDriver: {found} in the KubeletConfiguration, or configure the runtime for {wanted}"
            f" (containerd: SystemdCgroup = {str(wanted == 'systemd').lower()} in the options of runc)",
        )


def external_etcd_version(case: Case) -> Iterator[Verdict]:
    """Each endpoint answers, with a version that the release can use."""
    least = case.release.min_external_etcd
    for endpoint, said in case.seen.etcd_versions.items():
        if said.startswith("!"):
            fix = "See that the endpoint is right, reachable from here, and serves a certificate of the caFile"
            yield against(ERROR, f"etcd at {endpoint}: {said[1:]}", fix)
            continue
        if _numbers(said) < _numbers(least):
            yield against(ERROR, f"etcd at {endpoint} is of version {said or 'unknown'}, at least {least} is needed", "Upgrade it")


def _numbers(text: str) -> tuple[int, ...]:
    found = _NUMBERS.match(text)
    return tuple(int(number) for number in found.groups()) if found else ()
