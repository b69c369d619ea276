# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the approval of serving certificates against a bare API server on loopback: one large pass, and the idle timer."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
for place in (CHECKOUT / ".ansible" / "collections", CHECKOUT, CHECKOUT / "tests"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

from bench import Row, show  # noqa: E402
from unit.world import Host  # noqa: E402

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kubelet_port import KubeletPorts  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.program import Programs  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import SigningApi  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.standing import ApproverTokens  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import EnableTimer, TimerState  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import ServingCsrPhase  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.install import ENTRIES, MAIN, StandingApproverPhase  # noqa: E402

DOCUMENTS = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}
NODES = {"worker1": {"ip_addresses": ["192.0.2.21"]}}
PASS_SECONDS, PASS_MEGABYTES, IDLE_SECONDS = 10.0, 100.0, 0.5


class Timers:
    """Nothing is started here."""

    applies = (EnableTimer,)

    def state(self, name: str) -> TimerState:
        """Say that there is no timer."""
        return TimerState(active=False, enabled=False)

    def apply(self, action: Action) -> None:
        """Leave it."""


@dataclass(frozen=True)
class Used:
    """What a process took."""

    seconds: float
    processor: float
    megabytes: float


def measured(*command: str) -> Used:
    """Run a process to its end."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bench: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Used(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def approve(root: str) -> None:
    """One pass, as the module does it on a control plane."""
    files, ports = Files(root), KubeletPorts()
    world = World(files=files, signing=SigningApi(files, ports), ports=ports, host=Host())
    done = execute(ServingCsrPhase(), world, DOCUMENTS, {"policy": NODES, "timeout": timedelta(seconds=1)})
    print(len(done.facts["approved"]))


def main() -> int:
    """Measure and print; a missed target is told, not failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=500, help="how many requests wait (default: 500)")
    parser.add_argument("--pass", dest="root", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.root:
        approve(arguments.root)
        return 0
    from ansible_collections.kubephase.cluster.tests.parity.apiserver import ApiServer
    from ansible_collections.kubephase.cluster.tests.parity.serving import file_request, until_nodes_may_ask, user
    from ansible_collections.kubephase.cluster.tests.unit.serving.filed import USAGES, csr

    with tempfile.TemporaryDirectory(prefix="kubephase-bench-") as home:
        server = ApiServer(Path(home))
        try:
            until_nodes_may_ask(server)
            worker, pem = user(server, "system:node:worker1", ("system:nodes",)), csr()
            for index in range(arguments.requests):
                file_request(worker, f"bench-{index}", pem, USAGES)
            print(f"bench: {arguments.requests} requests wait at a bare API server", flush=True)
            large = measured(sys.executable, __file__, "--pass", str(server.root))
            files = Files(str(server.root))
            world = server.world(tokens=ApproverTokens(files), programs=Programs(), timers=Timers())
            execute(StandingApproverPhase(), world, DOCUMENTS, {"policy": NODES, "interval": timedelta(minutes=1)})
            program = Path(home, "approver.pyz")
            program.write_bytes(Programs().packed(ENTRIES, MAIN.replace(").run()", f", {str(server.root)!r}).run()")))
            idle = sorted((measured(sys.executable, "-I", str(program)) for _round in range(5)), key=lambda used: used.processor)[2]
        finally:
            server.stop()
    show(
        [
            Row(
                f"approval of {arguments.requests} requests",
                f"{large.seconds:.1f} s, {large.megabytes:.0f} MB",
                f"under {PASS_SECONDS:.0f} s and {PASS_MEGABYTES:.0f} MB",
                large.seconds < PASS_SECONDS and large.megabytes < PASS_MEGABYTES,
            ),
            Row(
                "idle run of the approver",
                f"{idle.processor:.2f} s of CPU, {idle.megabytes:.0f} MB",
                f"under {IDLE_SECONDS} s",
                idle.processor < IDLE_SECONDS,
            ),
        ]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
