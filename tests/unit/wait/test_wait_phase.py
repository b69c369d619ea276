# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wait-control-plane phase against real servers on loopback: healthy, late, broken, strangers and silent ones."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host, changes, run

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.health import HealthChecks
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import ContainerState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health, HealthCheck, WaitForControlPlane
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.phase import WaitControlPlanePhase

ADDRESS = "127.0.0.2"  # of this machine, and yet not what documents may not advertise: the tests put it in by hand
ADMIN = "/etc/kubernetes/admin.conf"
CLUSTER = {"encryptionAlgorithm": "ECDSA-P256", "apiServer": {"certSANs": [ADDRESS]}}


class Servers:
    """Health endpoints on loopback that start, answer and stop as told."""

    def __init__(self) -> None:
        self._running: list[ThreadingHTTPServer] = []
        self.clients: list[Any] = []

    def start(self, port: int = 0, status: int = 200, tls: ssl.SSLContext | None = None, host: str = ADDRESS) -> int:
        clients = self.clients

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                certificate = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
                clients.append((self.path, certificate))
                self.send_response(status)
                self.end_headers()

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer((host, port), Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._running.append(server)
        return int(server.server_address[1])

    def stop(self) -> None:
        for server in self._running:
            server.shutdown()
            server.server_close()


class Runtime:
    """A container runtime that knows of one container that keeps crashing."""

    def __init__(self, containers: tuple[ContainerState, ...] = ()) -> None:
        self.asked: list[str] = []
        self._containers = containers

    def containers(self, endpoint: str, component: str) -> tuple[ContainerState, ...]:
        self.asked.append(f"{endpoint} {component}")
        return self._containers

    def logs(self, endpoint: str, container: str, lines: int) -> str:
        return f"started\npanic in {container}\n"


class Journal:
    """A service manager with a kubelet that complains."""

    def journal(self, name: str, lines: int) -> tuple[str, ...]:
        return (f"{name} has no cgroup",)


@pytest.fixture
def servers() -> Iterator[Servers]:
    """Servers that end with the test."""
    made = Servers()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host with certificates and an admin.conf."""
    home = tmp_path_factory.mktemp("host")
    run(CertsPhase(), home, CLUSTER, {"names": ["ca", "apiserver"]})
    run(KubeconfigPhase(), home, CLUSTER, {"names": ["admin"]})
    return home


def serving(root: Path, name: str = "apiserver") -> ssl.SSLContext:
    """What an API server shows, and whom it takes for its users."""
    pki = root / "etc/kubernetes/pki"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / f"{name}.crt", pki / f"{name}.key")
    context.load_verify_locations(pki / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def check(name: str, port: int, seconds: float = 10, scheme: str = "http", **more: Any) -> HealthCheck:
    return HealthCheck(name, f"{scheme}://{ADDRESS}:{port}/livez", seconds, **more)


def wait(root: Path, *checks: HealthCheck, cri: Any = None, systemd: Any = None) -> Any:
    action = WaitForControlPlane(checks, "unix:///run/test.sock", poll_seconds=0.05)
    return HealthChecks(Files(str(root)), cri, systemd).apply(action)["components"]


def test_the_api_server_is_asked_as_the_user_of_admin_conf(root: Path, servers: Servers) -> None:
    port = servers.start(tls=serving(root))
    asked = check("kube-apiserver", port, scheme="https", kubeconfig=ADMIN)
    (found,) = HealthChecks(Files(str(root))).look([asked])
    assert (found.healthy, found.found) == (True, "")
    path, certificate = servers.clients[0]
    assert path == "/livez"
    assert (("commonName", "kubernetes-admin"),) in certificate["subject"]


def test_a_stranger_in_the_place_of_the_api_server_is_not_believed(root: Path, servers: Servers, tmp_path: Path) -> None:
    run(CertsPhase(), tmp_path, CLUSTER, {"names": ["ca", "apiserver"]})
    port = servers.start(tls=serving(tmp_path))
    asked = check("kube-apiserver", port, 0.3, scheme="https", kubeconfig=ADMIN)
    (found,) = HealthChecks(Files(str(root))).look([asked])
    assert not found.healthy
    assert "its certificate does not fit" in found.found
    with pytest.raises(ManyUnusable, match="its certificate does not fit"):
        wait(root, asked)


def test_a_companion_may_have_any_certificate(root: Path, servers: Servers, tmp_path: Path) -> None:
    run(CertsPhase(), tmp_path, CLUSTER, {"names": ["ca", "apiserver"]})
    context = serving(tmp_path)
    context.verify_mode = ssl.CERT_NONE
    (found,) = HealthChecks(Files(str(root))).look([check("kube-scheduler", servers.start(tls=context), scheme="https")])
    assert found.healthy


@pytest.mark.parametrize(("status", "found"), [(200, ""), (500, "it answers with status 500"), (401, "it answers with status 401")])
def test_only_a_good_answer_is_health(root: Path, servers: Servers, status: int, found: str) -> None:
    (health,) = HealthChecks(Files(str(root))).look([check("kubelet", servers.start(status=status))])
    assert (health.healthy, health.found) == (not found, found)


def test_nobody_there(root: Path) -> None:
    (health,) = HealthChecks(Files(str(root))).look([check("kubelet", free_port())])
    assert (health.healthy, health.found) == (False, "connection refused")


def test_a_silent_one_does_not_keep_the_others_waiting(root: Path, servers: Servers) -> None:
    with socket.socket() as silent:
        silent.bind((ADDRESS, 0))
        silent.listen()
        start = time.monotonic()
        with pytest.raises(ManyUnusable, match="kube-scheduler is not healthy after 1 s: no answer in time") as report:
            wait(root, check("kube-scheduler", silent.getsockname()[1], 1), check("kube-controller-manager", servers.start(), 1))
        assert len(report.value.findings) == 1
        assert time.monotonic() - start < 8


def test_one_that_comes_up_late_is_waited_for(root: Path, servers: Servers) -> None:
    port = free_port()
    threading.Timer(0.6, servers.start, (port,)).start()
    start = time.monotonic()
    (found,) = wait(root, check("kube-scheduler", port))
    assert found["healthy"]
    assert 0.5 < found["seconds"] < 5
    assert time.monotonic() - start < 5


def test_a_later_stage_is_not_asked_before_the_earlier_one_is_healthy(root: Path, servers: Servers) -> None:
    later = servers.start()
    with pytest.raises(ManyUnusable, match="kubelet is not healthy after 0 s: connection refused"):
        wait(root, check("kubelet", free_port(), 0.3), check("kube-scheduler", later, stage=1))
    assert servers.clients == []


def test_one_that_is_not_required_is_told_and_not_waited_for(root: Path, servers: Servers) -> None:
    start = time.monotonic()
    found = wait(root, check("kubelet", free_port(), 30, required=False), check("kube-apiserver", servers.start()))
    assert [(each["name"], each["healthy"]) for each in found] == [("kubelet", False), ("kube-apiserver", True)]
    assert time.monotonic() - start < 5


def test_what_is_known_of_a_component_that_does_not_come_up(root: Path) -> None:
    runtime = Runtime((ContainerState("id3", "kube-scheduler", "CONTAINER_EXITED", 3, 30), ContainerState("id2", "x", "x", 2, 20)))
    with pytest.raises(ManyUnusable) as report:
        wait(root, check("kube-scheduler", free_port(), 0.2), check("kubelet", free_port(), 0.2), cri=runtime, systemd=Journal())
    scheduler, kubelet = map(str, report.value.findings)
    assert "its container is CONTAINER_EXITED, attempt 3" in scheduler
    assert "kube-scheduler: panic in id3" in scheduler
    assert "kubelet: kubelet has no cgroup" in kubelet
    assert runtime.asked == ["unix:///run/test.sock kube-scheduler"]


def test_a_component_without_a_container_points_at_the_kubelet(root: Path) -> None:
    with pytest.raises(ManyUnusable, match="there is no container of kube-scheduler"):
        wait(root, check("kube-scheduler", free_port(), 0.2), cri=Runtime())


@pytest.mark.parametrize(
    ("age", "created", "found"),
    [
        (2, -1, "it still runs from before its manifest was written"),
        (2, 1, ""),
        (60, -1, ""),
        (-60, -1, ""),
    ],
    ids=["old container", "new container", "manifest only touched", "clock set back"],
)
def test_a_container_from_before_a_new_manifest_does_not_count(
    root: Path, servers: Servers, age: float, created: float, found: str
) -> None:
    written = time.time() - age
    runtime = Runtime((ContainerState("id", "kube-scheduler", "running", 0, int((written + created) * 10**9)),))
    asked = check("kube-scheduler", servers.start(), written=written)
    (health,) = HealthChecks(Files(str(root)), runtime).look([asked])
    assert (health.healthy, health.found) == (not found, found)


def test_without_admin_conf_the_wait_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=rf"{ADMIN}: there is no such kubeconfig"):
        wait(tmp_path, check("kube-apiserver", free_port(), 60, "https", kubeconfig=ADMIN))


class Answers:
    """A look that finds what the test says."""

    applies = (WaitForControlPlane,)

    def __init__(self, unwell: dict[str, str]) -> None:
        self.unwell = unwell
        self.waited: list[WaitForControlPlane] = []

    def look(self, checks: Any, cri_socket: str) -> Any:
        return tuple(Health(each.name, each.url, each.name not in self.unwell, 0.01, self.unwell.get(each.name, "")) for each in checks)

    def apply(self, action: WaitForControlPlane) -> None:
        self.waited.append(action)


def phase(root: Path, answers: Answers, check: bool = False, **cluster: Any) -> Outcome:
    world = World(files=Files(str(root)), health=answers, host=Host())
    return execute(WaitControlPlanePhase(), world, {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", **cluster}}, {}, check)


def test_a_healthy_control_plane_is_no_change(root: Path) -> None:
    answers = Answers({})
    outcome = phase(root, answers)
    assert not outcome.changed
    assert answers.waited == []
    assert [fact["healthy"] for fact in outcome.plan.facts["components"]] == [True] * 4
    assert outcome.plan.facts["components"][1]["url"] == "https://192.0.2.10:6443/livez"


def test_a_wait_names_what_is_waited_for_and_why(root: Path) -> None:
    answers = Answers({"kube-scheduler": "connection refused", "kube-apiserver": "it answers with status 500"})
    outcome = phase(root, answers)
    ((target, reason, before, after),) = changes(outcome)
    assert target == "control plane on cp1"
    assert reason == "not healthy yet: kube-apiserver (it answers with status 500), kube-scheduler (connection refused)"
    assert before.splitlines() == [
        "kubelet: healthy",
        "kube-apiserver: it answers with status 500",
        "kube-controller-manager: healthy",
        "kube-scheduler: connection refused",
    ]
    assert "kube-scheduler: healthy, asked at https://127.0.0.1:10259/livez for up to 240 s" in after
    assert len(answers.waited) == 1


def test_check_mode_before_the_first_run_tells_what_would_be_waited_for(tmp_path: Path) -> None:
    answers = Answers(dict.fromkeys(["kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler"], "connection refused"))
    outcome = phase(tmp_path, answers, check=True)
    assert outcome.plan.changes
    assert not outcome.changed
    assert answers.waited == []
    assert outcome.plan.changes[0].after.count("for up to 240 s") == 4


def test_a_kubelet_that_the_release_does_not_wait_for_is_no_reason_to_wait(root: Path) -> None:
    assert not phase(root, Answers({"kubelet": "connection refused"}), kubernetesVersion="v1.28.15").plan.changes
    assert phase(root, Answers({"kubelet": "connection refused"}), kubernetesVersion="v1.30.5").plan.changes


def test_addresses_come_from_the_manifests_on_disk(tmp_path: Path) -> None:
    directory = tmp_path / "etc/kubernetes/manifests"
    directory.mkdir(parents=True)
    (directory / "kube-scheduler.yaml").write_text('spec: {containers: [{command: [kube-scheduler, "--secure-port=11259"]}]}')
    outcome = phase(tmp_path, Answers({}))
    assert outcome.plan.facts["components"][3]["url"] == "https://127.0.0.1:11259/livez"
    (directory / "kube-scheduler.yaml").write_text("{")
    with pytest.raises(Unusable, match=r"kube-scheduler\.yaml: it is not valid YAML"):
        phase(tmp_path, Answers({}))
