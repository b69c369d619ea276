# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether this machine can hold a lab at all, said before anything is done."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from lab.command import attempt
from lab.debian import install
from lab.errors import LabError

# What each command of the lab calls, and the package that brings it.
FOR_BUILDING = {
    "gcc": "gcc",
    # The static C of pause and flannel needs the C library's headers, which no command stands for.
    "/usr/include/stdio.h": "libc6-dev",
    "debootstrap": "debootstrap",
    "gpg": "gpg",
    "gpgconf": "gpgconf",
    "/usr/bin/gpg-agent": "gpg-agent",
    "unshare": "util-linux",
    "tar": "tar",
}
FOR_NODES = {
    "podman": "podman",
    "runc": "runc",
    "conmon": "conmon",
    "iptables": "iptables",
    "ip": "iproute2",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}

INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")


def refuse_unless_possible(nodes: bool) -> None:
    """Refuse in one sentence; nothing has been touched by then."""
    if platform.system() != "Linux":
        raise LabError("the lab needs a Linux machine, because its nodes share the kernel with it")
    if shutil.which("apt-get") is None:
        raise LabError("the lab needs a Debian-like machine, because it installs its tools and makes its nodes with apt-get")
    if not nodes:
        return
    if os.geteuid() != 0:
        raise LabError("the lab needs root, because its nodes are privileged containers; run it with sudo")
    if shutil.which("podman") is None and not _installable("podman"):
        raise LabError("the lab needs podman, which is not installed and which apt-get does not offer here")


def allow_watching(setting: Path = INSTANCES, wanted: int = 1024) -> None:
    """Raise the kernel's limit of inotify instances: each node needs some 40, and its nodes count as one user."""
    try:
        if int(setting.read_text()) < wanted:
            setting.write_text(f"{wanted}\n")
    except (OSError, ValueError) as error:
        raise LabError(f"the kernel allows too few inotify instances, and {setting} cannot be raised to {wanted}: {error}") from None


def _installable(package: str) -> bool:
    """Ask apt what it would install, refreshing its lists only when it knows nothing."""
    for refresh in (False, True):
        if refresh:
            attempt(["apt-get", "-q", "update"])
        said = attempt(["apt-cache", "policy", package]).stdout
        if "Candidate:" in said and "Candidate: (none)" not in said:
            return True
    return False


def install_missing() -> None:
    """Install what the lab calls, where it is not there yet."""
    install({**FOR_BUILDING, **FOR_NODES})
