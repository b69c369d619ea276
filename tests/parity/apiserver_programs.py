# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The programs of the bare API servers: where they are, where they may listen, and that they never outlive a test run."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path

from ansible_collections.kubephase.cluster.tests.parity.oracle import CHECKOUT

RELEASE = "1.37.1"
_HOME = "kubephase-api-"


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@functools.cache
def program(name: str, release: str = RELEASE) -> Path:
    """A binary of the lab's for a Kubernetes release, built if it has to be."""
    if str(CHECKOUT) not in sys.path:
        sys.path.insert(0, str(CHECKOUT))
    from lab import recipes
    from lab.cache import Store, cache_root
    from lab.gobuild import program_artifact
    from lab.toolchain import ensure

    store = Store(cache_root(os.environ))
    recipe = recipes.etcd(recipes.RELEASES[release].etcd)[0] if name == "etcd" else recipes.kubernetes(name, release)
    artifact = program_artifact(store, ensure(store), recipe)
    store.ensure(artifact)
    return store.path(artifact) / name


def fresh_home(name: str) -> Path:
    """A directory for one server; those of runs that were killed before they could clean up are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_HOME}*"):
        owner = left.name[len(_HOME) :].partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_HOME}{os.getpid()}-{name}-"))


def end_with_parent() -> None:
    # A worker that is killed must not leave its servers behind: PR_SET_PDEATHSIG.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
