# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process that stands by on a host while a play is under way, with the modules loaded, and forks for each call.

Loading takes longer than what most phases do. It is root's alone, holds nothing of any call, and ends by itself soon after
the last one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import socket
import sys
import traceback
from typing import Any

IDLE_SECONDS = 20.0
# The first byte says that the call is taken, so that nobody else may run it; the second is the exit code.
TAKEN = b"+"
_MODULES = "ansible_collections.kubephase.cluster.plugins.modules."
# What a play calls after it has looked around; the rest is loaded when it is called.
_LOADED = (
    "pki_cert",
    "kubeconfig_file",
    "static_pod",
    "kubelet_start",
    "wait_control_plane",
    "upload_config",
    "mark_control_plane",
    "bootstrap_token",
    "kubelet_finalize",
    "addon",
    "cluster_discovery",
    "kubelet_wait_bootstrap",
)
# Without one of these a module says how to get it; a process that has looked in vain would not see it come.
_LIBRARIES = ("yaml", "cryptography.x509")


def call(module: str, arguments: dict[str, Any]) -> None:
    """Run a module as Ansible's own wrapper does; its result goes to standard output."""
    try:
        arguments["_ansible_module_name"] = "kubephase.cluster." + module
        basic: Any = importlib.import_module("ansible.module_utils.basic")
        basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
        basic._ANSIBLE_PROFILE = "legacy"
        importlib.import_module(_MODULES + module).main()
    except Exception as problem:
        said = {"failed": True, "msg": f"{type(problem).__name__}: {problem}", "exception": traceback.format_exc()}
        sys.stdout.write(json.dumps(said))


def stand_by(path: str) -> None:
    """Become that process, apart from the call that it was started in; returns at once in that call."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if not os.fork():
        _let_go()
        try:
            for name in (*_LIBRARIES, *(_MODULES + module for module in _LOADED)):
                importlib.import_module(name)
            _serve(path)
        except (ImportError, OSError):
            # Another one stands by already, or it would be of no use; calls then load for themselves.
            pass
    os._exit(0)


def _let_go() -> None:
    """Hold nothing of the connection that brought the call."""
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.closerange(3, nowhere + 1)


def _serve(path: str) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    mine = os.stat(path).st_ino
    listener.listen()
    gc.freeze()
    busy = 0
    while True:
        ready, _none, _nor = select.select([listener], [], [], IDLE_SECONDS)
        while busy and os.waitpid(-1, os.WNOHANG)[0]:
            busy -= 1
        if not ready and not busy:
            # By now the place may be somebody else's, whom nobody would find without it.
            if os.stat(path).st_ino == mine:
                os.unlink(path)
            return
        if ready:
            connection, _peer = listener.accept()
            if not os.fork():
                listener.close()
                _answer(connection)
            busy += 1
            connection.close()


def _answer(connection: socket.socket) -> None:
    """Run the call that comes over a connection with the caller's own streams, surroundings and place; then end."""
    code = 1
    try:
        request, streams = _received(connection)
        for descriptor, stream in enumerate(streams):
            os.dup2(stream, descriptor)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["directory"])
        os.umask(request["umask"])
        connection.sendall(TAKEN)
        try:
            call(request["module"], request["arguments"])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code & 0xFF]))
    finally:
        os._exit(code)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    head, streams, _flags, _address = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        return json.loads(stream.read(int.from_bytes(head, "big"))), streams
