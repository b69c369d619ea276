# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubelet-start and kubelet-wait-bootstrap on hosts that join, against an API server on loopback."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.kubelet.kubelet_cases import run
from unit.kubelet.kubelet_cluster import BOOTSTRAP, CA, CONF, NODE, PEM, TOKEN, Cluster, Kubelet, kubeconfig
from unit.world import changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import bootstrap
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import BootstrapApi, NodeApi, TlsBootstrap
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.stored_config import stored_documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.bootstrap import KubeletWaitBootstrapPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

FILES = ["kubeadm-flags.env", "instance-config.yaml", "config.yaml"]
START = (KubeletStartPhase(), KubeletWaitBootstrapPhase((WORKER,)))
WAIT = KubeletWaitBootstrapPhase()
NODE_PATH = f"/api/v1/nodes/{NODE}"
ANNOTATION = {"kubeadm.alpha.kubernetes.io/cri-socket": "unix:///var/run/containerd/containerd.sock"}
LOCAL = "https://192.0.2.10:6443"


@dataclass
class Joiner:
    """A host with a kubelet and, unless a test takes it away, what discovery left."""

    root: Path
    cluster: Cluster
    kubelet: Kubelet

    def discover(self, server: str = "", token: str = TOKEN, authority: bytes = b"") -> None:
        path = self.root / BOOTSTRAP
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kubeconfig(server or self.cluster.server, authority or self.cluster.authority, {"token": token}))
        path.chmod(0o600)

    def run(self, phases: Any = START, becomes: str = "worker", check: bool = False, **kinds: Any) -> Any:
        files = Files(str(self.root))
        adapters = {
            "bootstrap_api": BootstrapApi(files, deadline=1),
            "node_api": NodeApi(files, deadline=1),
            "bootstrap": TlsBootstrap(files, self.kubelet),
        }
        cluster = {"controlPlaneEndpoint": self.cluster.endpoint, **kinds.pop("cluster", {})}
        join = {"timeouts": {"tlsBootstrap": "20ms"}, **kinds.pop("join", {})}
        kubelet = {"healthzPort": 0, **kinds.pop("kubelet", {})}
        return run(
            phases, self.root, self.kubelet, check, becomes=becomes, adapters=adapters, cluster=cluster, join=join, kubelet=kubelet, **kinds
        )

    def joined(self, **kinds: Any) -> Joiner:
        """The same host once it has joined; what was asked on the way is forgotten."""
        self.run(**kinds)
        self.forget()
        return self

    def forget(self) -> None:
        self.kubelet.restarts.clear()
        self.cluster.asked.clear()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Joiner]:
    cluster = Cluster(tmp_path / "cluster")
    root = tmp_path / "host"
    root.mkdir()
    found = Joiner(root, cluster, Kubelet(root=root, cluster=cluster))
    found.discover()
    yield found
    cluster.stop()


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the API server beside a joining kubelet answers, one after the other; at the end nobody is there."""
    answers: list[str] = []
    asked = bootstrap.answer_of

    def answer(url: str) -> str:
        if not url.startswith(LOCAL):
            return asked(url)
        assert url == f"{LOCAL}/readyz"
        return answers.pop(0) if answers else "connection refused"

    monkeypatch.setattr(bootstrap, "answer_of", answer)
    return answers


def targets(outcome: Any) -> list[str]:
    return [change.target.rpartition("/")[2] for change in outcome.plan.changes]


def test_a_worker_joins_in_one_call(host: Joiner) -> None:
    outcome = host.run()
    assert targets(outcome) == ["ca.crt", *FILES, "kubelet.service", "kubelet.conf", "bootstrap-kubelet.conf"]
    assert (host.root / CA).read_bytes() == host.cluster.authority
    assert {name: (host.root / name).stat().st_mode & 0o777 for name in (CA, CONF)} == {CA: 0o644, CONF: 0o600}
    assert not (host.root / BOOTSTRAP).exists()
    # kubeadm makes none for a worker either.
    assert not (host.root / "etc/kubernetes/manifests").exists()
    assert outcome.facts["bootstrap_wait"] == "the kubelet's TLS bootstrap is not finished"
    assert outcome.facts["bootstrap_seconds"] >= 0
    assert TOKEN not in repr(outcome)


def test_a_worker_that_has_joined_is_left_alone_and_nobody_is_asked(host: Joiner) -> None:
    host.joined()
    before = snapshot(host.root)
    outcome = host.run()
    assert (outcome.changed, outcome.plan.changes, host.kubelet.restarts, host.cluster.asked) == (False, (), [], [])
    assert (outcome.facts["bootstrap_wait"], outcome.facts["kubelet_restart"], snapshot(host.root)) == ("", "", before)


def test_check_mode_reports_the_same_and_touches_nothing(host: Joiner) -> None:
    before = snapshot(host.root)
    checked = host.run(check=True, version="v1.28.15")
    assert (snapshot(host.root), host.kubelet.restarts) == (before, [])
    real = host.run(version="v1.28.15")
    # The Node comes last; it may register meanwhile, and is annotated all the same.
    assert changes(checked)[:-1] == changes(real)[:-1]
    assert [(change[0], change[3]) for change in changes(checked)] == [(change[0], change[3]) for change in changes(real)]
    assert {**checked.facts, "bootstrap_seconds": 0} == {**real.facts, "bootstrap_seconds": 0}


@pytest.mark.parametrize("becomes", ["worker", "control_plane"])
def test_before_discovery_the_plan_can_be_shown_and_nothing_is_done(host: Joiner, becomes: str) -> None:
    (host.root / BOOTSTRAP).unlink()
    checked = host.run(becomes=becomes, check=True)
    shown = [change.target for change in checked.plan.real_changes]
    assert shown[0] == "/etc/kubernetes/pki/ca.crt"
    assert "kubelet.service" in shown
    with pytest.raises(Unusable, match=r"bootstrap-kubelet\.conf: it does not exist\. Run the discovery phase first"):
        host.run(becomes=becomes)
    assert (snapshot(host.root), host.kubelet.restarts, host.cluster.asked) == ({}, [], [])


def older(path: Path, than: float | None, seconds: float = 60.0) -> None:
    os.utime(path, ((than or 0) - seconds,) * 2)


# What a run that was killed, or somebody's hand, may leave; then what is done, and why the kubelet is restarted.
KILLED: list[tuple[str, Callable[[Joiner], Any], list[str], str]] = [
    ("before the file was removed", lambda it: it.discover(), ["kubelet.conf", "bootstrap-kubelet.conf"], ""),
    (
        "before the kubelet was let in",
        lambda it: [it.discover(), older(it.root / BOOTSTRAP, it.kubelet.started), (it.root / PEM).unlink(), it.cluster.nodes.clear()],
        ["kubelet.conf", "bootstrap-kubelet.conf"],
        "",
    ),
    (
        "before the kubelet was restarted with another token",
        lambda it: [
            it.discover(),
            older(it.root / BOOTSTRAP, it.kubelet.started, -0.1),
            (it.root / PEM).unlink(),
            it.cluster.nodes.clear(),
        ],
        ["kubelet.service", "kubelet.conf", "bootstrap-kubelet.conf"],
        "it still runs with an older bootstrap-kubelet.conf",
    ),
    (
        "kubelet.conf was lost, and the node is Ready",
        lambda it: [
            it.discover(),
            older(it.root / BOOTSTRAP, it.kubelet.started),
            (it.root / CONF).unlink(),
            it.cluster.register(ready="True"),
        ],
        ["kubelet.service", "kubelet.conf", "bootstrap-kubelet.conf"],
        "it has not taken up bootstrap-kubelet.conf",
    ),
    (
        "kubelet.conf is half written",
        lambda it: [
            it.discover(),
            older(it.root / BOOTSTRAP, it.kubelet.started),
            (it.root / CONF).write_text("apiVersion: v1\nclu"),
        ],
        ["kubelet.service", "kubelet.conf", "bootstrap-kubelet.conf"],
        "it has not taken up bootstrap-kubelet.conf",
    ),
    ("the CA was lost", lambda it: (it.root / CA).unlink(), ["ca.crt"], ""),
    ("the kubelet was stopped", lambda it: setattr(it.kubelet, "started", None), ["kubelet.service"], "it is not running"),
]


@pytest.mark.parametrize(("deed", "expected", "reason"), [case[1:] for case in KILLED], ids=[case[0] for case in KILLED])
def test_the_next_run_finishes_what_was_begun(host: Joiner, deed: Callable[[Joiner], Any], expected: list[str], reason: str) -> None:
    host.joined()
    host.kubelet.started = time.time() + 0.1
    deed(host)
    if not (host.root / PEM).exists() and not reason:
        # The kubelet that is still running gets in meanwhile.
        before_wait = host.run(KubeletStartPhase())
        assert not before_wait.changed
        host.kubelet.get_in()
    outcome = host.run()
    assert (targets(outcome), outcome.facts["kubelet_restart"]) == (expected, reason)
    assert (host.root / CONF).exists()
    assert not (host.root / BOOTSTRAP).exists()
    assert (host.root / CA).read_bytes() == host.cluster.authority
    assert not host.run().changed


def test_the_file_stays_while_the_kubelet_has_no_certificate(host: Joiner) -> None:
    host.kubelet.gets_in = False
    with pytest.raises(Unusable, match="the kubelet has no certificate of the cluster after 0 s"):
        host.run()
    assert (host.root / BOOTSTRAP).exists()
    host.kubelet.restarts.clear()
    host.kubelet.get_in()
    outcome = host.run()
    assert (targets(outcome), host.kubelet.restarts) == (["kubelet.conf", "bootstrap-kubelet.conf"], [])


@pytest.mark.parametrize("ready", ["True", "False", "Unknown", ""])
def test_a_name_is_refused_only_where_a_ready_node_has_it(host: Joiner, ready: str) -> None:
    host.cluster.register(ready=ready)
    if ready != "True":
        assert host.run().changed
        return
    before = snapshot(host.root)
    with pytest.raises(Unusable, match="Node cp1: the cluster has a node of this name, and it is Ready"):
        host.run()
    with pytest.raises(Unusable, match="Node cp1: the cluster has a node of this name, and it is Ready"):
        host.run(becomes="control_plane")
    assert (snapshot(host.root), host.kubelet.restarts) == (before, [])


def test_the_ready_node_of_a_host_that_has_joined_is_its_own(host: Joiner) -> None:
    host.joined()
    host.cluster.register(ready="True")
    host.discover()
    assert targets(host.run()) == ["kubelet.conf", "bootstrap-kubelet.conf"]


@pytest.mark.parametrize("name", ["cp11", "cp", "other"])
def test_a_certificate_of_another_node_proves_nothing(host: Joiner, name: str) -> None:
    (host.root / PEM).parent.mkdir(parents=True)
    (host.root / PEM).write_bytes(host.cluster.admit(name))
    host.cluster.register(ready="True")
    with pytest.raises(Unusable, match="it is Ready"):
        host.run()


def test_credentials_that_are_refused_are_named_and_not_shown(host: Joiner) -> None:
    host.discover(token="abcdef.0123456789abcdef")
    before = snapshot(host.root)
    with pytest.raises(Unusable, match=r"bootstrap-kubelet\.conf: the API server does not accept its credentials") as refusal:
        host.run()
    assert "0123456789abcdef" not in str(refusal.value)
    assert snapshot(host.root) == before


def test_a_ca_that_is_there_is_kept(host: Joiner, tmp_path: Path) -> None:
    other = Cluster(tmp_path / "other")
    other.stop()
    path = host.root / CA
    path.parent.mkdir(parents=True)
    path.write_bytes(other.authority + host.cluster.authority)
    assert "ca.crt" not in targets(host.run())
    assert path.read_bytes() == other.authority + host.cluster.authority
    # Once it has joined, the file is not judged any more: a CA may be exchanged.
    path.write_bytes(other.authority)
    assert not host.run().changed


def test_the_ca_of_another_cluster_is_refused(host: Joiner, tmp_path: Path) -> None:
    other = Cluster(tmp_path / "other")
    other.stop()
    (host.root / CA).parent.mkdir(parents=True)
    (host.root / CA).write_bytes(other.authority)
    before = snapshot(host.root)
    with pytest.raises(Unusable, match=r"/etc/kubernetes/pki/ca\.crt: it is another certificate authority"):
        host.run()
    assert (snapshot(host.root), host.kubelet.restarts) == (before, [])


def test_the_ca_goes_where_the_document_says(host: Joiner) -> None:
    host.run(join={"caCertPath": "/srv/cluster-ca.crt"})
    assert (host.root / "srv/cluster-ca.crt").read_bytes() == host.cluster.authority
    assert not (host.root / CA).exists()


GATE = "ControlPlaneKubeletLocalMode"


@pytest.mark.parametrize(
    ("version", "gates", "local"),
    [
        ("v1.22.17", {}, False),
        ("v1.30.5", {}, False),
        ("v1.31.4", {}, False),
        ("v1.31.4", {GATE: True}, True),
        ("v1.33.13", {}, True),
        ("v1.33.13", {GATE: False}, False),
        ("v1.35.8", {GATE: False}, True),
        ("v1.37.1", {}, True),
    ],
)
def test_a_control_plane_is_led_to_its_own_api_server(host: Joiner, version: str, gates: dict[str, bool], local: bool) -> None:
    host.kubelet.gets_in = False
    outcome = host.run(becomes="control_plane", version=version, cluster={"featureGates": gates})
    expected = [*(["bootstrap-kubelet.conf"] if local else []), "manifests", "kubelet.service"]
    assert [name for name in targets(outcome) if name in ("bootstrap-kubelet.conf", "manifests", "kubelet.service")] == expected
    found = yaml.safe_load((host.root / BOOTSTRAP).read_text())
    assert found["clusters"][0]["cluster"]["server"] == (LOCAL if local else host.cluster.server)
    assert found["users"][0]["user"] == {"token": TOKEN}
    assert (host.root / BOOTSTRAP).stat().st_mode & 0o777 == 0o600
    assert (host.root / "etc/kubernetes/manifests").stat().st_mode & 0o777 == 0o700
    # The kubelet takes the server over into its own file.
    assert LOCAL in (host.root / CONF).read_text() if local else host.cluster.server in (host.root / CONF).read_text()
    assert TOKEN not in repr(outcome)
    host.forget()
    again = host.run(becomes="control_plane", version=version, cluster={"featureGates": gates})
    assert (again.changed, host.kubelet.restarts) == (False, [])
    # Whether its name is taken is asked where somebody answers.
    assert ("bootstrap", "GET", NODE_PATH) in host.cluster.asked


def test_a_worker_is_never_led_to_itself(host: Joiner) -> None:
    host.run()
    assert host.cluster.server in (host.root / CONF).read_text()


def test_a_control_plane_that_has_joined_keeps_its_files(host: Joiner) -> None:
    host.run(becomes="control_plane")
    host.kubelet.get_in()
    host.run(WAIT, becomes="control_plane")
    host.forget()
    before = snapshot(host.root)
    for phases in (START, WAIT):
        assert not host.run(phases, becomes="control_plane").changed
    assert (snapshot(host.root), host.kubelet.restarts, host.cluster.asked) == (before, [], [])


def test_a_control_plane_waits_in_a_phase_of_its_own(host: Joiner) -> None:
    host.kubelet.gets_in = False
    assert "bootstrap_wait" not in host.run(becomes="control_plane").facts
    checked = host.run(WAIT, becomes="control_plane", check=True)
    assert targets(checked) == ["kubelet.conf", "bootstrap-kubelet.conf"]
    assert (host.root / BOOTSTRAP).exists()
    host.kubelet.get_in()
    outcome = host.run(WAIT, becomes="control_plane")
    assert (targets(outcome), (host.root / BOOTSTRAP).exists()) == (["kubelet.conf", "bootstrap-kubelet.conf"], False)


@pytest.mark.parametrize(
    ("answers", "restarts"),
    [
        ([], 0),
        (["connection refused", "it answers with status 500"], 0),
        (["connection refused", ""], 1),
        # Whether it gets in then or not, it is left alone.
        (["", "", ""], 1),
    ],
)
def test_a_kubelet_is_woken_once_when_its_api_server_is_there(host: Joiner, beside: list[str], answers: list[str], restarts: int) -> None:
    host.kubelet.gets_in = False
    host.run(becomes="control_plane")
    host.forget()
    beside += answers
    with pytest.raises(Unusable, match="the kubelet has no certificate of the cluster"):
        host.run(WAIT, becomes="control_plane", join={"timeouts": {"tlsBootstrap": "1s"}})
    assert len(host.kubelet.restarts) == restarts


def test_a_woken_kubelet_gets_in(host: Joiner, beside: list[str]) -> None:
    host.kubelet.gets_in = False
    host.run(becomes="control_plane")
    host.forget()
    host.kubelet.gets_in = True
    beside += ["connection refused", ""]
    assert host.run(WAIT, becomes="control_plane", join={"timeouts": {"tlsBootstrap": "30s"}}).facts["bootstrap_seconds"] < 30
    assert not (host.root / BOOTSTRAP).exists()


def test_a_kubelet_that_gets_in_by_itself_registers_no_later(host: Joiner, beside: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    host.kubelet.gets_in = False
    host.run(becomes="control_plane")
    host.forget()
    refused = bootstrap.answer_of

    def answer(url: str) -> str:
        host.kubelet.get_in()
        return refused(url)

    monkeypatch.setattr(bootstrap, "answer_of", answer)
    host.run(WAIT, becomes="control_plane", join={"timeouts": {"tlsBootstrap": "30s"}})
    assert len(host.kubelet.restarts) == 1


def test_an_older_kubelet_talks_to_the_cluster_and_is_not_woken(host: Joiner, beside: list[str]) -> None:
    host.kubelet.gets_in = False
    host.run(becomes="control_plane", version="v1.28.15")
    host.forget()
    beside += [""]
    with pytest.raises(Unusable, match="the kubelet has no certificate of the cluster"):
        host.run(WAIT, becomes="control_plane", version="v1.28.15", join={"timeouts": {"tlsBootstrap": "1s"}})
    assert (host.kubelet.restarts, beside) == ([], [""])


def test_the_first_control_plane_has_nothing_to_wait_for(host: Joiner) -> None:
    before = snapshot(host.root)
    outcome = host.run(WAIT, becomes="init")
    assert (outcome.changed, outcome.facts, snapshot(host.root)) == (False, {}, before)


@pytest.mark.parametrize(
    ("version", "gates", "annotated"),
    [
        ("v1.22.17", {}, True),
        ("v1.31.4", {}, True),
        ("v1.33.13", {}, True),
        ("v1.33.13", {"NodeLocalCRISocket": True}, False),
        ("v1.34.10", {}, False),
        ("v1.34.10", {"NodeLocalCRISocket": False}, True),
        ("v1.36.4", {"NodeLocalCRISocket": False}, False),
        ("v1.37.1", {}, False),
    ],
)
def test_the_runtime_is_noted_on_the_node_as_the_kubelet_itself(
    host: Joiner, version: str, gates: dict[str, bool], annotated: bool
) -> None:
    given: dict[str, Any] = {"version": version, "cluster": {"featureGates": gates}}
    if version == "v1.22.17":
        given["join"] = {"nodeRegistration": {"criSocket": next(iter(ANNOTATION.values()))}}
    outcome = host.run(**given)
    assert ("cp1" in {change.target.rpartition(" ")[2] for change in outcome.plan.changes}) is annotated
    assert host.cluster.nodes[NODE]["metadata"].get("annotations", {}) == (ANNOTATION if annotated else {})
    assert [user for user, method, _path in host.cluster.asked if method == "PATCH"] == [f"system:node:{NODE}"] * annotated
    assert not host.run(**given).changed
    host.cluster.nodes[NODE]["metadata"]["annotations"] = {"mine": "kept"}
    assert host.run(**given).changed is annotated
    assert host.cluster.nodes[NODE]["metadata"]["annotations"] == {"mine": "kept", **(ANNOTATION if annotated else {})}


def condition(kind: str, message: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "message": message}]}


@pytest.mark.parametrize(
    ("filed", "told"),
    [
        ([("csr-a", {})], "its request csr-a waits for approval"),
        ([("csr-a", condition("Denied", "not today"))], "its request csr-a has been denied: not today"),
        ([("csr-a", condition("Failed", "no CA"))], "its request csr-a has failed: no CA"),
        ([("csr-a", condition("Approved"))], "its request csr-a is approved, and nobody has signed it"),
        ([("csr-a", {**condition("Approved"), "certificate": "x"})], "its request csr-a was granted"),
        ([("csr-a", condition("Denied")), ("csr-b", {})], "its request csr-b waits for approval"),
        ([("csr-a", {}), ("other", {"name": "cp11"})], "its request csr-a waits for approval"),
        ([("other", {"name": "cp11"}), ("serving", {"signer": "kubernetes.io/kubelet-serving"})], "the cluster has no request"),
        ([], "the cluster has no request for a certificate of system:node:cp1"),
    ],
)
def test_a_kubelet_that_is_not_let_in_is_explained(host: Joiner, filed: list[tuple[str, dict[str, Any]]], told: str) -> None:
    for request, given in filed:
        host.cluster.file(request, **given)
    stamp = "E1116 15:56:5{0}.1{0}     123 kubelet.go:1] "
    repeated = tuple(stamp.format(second) + f'"Nobody knows me" err="attempt {second}"' for second in range(10))
    host.kubelet.lines = (stamp.format(1) + '"Cannot ask" err="refused"', *repeated)
    host.kubelet.gets_in = False
    with pytest.raises(Unusable, match=told) as failure:
        host.run()
    text = str(failure.value)
    assert text.startswith("/etc/kubernetes/kubelet.conf: the kubelet has no certificate of the cluster after 0 s\n")
    assert (text.count("Nobody knows me"), text.count("Cannot ask"), "attempt 9" in text) == (1, 1, True)
    # Only of the process that runs: an earlier one may have complained of what is mended.
    assert host.kubelet.journals == [host.kubelet.started]
    assert TOKEN not in text


def test_requests_that_must_not_be_seen_are_no_second_failure(host: Joiner) -> None:
    host.cluster.forbidden.add("/apis/certificates.k8s.io/v1/certificatesigningrequests")
    host.kubelet.gets_in = False
    with pytest.raises(Unusable, match=r"what became of its request cannot be seen: .*bootstrap cannot do that"):
        host.run()


def test_a_kubelet_that_is_not_healthy_is_waited_for_first(host: Joiner) -> None:
    host.kubelet.lines = ("its last words",)
    # Nobody listens on port 1.
    with pytest.raises(Unusable, match=r"http://127.0.0.1:1/healthz: the kubelet is not healthy after 0 s: connection refused\n"):
        host.run(kubelet={"healthzPort": 1}, join={"timeouts": {"kubeletHealthCheck": "20ms"}})
    assert (host.root / BOOTSTRAP).exists()
    # Up to 1.29 a certificate was enough.
    assert host.run(kubelet={"healthzPort": 1}, version="v1.29.15").changed


def test_configuration_is_fetched_with_credentials_that_lead_somewhere(host: Joiner) -> None:
    """The kubelet writes kubelet.conf before it has the certificate that it names."""
    files = Files(str(host.root))
    assert stored_documents(Files(str(host.root / "empty")), str) == {}
    host.kubelet.write_kubeconfig(host.cluster.server)
    with pytest.raises(Unusable, match="ConfigMap kube-system/kubeadm-config: the cluster has no such object"):
        stored_documents(files, str)
    assert {user for user, _method, _path in host.cluster.asked} == {"bootstrap"}
    # Nobody's defaults take the place of what the cluster would say.
    (host.root / BOOTSTRAP).unlink()
    with pytest.raises(Unusable, match=r"/etc/kubernetes/kubelet\.conf: it points at .*, which does not exist"):
        stored_documents(files, str)


def test_settings_of_the_joining_host_reach_its_files(host: Joiner) -> None:
    taints = [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    host.run(join={"nodeRegistration": {"taints": taints, "kubeletExtraArgs": [{"name": "v", "value": "2"}]}})
    flags = (host.root / "var/lib/kubelet/kubeadm-flags.env").read_text()
    assert flags == 'KUBELET_KUBEADM_ARGS="--register-with-taints=a=b:NoSchedule --v=2"\n'
