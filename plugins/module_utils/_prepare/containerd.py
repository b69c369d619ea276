# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""containerd's configuration: the one tree of settings that a node needs, in the words of each configuration version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare import toml
from ansible_collections.kubephase.cluster.plugins.module_utils._release import pause_image

PROGRAM = "/usr/bin/containerd"
SERVICE = "containerd"
CONFIG = "/etc/containerd/config.toml"
CERTIFICATES = "/etc/containerd/certs.d"
SOCKET = "/run/containerd/containerd.sock"
PLUGIN_DIRECTORY = "/opt/cni/bin"
_NETWORKS = "/etc/cni/net.d"
_CRI = "io.containerd.grpc.v1.cri"
_CRI_IMAGES = "io.containerd.cri.v1.images"
_CRI_RUNTIME = "io.containerd.cri.v1.runtime"
_OLD, _NEW = 2, 3


@dataclass(frozen=True)
class Wanted:
    """What the configuration must say, whatever its words."""

    sandbox_image: str
    systemd_cgroup: bool
    address: str = SOCKET
    # Registry: username, password, auth or identitytoken.
    credentials: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)


def uses_containerd(docs: Documents) -> bool:
    """Tell whether the socket of the documents is containerd's."""
    return "containerd" in docs.node.cri_socket


def address_of(docs: Documents) -> str:
    """The path of the socket, in the directory that /var/run stands for."""
    path = docs.node.cri_socket.partition("://")[2] or docs.node.cri_socket
    return path[len("/var") :] if path.startswith("/var/run/") else path


def wanted_of(docs: Documents, credentials: Mapping[str, Mapping[str, str]]) -> Wanted:
    """Take from the documents what the runtime must agree on with the kubelet."""
    return Wanted(
        sandbox_image=pause_image(docs.cluster.image_repository, docs.known_release.pause_tag),
        systemd_cgroup=(docs.kubelet.get("cgroupDriver") or "systemd") == "systemd",
        address=address_of(docs),
        credentials=credentials,
    )


def format_for(version: str) -> int:
    """The configuration version that a containerd reads without converting it; the older one where nothing is known."""
    found = re.match(r"v?([0-9]+)\.", version)
    return _NEW if found and int(found[1]) >= 2 else _OLD


def format_of(text: str) -> int:
    """The configuration version that a text is written in."""
    return _NEW if toml.settings(text).get(("version",)) == str(_NEW) else _OLD


def tree(wanted: Wanted, version: int, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Make the tree of settings, with those of the user laid over it."""
    runc = {"runtimes": {"runc": {"runtime_type": "io.containerd.runc.v2", "options": {"SystemdCgroup": wanted.systemd_cgroup}}}}
    registry: dict[str, Any] = {"config_path": CERTIFICATES}
    if wanted.credentials:
        registry["configs"] = {host: {"auth": dict(auth)} for host, auth in sorted(wanted.credentials.items())}
    if version == _OLD:
        network = {"bin_dir": PLUGIN_DIRECTORY, "conf_dir": _NETWORKS}
        plugins = {_CRI: {"sandbox_image": wanted.sandbox_image, "registry": registry, "containerd": runc, "cni": network}}
    else:
        plugins = {
            _CRI_IMAGES: {"pinned_images": {"sandbox": wanted.sandbox_image}, "registry": registry},
            # Where plugins are is left to its default, which is the same: 2.0 calls it bin_dir, and later ones only know bin_dirs.
            _CRI_RUNTIME: {"containerd": runc, "cni": {"conf_dir": _NETWORKS}},
        }
    made: dict[str, Any] = {"version": version, "plugins": plugins}
    if wanted.address != SOCKET:
        made["grpc"] = {"address": wanted.address}
    return toml.merged(made, extra)


def essential(wanted: Wanted, version: int) -> dict[toml.Path, str]:
    """What a configuration of somebody else's must say for a node to work."""
    needed = {"sandbox_image", "sandbox", "SystemdCgroup"}
    return {path: value for path, value in toml.flat(tree(wanted, version, {})).items() if path[-1] in needed}


def disagreements(text: str, needed: Mapping[toml.Path, str]) -> tuple[str, ...]:
    """Say in which of the needed settings a text differs."""
    found = toml.settings(text)
    return tuple(
        f"{toml.named(path)} is {found.get(path, 'not set')}, not {value}" for path, value in needed.items() if found.get(path) != value
    )
