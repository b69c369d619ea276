# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Podman, called the way that works on machines with either kind of cgroups and without systemd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.command import attempt, run

# crun refuses hybrid cgroups, and a cgroup manager of systemd needs a systemd on the machine.
PODMAN = ("podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc")

# Podman asks for its own defaults otherwise, which root without CAP_SYS_RESOURCE may not have.
LIMITS = ("--ulimit", "nofile=20000:20000", "--ulimit", "nproc=30000:30000", "--pids-limit", "-1")

INSTANCE_LABEL = "kubephase.instance"


def podman(*arguments: str, timeout: float | None = None) -> str:
    """Call podman and return what it printed."""
    return run([*PODMAN, *arguments], timeout=timeout)


def succeeds(*arguments: str) -> bool:
    """Ask podman a question that it answers by its exit status."""
    return attempt([*PODMAN, *arguments]).returncode == 0


def image_exists(reference: str) -> bool:
    """Say whether an image is in podman's storage."""
    return succeeds("image", "exists", reference)


def import_image(archive: Path, reference: str) -> None:
    """Make an image of a root file system."""
    podman("import", "--quiet", str(archive), reference)


def build_image(containerfile: str, context: Path, reference: str) -> None:
    """Make an image from a few lines and a directory; nothing runs in it and nothing is fetched."""
    arguments = ("build", "--quiet", "--pull-never", "--isolation", "chroot", "-f", "-", "-t", reference, str(context))
    run([*PODMAN, *arguments], stdin=containerfile)


def containers(instance: str) -> list[Any]:
    """List the containers of an instance, running or not."""
    said = podman("ps", "--all", "--format", "json", "--filter", f"label={INSTANCE_LABEL}={instance}")
    found: list[Any] = json.loads(said or "[]")
    return found


def networks() -> list[Any]:
    """List all networks of this machine's podman, whoever made them."""
    names = podman("network", "ls", "--quiet").split()
    found: list[Any] = json.loads(podman("network", "inspect", *names)) if names else []
    return found
