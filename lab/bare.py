# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bare nodes: the distribution with systemd, sshd and Python, and nothing of what makes a machine a node."""

from __future__ import annotations

from pathlib import Path

from lab.cache import Artifact, Store, content_of
from lab.images import FILES
from lab.node_image import MASKED, NODE_FILES, base_reference, ensure_base_image, lay_out
from lab.podman import build_image, image_exists

BARE_FILES = ("lab-node.service", "lab-node", "sshd.conf")
ENABLED = ("lab-node",)
# What stays of the base, beside what the distribution itself holds required; all else goes, and what only that needed with it.
KEPT = (
    "ca-certificates", "dbus", "iproute2", "iputils-ping", "kmod", "nftables", "openssh-server", "procps", "python3",
    "systemd", "systemd-sysv",
)  # fmt: skip
_LESS_THAN_REQUIRED = "dpkg-query --show --showformat '${Package} ${Priority}\\n' | grep -v ' required$' | cut -d ' ' -f 1"


def bare_artifact() -> Artifact:
    """Describe what a bare node gets on top of the base; no release has a part in it."""

    def make(target: Path) -> None:
        lay_out(target, BARE_FILES, ENABLED)

    inputs = {
        "masked": list(MASKED),
        "files": {name: content_of(FILES / name) for name in BARE_FILES},
        "places": {name: NODE_FILES[name] for name in BARE_FILES},
        "enabled": list(ENABLED),
        "containerfile": containerfile("base"),
    }
    return Artifact("bare-tree", inputs, make)


def containerfile(base: str) -> str:
    """Spell how a bare node is made of the base that all nodes share: by taking packages away."""
    return f"""\
FROM {base}
RUN export DEBIAN_FRONTEND=noninteractive LC_ALL=C \\
 && apt-mark auto $({_LESS_THAN_REQUIRED}) \\
 && apt-mark manual {" ".join(KEPT)} \\
 && apt-get -q purge -y --auto-remove \\
 && rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/containerd /etc/cni /opt/cni /opt/containerd /var/lib/containerd \\
    /var/log/apt /var/log/*.log /var/cache/debconf/*
COPY . /
"""


def bare_reference(base: Artifact, bare: Artifact) -> str:
    """Name the image of bare nodes in podman's storage."""
    return f"localhost/kubephase-bare:{base.digest}-{bare.digest}"


def ensure_bare_image(store: Store, base: Artifact, bare: Artifact) -> str:
    """Put the image of bare nodes into podman's storage unless it is there."""
    reference = bare_reference(base, bare)
    with store.lock("podman-images"):
        if not image_exists(reference):
            ensure_base_image(store, base)
            build_image(containerfile(base_reference(base)), store.path(bare), reference)
    return reference
