# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node must have installed, what of it is missing on a host, and which package brings it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import APT, DNF, PackageState, System
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import uses_containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._release import UnsupportedVersion, Version
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import ERROR

KUBELET, KUBECTL, CRICTL, PLUGINS, CONTAINERD = "kubelet", "kubectl", "crictl", "CNI plugins", "containerd"
LIBRARIES = ("yaml", "cryptography")
# Without these no pod gets a network, whichever network plugin comes later.
PLUGIN_NAMES = ("bridge", "host-local", "loopback", "portmap")
# Of the Kubernetes project's repository; the others are the distribution's.
OF_KUBERNETES = ("kubelet", "kubectl", "cri-tools", "kubernetes-cni")
PINNED = ("kubelet", "kubectl")

_CHECK = "FileExisting-"
_PACKAGES: Mapping[str, Mapping[str, str]] = {
    KUBELET: {APT: "kubelet", DNF: "kubelet"},
    KUBECTL: {APT: "kubectl", DNF: "kubectl"},
    CRICTL: {APT: "cri-tools", DNF: "cri-tools"},
    PLUGINS: {APT: "kubernetes-cni", DNF: "kubernetes-cni"},
    CONTAINERD: {APT: "containerd", DNF: "containerd.io"},
    "yaml": {APT: "python3-yaml", DNF: "python3-pyyaml"},
    "cryptography": {APT: "python3-cryptography", DNF: "python3-cryptography"},
    "conntrack": {APT: "conntrack", DNF: "conntrack-tools"},
    "ip": {APT: "iproute2", DNF: "iproute"},
    "tc": {APT: "iproute2", DNF: "iproute-tc"},
    "iptables": {APT: "iptables", DNF: "iptables-nft"},
    "mount": {APT: "mount", DNF: "util-linux"},
    "losetup": {APT: "mount", DNF: "util-linux"},
    "nsenter": {APT: "util-linux", DNF: "util-linux"},
    "cp": {APT: "coreutils", DNF: "coreutils"},
}


@dataclass(frozen=True)
class Installed:
    """What of all that is on a host."""

    privileged: bool = True
    system: System = field(default_factory=lambda: System(""))
    kubelet_version: str = ""
    kubelet: ServiceState = field(default_factory=lambda: ServiceState("kubelet", known=False, active=False, enabled=False))
    # Path of each program, empty when it is nowhere.
    programs: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    libraries: Mapping[str, bool] = field(default_factory=dict)
    drop_in: bool = False
    # The host is a node of a cluster.
    joined: bool = False
    packages: Mapping[str, PackageState] = field(default_factory=dict)
    files: Mapping[str, FileState] = field(default_factory=dict)
    # SHA-256 of the files that a bundle would replace.
    digests: Mapping[str, str] = field(default_factory=dict)


def programs_of(docs: Documents) -> tuple[str, ...]:
    """Name the programs: those of Kubernetes, the runtime, and what preflight would fail without."""
    checks = docs.known_release.preflight_checks
    checked = [check.name[len(_CHECK) :] for check in checks if check.name.startswith(_CHECK) and check.severity == ERROR]
    names = [KUBECTL, CRICTL, *([CONTAINERD] if uses_containerd(docs) else []), *checked]
    return tuple(dict.fromkeys(names))


def wanted_version(docs: Documents) -> str:
    """The version of the documents, without the letter before it."""
    return docs.cluster.kubernetes_version.lstrip("v") or str(docs.known_release.version).lstrip("v")


def kubelet_is_wanted(docs: Documents, seen: Installed) -> bool:
    """Tell whether the kubelet is the one of the documents."""
    return seen.kubelet_version.lstrip("v") == wanted_version(docs)


def within_skew(docs: Documents, seen: Installed) -> bool:
    """Tell whether the release takes this kubelet on its nodes."""
    try:
        minor = Version.parse(seen.kubelet_version).minor
    except UnsupportedVersion:
        return False
    return docs.known_release.version.minor - docs.known_release.kubelet_skew <= minor <= docs.known_release.version.minor


def missing(docs: Documents, seen: Installed, exact: bool = True) -> dict[str, str]:
    """Tell what is missing and why, as long as the host is no node a kubelet of another version included.

    Unless it must be exact, one that the release takes will do.
    """
    found: dict[str, str] = {}
    if not seen.kubelet_version:
        found[KUBELET] = "it is not installed"
    elif not kubelet_is_wanted(docs, seen) and not seen.joined and (exact or not within_skew(docs, seen)):
        found[KUBELET] = f"it is {seen.kubelet_version}, not v{wanted_version(docs)}"
    elif not seen.kubelet.known:
        found[KUBELET] = "it has no systemd unit, or a masked one"
    found.update({name: "it is not installed" for name in programs_of(docs) if not seen.programs.get(name)})
    lacking = [name for name in PLUGIN_NAMES if name not in seen.plugins]
    if lacking:
        found[PLUGINS] = f"/opt/cni/bin has no {', '.join(lacking)}"
    found.update({name: "the Python that runs the modules lacks it" for name in LIBRARIES if not seen.libraries.get(name)})
    return found


def package_of(thing: str, manager: str) -> str:
    """Name the package that brings a thing."""
    return _PACKAGES.get(thing, {}).get(manager, thing)
