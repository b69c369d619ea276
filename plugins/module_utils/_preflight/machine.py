# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of the machine: size, kernel, settings, programs, services, name, clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case, last_value
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.ports import port_is_owned
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import registration
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, passed
from ansible_collections.kubephase.cluster.plugins.module_utils._release import UnsupportedVersion, Version, release_for
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import ERROR, WARNING

_NAME = re.compile(r"(?=.{1,63}$)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
# A kernel option that was renamed, under its old name.
_OLD_NAMES = {"NETFILTER_XT_TARGET_REDIRECT": "IP_NF_TARGET_REDIRECT"}
# The package of a program that has another name, as Debian and Red Hat call it.
_PACKAGES = {
    "crictl": "cri-tools",
    "ip": "iproute2",
    "tc": "iproute2",
    "losetup": "mount or util-linux",
    "mount": "mount or util-linux",
    "nsenter": "util-linux",
    "cp": "coreutils",
    "touch": "coreutils",
}
_FAR_OFF = timedelta(hours=1)
_DRIFT = timedelta(minutes=5)


def privileged(case: Case) -> Iterator[Verdict]:
    """Only root may do what follows."""
    if not case.seen.host.privileged:
        yield against(ERROR, "the user is not root", "Run with become")


def cpus(case: Case) -> Iterator[Verdict]:
    """Fewer CPUs than a control plane needs."""
    found, wanted = case.seen.host.cpus, case.release.min_cpus
    if found < wanted:
        yield against(case.check.severity, f"{found} CPU is available, a control plane needs {wanted}", f"Give the host {wanted} CPUs")


def memory(case: Case) -> Iterator[Verdict]:
    """Less memory than a control plane needs."""
    found, wanted = case.seen.host.memory_mb, case.release.min_memory_mb
    if found < wanted:
        yield against(
            case.check.severity, f"the host has {found} MB of memory, a control plane needs {wanted} MB", "Give the host more memory"
        )


def kubernetes_version(case: Case) -> Iterator[Verdict]:
    """A release beyond the table is refused when the documents are read, so none gets here."""
    yield passed(case.docs.cluster.kubernetes_version or str(case.release.version))


def firewalld(case: Case) -> Iterator[Verdict]:
    """A firewall that does not know of Kubernetes."""
    service = (case.seen.host.services or {}).get("firewalld")
    if service is not None and service.known and service.active:
        ports = f"{case.docs.node.bind_port}/tcp and 10250/tcp"
        yield against(
            case.check.severity,
            f"firewalld is active, and the ports {ports} must be reachable",
            f"Open them (firewall-cmd --permanent --add-port={case.docs.node.bind_port}/tcp --add-port=10250/tcp), or disable firewalld",
        )


def service(case: Case) -> Iterator[Verdict]:
    """A service that is missing or does not start with the machine; Docker must run, too."""
    name = case.check.subject
    if case.seen.host.services is None:
        yield against(WARNING, "no systemd could be asked for services", f"See to it that {name} is started with the machine")
        return
    state = case.seen.host.services.get(name)
    if state is None or not state.known:
        yield against(WARNING, f"there is no service {name}", f"Install {name} with its systemd unit")
        return
    if not state.enabled:
        yield against(WARNING, f"the service {name} is not enabled", f"Run: systemctl enable {name}.service")
    if name == "docker" and not state.active:
        yield against(ERROR, "the service docker is not active", "Run: systemctl start docker.service")


def executable(case: Case) -> Iterator[Verdict]:
    """A program that Kubernetes calls by its name."""
    name = case.check.subject
    if not case.seen.host.executables.get(name):
        yield against(case.check.severity, f"{name} is not in the system's path", f"Install it (package {_PACKAGES.get(name, name)})")


def sysctl(case: Case) -> Iterator[Verdict]:
    """A kernel setting that must be 1; kubeadm looks at the first character only."""
    path = case.check.subject
    value = case.seen.host.sysctls.get(path)
    key = path[len("/proc/sys/") :].replace("/", ".")
    if value is None:
        hint = (
            "Load the module (modprobe br_netfilter, and a file in /etc/modules-load.d)" if "bridge" in path else "Enable it in the kernel"
        )
        yield against(case.check.severity, f"{path} does not exist", hint)
    elif not value.startswith("1"):
        fix = f"Set it now (sysctl -w {key}=1) and for the next boot (a file in /etc/sysctl.d)"
        yield against(case.check.severity, f"{key} is {value.strip() or 'empty'} instead of 1", fix)


def swap(case: Case) -> Iterator[Verdict]:
    """Swap, which the kubelet refuses to start with unless it was told otherwise."""
    if not case.seen.host.swaps:
        return
    devices = ", ".join(case.seen.host.swaps)
    flag = last_value(registration(case.docs, case.mode).kubelet_extra_args, "fail-swap-on").lower()
    refuses = flag != "false" if flag else case.docs.kubelet.get("failSwapOn") is not False
    off = "Turn it off (swapoff -a, and its line in /etc/fstab)"
    if refuses and not port_is_owned(case, 10250):
        yield against(
            ERROR,
            f"swap is on ({devices}), and the kubelet does not start with it",
            f"{off}, or set failSwapOn: false and memorySwap in the KubeletConfiguration",
        )
    else:
        yield against(case.check.severity, f"swap is on ({devices})", f"{off} unless the kubelet is set up for it")


def system_verification(case: Case) -> Iterator[Verdict]:
    """The kernel's release and options, and its control groups."""
    host, release = case.seen.host, case.release
    if not any(re.search(pattern, host.kernel) for pattern in release.kernel_releases):
        yield against(release.kernel_severity, f"the kernel {host.kernel} is none that the release supports", "Boot a newer LTS kernel")
    unified = host.cgroups.version == 2
    yield from _kernel_options(case, release.kernel_options_cgroup_v2 if unified else release.kernel_options_cgroup_v1)
    if not host.cgroups.version:
        yield against(ERROR, "no control group hierarchy is mounted", "Mount cgroup2 on /sys/fs/cgroup; systemd does that")
        return
    severity = _cgroup_v1_severity(case)
    if not unified and severity:
        yield against(
            severity,
            "the host uses cgroups of version 1",
            "Boot with version 2 (kernel argument systemd.unified_cgroup_hierarchy=1). To stay with version 1, set failCgroupV1: false in"
            " the KubeletConfiguration and list SystemVerification in ignorePreflightErrors",
        )
    wanted, wished = (
        (release.cgroup_v2_controllers, release.cgroup_v2_optional)
        if unified
        else (release.cgroup_v1_controllers, release.cgroup_v1_optional)
    )
    for names, how_bad in ((wanted, ERROR), (wished, WARNING)):
        missing = [name for name in names if name not in host.cgroups.controllers]
        if missing:
            yield against(how_bad, f"cgroup controllers are missing: {', '.join(missing)}", "Enable them on the kernel's command line")


def _kernel_options(case: Case, wanted: tuple[str, ...]) -> Iterator[Verdict]:
    built = case.seen.host.kernel_config
    if built is None:
        yield against(
            WARNING,
            "the kernel's configuration is nowhere to be read, so its options are not known",
            "Install the file /boot/config-<release>, or load the module configs",
        )
        return
    missing = [name for name in wanted if built.get(name, built.get(_OLD_NAMES.get(name, ""), "n")) not in ("y", "m")]
    if missing:
        yield against(ERROR, f"the kernel was built without {', '.join(missing)}", "Boot a kernel that has these options")


def _cgroup_v1_severity(case: Case) -> str | None:
    """From the release on in which the kubelet refuses it, the installed kubelet decides and not the release."""
    own = case.release.cgroup_v1_severity
    if own != ERROR:
        return own
    try:
        return release_for(case.seen.kubelet_version).cgroup_v1_severity or WARNING
    except UnsupportedVersion:
        return own


def hostname(case: Case) -> Iterator[Verdict]:
    """A node name that cannot be one, or that the resolver does not know."""
    name = registration(case.docs, case.mode).name or case.docs.node.name
    if not _NAME.fullmatch(name):
        yield against(case.check.severity, f"the node name {name!r} is not a valid one", "Set nodeRegistration.name")
    if not case.seen.host.name_addresses:
        problem = case.seen.host.name_problem or "no address"
        yield against(case.check.severity, f"the node name {name!r} cannot be looked up: {problem}", "Add it to /etc/hosts or to DNS")


def kubelet_version(case: Case) -> Iterator[Verdict]:
    """A kubelet that is not there, too old, or newer than the control plane."""
    text = case.seen.kubelet_version
    found, target = _version(text), case.release.version
    if found is None:
        what = f"the kubelet says that its version is {text!r}" if text else "no kubelet is installed"
        yield against(case.check.severity, what, f"Install the kubelet of Kubernetes {target.major}.{target.minor}")
        return
    oldest = target.minor - case.release.kubelet_skew
    if found.minor < oldest:
        fix = f"Install a kubelet of 1.{oldest} or newer, best {target}"
        yield against(case.check.severity, f"the kubelet {text} is too old for Kubernetes {target}", fix)
    elif found.minor > target.minor and case.mode == "init":
        fix = f"Install the kubelet of 1.{target.minor}, or set kubernetesVersion to the kubelet's release"
        yield against(case.check.severity, f"the kubelet {text} is newer than the control plane {target}", fix)


def _version(text: str) -> Version | None:
    try:
        return Version.parse(text)
    except UnsupportedVersion:
        return None


def clock(case: Case) -> Iterator[Verdict]:
    """A clock that is far off makes certificates that nobody accepts."""
    fix = "Set the clock, and keep it right (chrony or systemd-timesyncd)"
    now = case.seen.now
    if case.reference is not None:
        off = abs(now - case.reference)
        if off > _DRIFT:
            way = "behind" if now < case.reference else "ahead of"
            yield against(ERROR if off > _FAR_OFF else WARNING, f"the clock is {_rounded(off)} {way} the controller's", fix)
    dates = {path: datetime.fromtimestamp(stamp, timezone.utc) for path, stamp in case.seen.host.file_dates.items()}
    newest = max(dates, key=lambda path: dates[path], default="")
    if newest and dates[newest] - now > _FAR_OFF:
        when = f"{now:%Y-%m-%d %H:%M} UTC"
        yield against(ERROR, f"the clock says {when}, but {newest} was written {_rounded(dates[newest] - now)} after that", fix)


def _rounded(period: timedelta) -> str:
    hours = period.total_seconds() / 3600
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.0f} hours" if hours >= 2 else f"{hours * 60:.0f} minutes"


def default_route(case: Case) -> Iterator[Verdict]:
    """Without a default route, addresses of Services cannot be reached from the host itself."""
    if not case.seen.host.default_route:
        yield against(
            case.check.severity,
            "the host has no default route",
            "Add one, even to a gateway that leads nowhere: without it the host has no way to the addresses of Services",
        )
