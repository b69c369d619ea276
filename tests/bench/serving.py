# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures serving certificates against a bare API server on loopback: one large pass, and what both timers take with nothing to do."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

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
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.unattended import turn  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import ServingCsrPhase  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.install import ENTRIES, MAIN, StandingApproverPhase  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import ROTATION_SETTINGS  # noqa: E402
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation_timer import program as rotation_program  # noqa: E402

if TYPE_CHECKING:
    from ansible_collections.kubephase.cluster.tests.parity.apiserver import ApiServer

DOCUMENTS = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}
NODES = {"worker1": {"ip_addresses": ["192.0.2.21"]}}
PASS_SECONDS, PASS_MEGABYTES, IDLE_SECONDS = 10.0, 100.0, 0.5
# A host of the benchmark need not run systemd; this stands in for it, and takes about as long.
SYSTEMCTL = "#!/bin/sh\nprintf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n'\n"


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


def with_programs(path: str) -> dict[str, str]:
    """The environment with the programs of a directory before all others."""
    return {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else dict(os.environ)


def measured(*command: str, path: str = "") -> Used:
    """Run a process to its end; what its own processes took is in it."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=with_programs(path))
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


def idle_approver(server: ApiServer, home: Path) -> Used:
    """The standing approver on a control plane, when all requests are decided on."""
    files = Files(str(server.root))
    world = server.world(tokens=ApproverTokens(files), programs=Programs(), timers=Timers())
    execute(StandingApproverPhase(), world, DOCUMENTS, {"policy": NODES, "interval": timedelta(minutes=1)})
    program = home / "approver.pyz"
    program.write_bytes(Programs().packed(ENTRIES, MAIN.replace(").run()", f", {str(server.root)!r}).run()")))
    return middle(program)


def idle_rotation(server: ApiServer, home: Path) -> Used:
    """The rotation on a node whose certificate is good for long."""
    from cryptography.x509 import load_pem_x509_csr

    from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import private_pem
    from ansible_collections.kubephase.cluster.tests.parity.serving import authority, has_addresses, signed, user
    from ansible_collections.kubephase.cluster.tests.unit.serving.filed import csr, key

    root, link = home / "node", "/var/lib/kubelet/pki/kubelet-server-current.pem"
    has_addresses(server, "192.0.2.21")
    user(server, "system:node:worker1", ("system:nodes",), root, "/etc/kubernetes/kubelet.conf")
    pair = signed(authority(server), load_pem_x509_csr(csr()), timedelta(days=365)) + private_pem(key("ecdsa-256"))
    options = {
        "becomes": "worker",
        "manager": "collection",
        "algorithm": "ECDSA-P256",
        "cluster_configuration": DOCUMENTS["ClusterConfiguration"],
        "join_configuration": {"nodeRegistration": {"name": "worker1"}},
    }
    config = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "tlsCertFile": link, "tlsPrivateKeyFile": link}
    for path, content in (
        (ROTATION_SETTINGS, json.dumps({"options": options, "seconds": {"timeout": 120}}).encode()),
        ("/var/lib/kubelet/config.yaml", json.dumps(config).encode()),
        ("/etc/kubernetes/pki/ca.crt", (server.pki / "ca.crt").read_bytes()),
        (f"{link}.pair", pair),
    ):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / path[1:]).write_bytes(content)
    (root / link[1:]).symlink_to(root / f"{link}.pair"[1:])
    entries, start = rotation_program(turn.__module__)
    program, programs = home / "rotation.pyz", home / "programs"
    program.write_bytes(Programs().packed(entries, start.replace("Files()", f"Files({str(root)!r})")))
    programs.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL)
    (programs / "systemctl").chmod(0o755)
    return middle(program, str(programs))


def middle(program: Path, path: str = "") -> Used:
    """The middle one of five runs; one that had anything to do would tell of it."""
    said = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, check=False, env=with_programs(path))
    if said.returncode or said.stdout:
        raise SystemExit(f"bench: {program.name} was not idle: {said.stdout}{said.stderr}")
    runs = [measured(sys.executable, "-I", str(program), path=path) for _round in range(5)]
    return sorted(runs, key=lambda used: used.processor)[2]


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
            turns = {"approver": idle_approver(server, Path(home)), "rotation": idle_rotation(server, Path(home))}
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
            *(
                Row(
                    f"idle run of the {name}",
                    f"{used.processor:.2f} s of CPU, {used.megabytes:.0f} MB",
                    f"under {IDLE_SECONDS} s",
                    used.processor < IDLE_SECONDS,
                )
                for name, used in turns.items()
            ),
        ]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
