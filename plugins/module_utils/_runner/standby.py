# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process that stands by on a host while a play is under way, with what a call has loaded, and forks for each later one.

Loading takes longer than what most phases do. It is root's alone, is left behind only by calls without secrets, and ends by
itself soon after the last one.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import select
import socket
import sys
import traceback
from typing import Any

# Initialising a cluster takes longer than many a pause: those who join afterwards are to find what they have loaded.
IDLE_SECONDS = 60.0
# The first byte says that the call is taken, so that nobody else may run it; the second is the exit code.
TAKEN = b"+"
_MODULES = "ansible_collections.kubephase.cluster.plugins.modules."
# Without one of these a module says how to get it; a process that has looked in vain would not see it come.
_LIBRARIES = ("yaml", "cryptography")


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


def leave_behind(path: str, module: str, arguments: dict[str, Any]) -> None:
    """Load a module and leave a process behind that has it loaded, apart from the call; that one goes on at once."""
    try:
        importlib.import_module("ansible.module_utils.basic")
        loaded = importlib.import_module(_MODULES + module)
        if hasattr(loaded, "load"):
            # What it needs depends on what the host becomes.
            loaded.load(arguments.get("becomes"))
        # A collector that visits what both share would have it copied.
        gc.freeze()
        # Whoever is left behind compiles nothing, which is why he may also come from the call that brought the code.
        started = os.fork()
    except Exception:
        # The call does without; what is wrong with the module it will meet again, and tell of it.
        return
    if started:
        os.waitpid(started, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            arguments.clear()
            _let_go()
            _stand_by(path)
    finally:
        # Whatever came in his way, he is not the call; those that follow then load for themselves.
        os._exit(0)


def _let_go() -> None:
    """Hold nothing of the connection that brought the call, nor of its surroundings."""
    os.chdir("/")
    os.environ.clear()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    for name in os.listdir("/proc/self/fd"):
        # The listing has one of its own, which is closed by now.
        with contextlib.suppress(OSError):
            if int(name) > 2:
                os.close(int(name))


def _stand_by(path: str) -> None:
    """Serve at a path, until no call comes any more or a library has come that was missing."""
    lacking = [name for name in _LIBRARIES if not _found(name)]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mine = _placed(listener, path)
    busy = 0
    while mine:
        ready, _none, _nor = select.select([listener], [], [], IDLE_SECONDS)
        while busy and os.waitpid(-1, os.WNOHANG)[0]:
            busy -= 1
        if not ready and not busy:
            break
        if ready:
            connection, _peer = listener.accept()
            if any(_found(name) for name in lacking):
                # The caller sees that nobody took it, and loads for itself.
                break
            if not os.fork():
                listener.close()
                _answer(connection)
            busy += 1
            connection.close()
    _clear(path, mine)


def _placed(listener: socket.socket, path: str) -> int:
    """Listen where a caller finds nobody or somebody who is ready; gives the inode, or 0 when another was faster."""
    staged = f"{path}.{os.getpid()}"
    listener.bind(staged)
    listener.listen()
    mine = os.stat(staged).st_ino
    try:
        os.link(staged, path)
    except FileExistsError:
        if not _answers(path):
            # Who was killed could not clear his place.
            os.rename(staged, path)
            return mine
        mine = 0
    os.unlink(staged)
    return mine


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(path) == 0


def _clear(path: str, mine: int) -> None:
    # By now the place may be somebody else's, whom nobody would find without it.
    if os.stat(path).st_ino == mine:
        os.unlink(path)


def _found(library: str) -> bool:
    importlib.invalidate_caches()
    return importlib.util.find_spec(library) is not None


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
