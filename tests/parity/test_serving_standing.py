# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standing approver against a real API server: installed, at work as its own user, taking turns, and gone."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.program import Programs
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import API_VERSION, SigningApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.standing import ApproverTokens, StandingApprover
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import DisableTimer, EnableTimer, ReloadUnits, TimerState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import diff
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.install import (
    ENTRIES,
    MAIN,
    PATHS,
    StandingApproverPhase,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import (
    FIGURES,
    KUBECONFIG,
    MEMORY,
    NAME,
    PROGRAM,
    SERVICE,
    SETTINGS,
    TIMER,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.standing import LEASE_SECONDS, Rules, manifests
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, SUPER_ADMIN, ApiServer, our_api
from ansible_collections.kubephase.cluster.tests.parity.serving import (
    conditions,
    file_request,
    forget,
    key_of,
    until_nodes_may_ask,
    user,
)
from ansible_collections.kubephase.cluster.tests.unit.serving.filed import ALLOWED, INVENTORY, USAGES, csr
from ansible_collections.kubephase.cluster.tests.unit.world import Host

__all__ = ["our_api"]
pytestmark = ONE_WORKER

DAY = 86400.0
LEASE = ObjectKey("coordination.k8s.io/v1", "Lease", "kube-system", NAME)


@dataclass
class Timers:
    """A service manager that remembers."""

    running: bool = False
    calls: list[Any] = field(default_factory=list)

    applies = (EnableTimer, DisableTimer, ReloadUnits)

    def state(self, name: str) -> TimerState:
        return TimerState(self.running, self.running)

    def apply(self, action: Any) -> None:
        self.calls.append(action)
        self.running = isinstance(action, EnableTimer) or (self.running and isinstance(action, ReloadUnits))


@dataclass
class ControlPlane:
    """A host with the approver on it."""

    server: ApiServer
    timers: Timers = field(default_factory=Timers)
    said: list[str] = field(default_factory=list)

    def install(self, check: bool = False, **options: Any) -> Outcome:
        files = Files(str(self.server.root))
        world = self.server.world(tokens=ApproverTokens(files), programs=Programs(), timers=self.timers, host=Host())
        given = {"policy": INVENTORY, "allowed_names": ALLOWED, "interval": timedelta(minutes=1), **options}
        return execute(StandingApproverPhase(), world, {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}, given, check)

    def run(self, me: str = "cp1", memory: str = MEMORY, clock: float = 0.0, rules: Any = None, off: float = 0.0) -> int:
        """One run of a host whose time of day is so many seconds off."""
        self.said = []
        paths = {**PATHS, "memory": memory}
        root, say = str(self.server.root), self.said.append
        return StandingApprover(rules or Rules(), paths, root, me, say, lambda: clock, lambda: time.time() + off).run()

    def path(self, path: str) -> Path:
        return self.server.root / path.lstrip("/")

    def figure(self, name: str) -> str:
        lines = [line for line in self.path(FIGURES).read_text().splitlines() if line.startswith(f"kubephase_serving_{name} ")]
        return lines[0].split()[-1] if lines else ""

    @property
    def lease(self) -> dict[str, Any]:
        return dict((self.server.api(SUPER_ADMIN).get(LEASE) or {}).get("spec") or {})

    @property
    def holder(self) -> str:
        return str(self.lease.get("holderIdentity", ""))

    @property
    def token(self) -> str:
        return str(json.loads(self.path(KUBECONFIG).read_text())["users"][0]["user"]["token"])


@pytest.fixture(name="host")
def _host(our_api: ApiServer) -> Iterator[ControlPlane]:
    until_nodes_may_ask(our_api)
    host = ControlPlane(our_api)
    yield host
    our_api.api(SUPER_ADMIN).apply(DeleteObject(LEASE))
    for path in (PROGRAM, SETTINGS, KUBECONFIG, MEMORY, FIGURES, SERVICE, TIMER, f"{MEMORY}.2"):
        host.path(path).unlink(missing_ok=True)
    forget(our_api)


def ask(server: ApiServer, name: str = "one", **asked: Any) -> None:
    file_request(user(server, "system:node:worker1", ("system:nodes",)), name, csr(**asked), USAGES)


def test_it_is_installed_once_and_removed_without_a_trace(host: ControlPlane) -> None:
    before = set(host.server.root.rglob("*"))
    looked = host.install(check=True)
    assert looked.changed
    assert set(host.server.root.rglob("*")) == before
    done = host.install()
    assert [change.target for change in done.plan.changes] == [change.target for change in looked.plan.changes]
    modes = {path: stat.S_IMODE(host.path(path).stat().st_mode) for path in (PROGRAM, SETTINGS, SERVICE, TIMER, KUBECONFIG)}
    assert modes == {PROGRAM: 0o755, SETTINGS: 0o644, SERVICE: 0o644, TIMER: 0o644, KUBECONFIG: 0o600}
    assert host.timers.calls == [EnableTimer(NAME, restart=True)]
    versions = host.server.versions()
    again = host.install()
    assert (again.changed, again.facts["token"]) == (False, "kept")
    assert host.server.versions() == versions
    assert host.token not in repr(done.plan) + repr(diff(done.plan)) + repr(done.facts)
    # Another policy changes the one file; the program reads it in its next run.
    changed = host.install(policy={"worker1": INVENTORY["worker1"]})
    assert [change.target for change in changed.plan.changes] == [SETTINGS]
    assert host.run() == 0
    assert host.install(state="absent", check=True).changed
    host.install(state="absent")
    left = set(host.server.root.rglob("*")) - before
    assert {str(path.relative_to(host.server.root)) for path in left} <= {
        *("usr", "usr/local", "usr/local/lib", "var", "var/lib", "etc/systemd", "etc/systemd/system")
    }
    assert [host.server.object(key) for key in (ObjectKey(*_key(each)) for each in manifests())] == [None] * 6
    assert host.timers.calls[-2:] == [DisableTimer(NAME), ReloadUnits()]
    assert not host.install(state="absent").changed


def _key(manifest: Any) -> tuple[str, str, str, str]:
    metadata = manifest["metadata"]
    return manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def test_it_approves_what_is_right_and_tells_the_rest_once(host: ControlPlane) -> None:
    host.install()
    ask(host.server, "right")
    ask(host.server, "extra", dns=["registry.example.test"])
    ask(host.server, "claim", dns=["worker2"])
    assert host.run() == 0
    assert [conditions(host.server, name) for name in ("right", "extra", "claim")] == [["Approved"], [], []]
    said = {line[3:].split()[1]: line for line in host.said}
    assert said["right"].startswith("<5>approved right of system:node:worker1 for worker1, 192.0.2.21: ")
    assert said["extra"].startswith("<4>pending extra")
    assert said["claim"].startswith("<2>refused claim of system:node:worker1")
    assert (host.figure("pending"), host.figure("active"), host.figure("errors_total")) == ("2", "1", "0")
    assert 'kubephase_serving_requests_total{outcome="refused"} 1' in host.path(FIGURES).read_text()
    assert host.run() == 0
    assert host.said == []
    assert 'kubephase_serving_requests_total{outcome="refused"} 1' in host.path(FIGURES).read_text()


def test_a_request_cannot_write_lines_of_its_own(host: ControlPlane) -> None:
    host.install()
    ask(host.server, "forged", ips=(), dns=(), others=[x509.DNSName("x\n<5>approved all of it")])
    assert host.run() == 0
    (line,) = host.said
    assert line.count("\n") == 1
    assert "cannot be printed" in line


def test_it_may_do_nothing_else(host: ControlPlane) -> None:
    host.install()
    client = ["digital signature", "client auth"]
    file_request(host.server.api(SUPER_ADMIN), "client", csr(dns=(), ips=()), client, "kubernetes.io/kube-apiserver-client")
    api = SigningApi(Files(str(host.server.root)), kubeconfig=KUBECONFIG)
    (request,) = [each for each in api.list(API_VERSION, "CertificateSigningRequest") if each["metadata"]["name"] == "client"]
    body = {**request, "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "x", "message": "x"}]}}
    core, rbac = "/api/v1/namespaces/kube-system", "/apis/rbac.authorization.k8s.io/v1"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "other", "namespace": "kube-system"}}
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    for method, path, sent in (
        ("PUT", f"/apis/{API_VERSION}/certificatesigningrequests/client/approval", body),
        ("PUT", f"/apis/{API_VERSION}/certificatesigningrequests/client/status", body),
        ("DELETE", f"/apis/{API_VERSION}/certificatesigningrequests/client", None),
        ("POST", f"/apis/{API_VERSION}/certificatesigningrequests", request),
        ("GET", f"{core}/secrets", None),
        ("GET", f"{core}/configmaps", None),
        ("GET", "/api/v1/nodes", None),
        ("GET", "/api/v1/pods", None),
        ("GET", f"{rbac}/clusterroles", None),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", lease),
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", None),
        ("POST", f"{core}/serviceaccounts/default/token", token),
        ("DELETE", f"{core}/serviceaccounts/{NAME}", None),
    ):
        assert api._send(method, path, {}, sent).status == 403, (method, path)
    assert conditions(host.server, "client") == []


def test_one_is_at_work_and_another_takes_over(host: ControlPlane) -> None:
    host.install()
    second = f"{MEMORY}.2"
    ask(host.server, "one")
    assert host.run("cp1", clock=0) == 0
    assert host.holder == "cp1"
    ask(host.server, "two")
    # A lease that was never seen before is given its whole time, however old it says that it is.
    assert host.run("cp2", second, clock=0) == 0
    assert (host.holder, conditions(host.server, "two"), host.figure("active")) == ("cp1", [], "0")
    assert host.run("cp2", second, clock=LEASE_SECONDS - 1) == 0
    assert host.holder == "cp1"
    # One that is renewed keeps its turn.
    host.server.api(SUPER_ADMIN).apply(DeleteObject(key_of("two")))
    assert host.run("cp1", clock=60) == 0
    assert host.run("cp2", second, clock=LEASE_SECONDS + 1) == 0
    assert host.holder == "cp1"
    ask(host.server, "three")
    assert host.run("cp2", second, clock=2 * LEASE_SECONDS + 2) == 0
    assert (host.holder, conditions(host.server, "three")) == ("cp2", ["Approved"])
    assert host.run("cp1", clock=61) == 0
    assert host.holder == "cp2"


@pytest.mark.parametrize("off", [-3 * DAY, -3600, 3600, 3 * DAY])
def test_a_time_of_day_that_is_off_takes_no_turn_and_gives_none_away(host: ControlPlane, off: float) -> None:
    host.install()
    second, token = f"{MEMORY}.2", host.token
    assert host.run("cp1", clock=0, off=off) == 0
    renewed = datetime.fromisoformat(host.lease["renewTime"].replace("Z", "+00:00")).timestamp()
    assert abs(renewed - time.time() - off) < 60
    # By the time of day of the other, this lease has run out long ago, or is of the day after tomorrow.
    for clock in (0, LEASE_SECONDS - 1):
        assert host.run("cp2", second, clock=clock) == 0
        assert (host.holder, host.figure("active")) == ("cp1", "0")
    ask(host.server, "one")
    assert host.run("cp2", second, clock=LEASE_SECONDS) == 0
    assert (host.holder, conditions(host.server, "one")) == ("cp2", ["Approved"])
    # And the other way round: whose time of day is off waits as long as anybody.
    for clock in (0, LEASE_SECONDS - 1):
        assert host.run("cp1", clock=clock, off=off) == 0
        assert host.holder == "cp2"
    ask(host.server, "two")
    assert host.run("cp1", clock=LEASE_SECONDS, off=off) == 0
    assert (host.holder, conditions(host.server, "two")) == ("cp1", ["Approved"])
    assert host.token == token


def test_a_clock_that_is_far_ahead_has_the_token_renewed_and_nothing_worse(host: ControlPlane) -> None:
    host.install()
    before = host.token
    ask(host.server, "one")
    time.sleep(1)
    assert host.run(off=4 * DAY) == 0
    assert host.token != before
    assert conditions(host.server, "one") == ["Approved"]
    # Of one that is as far behind, the token ends before it is renewed; a play with the right time makes another.
    made, ends = Rules().lifetime(host.token)
    assert not Rules().is_stale(host.token, ends - 4 * DAY)
    assert Rules().is_stale(host.token, made + (ends - made) / 2)


def test_one_that_was_killed_between_two_approvals_is_made_up_for(host: ControlPlane) -> None:
    host.install()
    ask(host.server, "one")
    ask(host.server, "two")

    def killed(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        StandingApprover(Rules(), PATHS, str(host.server.root), "cp1", killed).run()
    assert sorted(len(conditions(host.server, name)) for name in ("one", "two")) == [0, 1]
    assert host.run() == 0
    assert [conditions(host.server, name) for name in ("one", "two")] == [["Approved"], ["Approved"]]


def test_it_renews_its_own_token(host: ControlPlane) -> None:
    class Impatient(Rules):
        def is_stale(self, token: str, now: float) -> bool:
            return True

    host.install()
    before = host.path(KUBECONFIG).read_text()
    made, ends = Rules().lifetime(json.loads(before)["users"][0]["user"]["token"])
    assert ends - made == 7 * 86400
    assert not Rules().is_stale(json.loads(before)["users"][0]["user"]["token"], made + 3 * 86400)
    assert Rules().is_stale(json.loads(before)["users"][0]["user"]["token"], made + 4 * 86400)
    assert host.run(rules=Impatient()) == 0
    after = host.path(KUBECONFIG).read_text()
    assert after != before
    assert stat.S_IMODE(host.path(KUBECONFIG).stat().st_mode) == 0o600
    assert host.run() == 0
    assert not host.install().changed


@pytest.mark.parametrize("content", ["", "{}", "no kubeconfig"])
def test_a_token_that_is_of_no_use_is_replaced_by_the_module(host: ControlPlane, content: str) -> None:
    host.install()
    host.path(KUBECONFIG).write_text(content)
    assert host.run() == 1
    assert host.said[0].startswith("<3>")
    assert [change.target for change in host.install().plan.changes] == [KUBECONFIG]
    assert host.run() == 0


def test_without_a_policy_nothing_is_approved(host: ControlPlane) -> None:
    host.install()
    ask(host.server, "one")
    host.path(SETTINGS).write_text("spoiled")
    assert host.run() == 1
    assert "not a JSON object" in host.said[0]
    assert conditions(host.server, "one") == []


def test_pauses_that_are_too_long_are_refused(host: ControlPlane) -> None:
    with pytest.raises(Unusable, match="Choose from 5 s to 60 s"):
        host.install(interval=timedelta(minutes=5))


def test_the_program_runs_by_itself_and_an_idle_run_says_nothing(host: ControlPlane, tmp_path: Path) -> None:
    host.install()
    assert host.path(PROGRAM).read_bytes() == Programs().packed(ENTRIES, MAIN)
    below = {name: str(host.path(path)) for name, path in PATHS.items()}
    program = tmp_path / "approver.pyz"
    program.write_bytes(Programs().packed(ENTRIES, MAIN.replace(repr(PATHS), repr(below))))
    settings = json.loads(host.path(SETTINGS).read_text())
    host.path(SETTINGS).write_text(json.dumps({**settings, "figures": str(tmp_path / "figures.prom")}))
    ask(host.server, "one")
    done = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, check=False, cwd="/", env={})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<5>approved one of system:node:worker1")
    again = subprocess.run([sys.executable, "-I", str(program)], capture_output=True, text=True, check=True, cwd="/", env={})
    assert again.stdout == ""
