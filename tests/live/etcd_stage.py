# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sent to a joining node: stops the module there at the moment when the node's etcd member has come to a stage.

The module is stopped for every look at the member list and goes on only for a few milliseconds in between, so that it
cannot be far beyond the stage when that is seen.
"""

import contextlib
import http.client
import json
import os
import signal
import ssl
import sys
import time

# How long a module runs at a time, and how long it stands still before the look. What it has asked of etcd is done in the
# meantime, so that it is not seen to be added only after it has gone on and written the manifest.
SLICES = {"added": (0.001, 0.006), "started": (0.003, 0), "promoted": (0.003, 0)}
PKI = "/etc/kubernetes/pki/etcd"
# Written just before the member is joined; until it is there, nothing has to be slowed down.
SOON = "/var/lib/kubelet/config.yaml"


def main(asked: str, own: str, stage: str, seconds: str) -> int:
    """Look until the member at the node's own address is at the stage, and leave the module stopped then."""
    os.nice(-20)
    deadline = time.monotonic() + float(seconds)
    running, still = SLICES[stage]
    connection = None
    while time.monotonic() < deadline:
        if connection is None:
            time.sleep(0.05)
            with contextlib.suppress(OSError):
                connection = connect(asked) if os.path.exists(SOON) else None
            continue
        stopped = stop()
        time.sleep(still)
        try:
            there = reached(members(connection), f"https://{own}:2380", stage)
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            connection, there = None, False
        if there:
            return 0
        go_on(stopped)
        time.sleep(running)
    return 1


def connect(asked: str) -> http.client.HTTPSConnection:
    """Speak to a member with the certificate that this node has from its control-plane-prepare on."""
    context = ssl.create_default_context(cafile=f"{PKI}/ca.crt")
    context.load_cert_chain(f"{PKI}/healthcheck-client.crt", f"{PKI}/healthcheck-client.key")
    return http.client.HTTPSConnection(asked, 2379, timeout=5, context=context)


def members(connection: http.client.HTTPSConnection) -> list[dict[str, object]]:
    """Ask for the member list, on a connection that stays open."""
    connection.request("POST", "/v3/cluster/member/list", b"{}", {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())["members"]
    return list(found)


def reached(found: list[dict[str, object]], peer: str, stage: str) -> bool:
    """Tell whether the member at a peer URL is in the list (added), has started (started), or votes (promoted)."""
    for member in found:
        if peer in (member.get("peerURLs") or ()):  # type: ignore[operator]
            learner, started = bool(member.get("isLearner")), bool(member.get("name"))
            return {"added": True, "started": started, "promoted": started and not learner}[stage]
    return False


def stop() -> list[int]:
    """Stop every module on this node: each is a Python without arguments that reads its program from standard input."""
    stopped = []
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as line:
            if line.read() == b"/usr/bin/python3\0":
                os.kill(process, signal.SIGSTOP)
                stopped.append(process)
    return stopped


def go_on(stopped: list[int]) -> None:
    """Let go on just who was stopped: what looked like a module may have been about to become another program."""
    for process in stopped:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGCONT)


sys.exit(main(*sys.argv[1:]))
