# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance's repository server: started with its first bare node, found again by its process id, ended with the instance."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from lab.cache import Store
from lab.errors import LabError
from lab.instance import directory, write_whole
from lab.repository import KUBERNETES

# One for all instances: each has an address of its own.
PORT = 8480
SERVE = Path(__file__).parent / "serve.py"
START_SECONDS = 15.0
END_SECONDS = 5.0


def record(store: Store, instance: str) -> Path:
    """Say where an instance notes its server."""
    return directory(store, instance) / "server.json"


def ensure(store: Store, instance: str, address: str, served: Path) -> None:
    """Let exactly this directory be served on this address; a server that does so already is left alone."""
    wanted = [address, str(PORT), str(served)]
    noted = _noted(store, instance)
    if noted.get("arguments") == wanted and is_ours(noted):
        return
    end(store, instance)
    log = directory(store, instance) / "server.log"
    with log.open("a") as output:
        process = subprocess.Popen(
            [sys.executable, str(SERVE), *wanted], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", start_new_session=True
        )
    note = {"pid": process.pid, "started": started(process.pid), "arguments": wanted}
    write_whole(record(store, instance), json.dumps(note) + "\n")


def wait(store: Store, instance: str) -> None:
    """Wait until the server answers; it can only once the bridge has its address."""
    noted = _noted(store, instance)
    address, port = noted["arguments"][:2]
    deadline = time.monotonic() + START_SECONDS
    # No proxy of the machine stands between it and its own bridge.
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with ask.open(f"http://{address}:{port}/{KUBERNETES}/InRelease", timeout=2):
                return
        except (OSError, urllib.error.URLError) as error:
            if time.monotonic() > deadline or not is_ours(noted):
                log = directory(store, instance) / "server.log"
                raise LabError(f"the repository does not answer on {address}:{port} ({error}); see {log}") from None
        time.sleep(0.1)


def end(store: Store, instance: str) -> None:
    """End the server that was noted, and no other process that may have got its id since."""
    noted = _noted(store, instance)
    if is_ours(noted):
        os.kill(noted["pid"], signal.SIGTERM)
        deadline = time.monotonic() + END_SECONDS
        while is_ours(noted) and time.monotonic() < deadline:
            time.sleep(0.05)
            _reap(noted["pid"])
    record(store, instance).unlink(missing_ok=True)


def is_ours(noted: dict[str, Any]) -> bool:
    """Whether a noted process still runs: the id alone could be somebody else's by now."""
    pid = noted.get("pid")
    return isinstance(pid, int) and noted.get("started") is not None and started(pid) == noted["started"]


def started(pid: int) -> str | None:
    """Say when a process began, in the kernel's ticks; nothing for one that is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def _noted(store: Store, instance: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(record(store, instance).read_text())
    except (OSError, ValueError):
        return {}
    return found
