# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node that asks a real API server for its serving certificate, and replaces it in time."""

from __future__ import annotations

import shutil
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.serving_request import NodeRequests, ServingRequests
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import API_VERSION, KIND, SigningApi
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World, diff
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.decision import decided
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.node import KubeletServingCertPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import policy_of
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, SUPER_ADMIN, ApiServer, our_api
from ansible_collections.kubephase.cluster.tests.parity.serving import SIGNER, Signer, forget, has_addresses, until_nodes_may_ask, user
from ansible_collections.kubephase.cluster.tests.unit.serving.filed import USAGES, csr, filed
from ansible_collections.kubephase.cluster.tests.unit.world import Host

__all__ = ["our_api"]
pytestmark = ONE_WORKER

CONFIG = "var/lib/kubelet/config.yaml"
PKI = "var/lib/kubelet/pki"
CURRENT = f"{PKI}/kubelet-server-current.pem"
LINK = f"/{CURRENT}"
POLICY = policy_of({"worker1": {"ip_addresses": ["192.0.2.21", "192.0.2.31"]}})


@dataclass
class Kubelet:
    """A service that was started long ago, and remembers that it was restarted."""

    started: float = field(default_factory=lambda: time.time() - 3600)
    restarts: int = 0

    applies = (RestartService,)

    def state(self, name: str) -> ServiceState:
        return ServiceState(name, known=True, active=True, enabled=True, started=self.started)

    def apply(self, action: Any) -> None:
        self.restarts += 1
        self.started = time.time() + 1


@dataclass
class Later(Clock):
    """A clock that is ahead."""

    ahead: timedelta = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


@dataclass
class Node:
    """worker1: its files, its kubelet and its way to the API server."""

    server: ApiServer
    root: Path
    kubelet: Kubelet = field(default_factory=Kubelet)
    ahead: timedelta = timedelta(0)
    version: str = "v1.37.1"
    settings: dict[str, Any] = field(default_factory=dict)

    def run(self, manager: str = "collection", check: bool = False, **options: Any) -> Outcome:
        files = Files(str(self.root))
        api = NodeRequests(files)
        world = World(
            files=files,
            node_api=api,
            serving=ServingRequests(files, api),
            systemd=self.kubelet,
            clock=Later(self.ahead),
            host=Host(name="worker1"),
        )
        documents = {"ClusterConfiguration": {"kubernetesVersion": self.version}, "KubeletConfiguration": self.settings}
        given = {"manager": manager, "algorithm": "ECDSA-P256", "timeout": timedelta(seconds=20), **options}
        return execute(KubeletServingCertPhase(), world, documents, given, check)

    def configure(self, **settings: Any) -> None:
        (self.root / CONFIG).parent.mkdir(parents=True, exist_ok=True)
        (self.root / CONFIG).write_text(yaml.safe_dump({"kind": "KubeletConfiguration", "healthzPort": 0, **settings}))

    @property
    def config(self) -> Any:
        return yaml.safe_load((self.root / CONFIG).read_text())

    @property
    def certificate(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.root / CURRENT).read_bytes())

    def stored(self) -> list[str]:
        return sorted(path.name for path in (self.root / PKI).iterdir())


@pytest.fixture(name="node")
def _node(our_api: ApiServer, tmp_path: Path) -> Iterator[Node]:
    until_nodes_may_ask(our_api)
    user(our_api, "system:node:worker1", ("system:nodes",), tmp_path, "/etc/kubernetes/kubelet.conf")
    (tmp_path / "etc/kubernetes/pki").mkdir()
    shutil.copy(our_api.pki / "ca.crt", tmp_path / "etc/kubernetes/pki/ca.crt")
    node = Node(our_api, tmp_path)
    node.configure()
    has_addresses(our_api, "192.0.2.21")
    yield node
    forget(our_api)


@contextmanager
def approving(server: ApiServer, deny_first: int = 0, lifetime: timedelta = timedelta(days=1)) -> Iterator[list[Manifest]]:
    """A control plane that decides on requests and signs them."""
    signing, ended, seen = SigningApi(Files(str(server.root))), threading.Event(), []

    def decide() -> None:
        while not ended.wait(0.1):
            for request in signing.requests(SIGNER, is_open):
                decision = decided(request, POLICY if len(seen) >= deny_first else policy_of({}), deny=True)
                seen.append(request)
                if decision.action is not None:
                    signing.apply(decision.action)

    signer, thread = Signer(server, lifetime), threading.Thread(target=decide, daemon=True)
    signer.start()
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        signer.stop()


def test_a_certificate_is_asked_for_stored_and_shown_to_the_kubelet(node: Node) -> None:
    looked = node.run(check=True)
    assert [change.target for change in looked.plan.changes] == [LINK, "/var/lib/kubelet/config.yaml", "kubelet.service"]
    assert looked.plan.changes[0].reason == "there is no certificate"
    assert not (node.root / PKI).exists()
    with approving(node.server) as seen:
        done = node.run()
    (request,) = seen
    assert request["spec"]["usages"] == ["digital signature", "server auth"]
    assert (request["spec"]["username"], request["metadata"]["name"][:4]) == ("system:node:worker1", "csr-")
    assert [str(each.value) for each in node.certificate.subject] == ["system:nodes", "system:node:worker1"]
    (dated, link) = node.stored()
    assert (dated[:15], link) == ("kubelet-server-", "kubelet-server-current.pem")
    assert (node.root / CURRENT).is_symlink()
    assert stat.S_IMODE((node.root / PKI / dated).stat().st_mode) == 0o600
    assert (node.config["tlsCertFile"], node.config["tlsPrivateKeyFile"]) == (LINK, LINK)
    assert node.kubelet.restarts == 1
    assert done.facts["certificate"]["names"] == ["worker1", "192.0.2.21"]
    assert done.facts["certificate"]["trusted"]
    assert 0 < int(done.facts["figures"]["ttl_seconds"]) <= 86400
    again = node.run()
    assert (again.changed, again.facts["certificate"]["names"]) == (False, ["worker1", "192.0.2.21"])
    assert len(node.stored()) == 2
    assert "PRIVATE KEY" not in repr(done.plan) + repr(diff(done.plan)) + repr(done.facts)


def test_an_address_that_is_added_leads_to_a_new_certificate(node: Node) -> None:
    with approving(node.server):
        node.run()
        has_addresses(node.server, "192.0.2.21", "192.0.2.31")
        time.sleep(1)
        done = node.run()
    assert done.plan.changes[0].reason == "it lacks the IP address 192.0.2.31"
    assert done.facts["certificate"]["names"] == ["worker1", "192.0.2.21", "192.0.2.31"]
    assert done.facts["figures"]["rotation_seconds"] >= 300
    # From 1.31 on the kubelet reads the file again by itself, once the one that it watches is gone.
    assert node.kubelet.restarts == 1
    assert len(node.stored()) == 2
    assert not node.run().changed


def test_a_run_that_was_killed_before_the_old_pair_was_gone_is_made_up_for(node: Node) -> None:
    with approving(node.server):
        node.run()
        (old, _link) = node.stored()
        content = (node.root / PKI / old).read_bytes()
        has_addresses(node.server, "192.0.2.21", "192.0.2.31")
        time.sleep(1)
        node.run()
    assert old not in node.stored()
    (node.root / PKI / old).write_bytes(content)
    new = (node.root / CURRENT).resolve().name
    assert [change.target for change in node.run(check=True).plan.changes] == [f"/{PKI}/{old}"]
    node.run()
    assert node.stored() == [new, "kubelet-server-current.pem"]
    assert (node.kubelet.restarts, node.run().changed) == (1, False)


def test_two_certificates_of_one_second_do_not_take_each_other_away(node: Node) -> None:
    with approving(node.server):
        node.run()
        (old, _link) = node.stored()
        target = node.root / PKI / old
        for moment in range(3):
            # All names that the next one may get.
            name = datetime.now() + timedelta(seconds=moment)
            (node.root / PKI / f"kubelet-server-{name:%Y-%m-%d-%H-%M-%S}.pem").write_bytes(target.read_bytes())
        has_addresses(node.server, "192.0.2.21", "192.0.2.31")
        node.run()
    assert len(node.stored()) == 2
    assert (node.root / CURRENT).exists()
    assert not node.run().changed


@pytest.mark.parametrize(("hours", "due"), [(-24 * 30, False), (-1, False), (1, False), (25, True)])
def test_a_clock_that_is_off_asks_early_or_late_by_just_as_much(node: Node, hours: int, due: bool) -> None:
    """A certificate of a day; by a clock that is more than that ahead it ends before it begins."""
    with approving(node.server) as seen:
        right = node.run()
        node.ahead = timedelta(hours=hours)
        found = node.run(check=True)
        assert found.changed is due
        if not due:
            assert found.facts["rotation"]["due"] == right.facts["rotation"]["due"]
            return
        assert found.plan.changes[0].reason == "it has expired"
        assert found.facts["figures"]["ttl_seconds"] == "+Inf"
        # One request a turn, and not one after the other.
        time.sleep(1)
        node.run()
    assert len(seen) == 2
    assert node.kubelet.restarts == 1


@pytest.mark.parametrize(("part", "due"), [(0.69, False), (0.91, True), (1.5, True)])
def test_it_is_replaced_when_its_life_nears_the_end(node: Node, part: float, due: bool) -> None:
    with approving(node.server):
        node.run()
    life = timedelta(days=1, minutes=5)
    node.ahead = life * part - timedelta(minutes=5)
    assert node.run(check=True).changed is due


def test_kubelets_that_do_not_read_the_file_again_are_restarted(node: Node) -> None:
    node.version = "v1.30.14"
    with approving(node.server):
        node.run()
        assert node.kubelet.restarts == 1
        assert not node.run().changed
        has_addresses(node.server, "192.0.2.21", "192.0.2.31")
        time.sleep(1)
        node.run()
    assert node.kubelet.restarts == 2
    # A run that was killed before the restart is made up for.
    node.kubelet.started = time.time() - 3600
    assert [change.target for change in node.run().plan.changes] == ["kubelet.service"]


def test_a_request_that_is_denied_is_made_anew(node: Node) -> None:
    with approving(node.server, deny_first=1) as seen:
        done = node.run()
    assert len(seen) == 2
    assert done.facts["figures"]["renew_errors"] == 1


def test_nobody_signs(node: Node) -> None:
    with pytest.raises(ManyUnusable, match="nobody has approved it") as late:
        node.run(timeout=timedelta(seconds=1))
    assert late.value.facts["request"]["state"] == "pending"
    assert not (node.root / PKI).exists()
    found = node.run(check=True)
    assert found.facts["request"]["state"] == "pending"
    assert found.facts["figures"]["ttl_seconds"] == "+Inf"


def test_before_a_node_has_addresses_nothing_is_asked(node: Node) -> None:
    has_addresses(node.server)
    found = node.run()
    assert not found.changed
    assert "no addresses" in found.warnings[-1]
    assert node.server.api(SUPER_ADMIN).list(API_VERSION, KIND) == ()


def test_without_credentials_the_manager_does_not_start(node: Node) -> None:
    (node.root / "etc/kubernetes/kubelet.conf").unlink()
    found = node.run()
    assert (found.changed, found.facts["at_work"]) == (False, False)
    assert "leads to no API server" in found.warnings[-1]


@pytest.mark.parametrize("spoil", ["certificate", "key", "link"])
def test_a_pair_that_cannot_be_used_is_replaced(node: Node, spoil: str) -> None:
    with approving(node.server):
        node.run()
        (dated, _link) = node.stored()
        path = node.root / PKI / dated
        if spoil == "link":
            path.unlink()
        elif spoil == "certificate":
            path.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        else:
            path.write_bytes(path.read_bytes().partition(b"-----BEGIN EC")[0])
        time.sleep(1)
        assert node.run().changed
    assert node.certificate is not None
    assert not node.run().changed


def test_a_file_in_the_place_of_the_link_is_refused(node: Node) -> None:
    (node.root / PKI).mkdir()
    (node.root / CURRENT).write_text("mine")
    with pytest.raises(Unusable, match="must be a symbolic link"):
        node.run()


def test_a_switch_that_was_interrupted_is_made_good(node: Node) -> None:
    with approving(node.server):
        node.run()
        (node.root / CURRENT).rename(node.root / PKI / "kubelet-server-updated.pem")
        time.sleep(1)
        node.run()
    assert "kubelet-server-updated.pem" not in node.stored()
    assert not node.run().changed


def test_turning_it_off_leaves_nothing(node: Node) -> None:
    before = node.config
    with approving(node.server):
        node.run()
    assert [change.target for change in node.run("self-signed", check=True).plan.changes][:2] == [f"/{CONFIG}", "kubelet.service"]
    node.run("self-signed")
    assert (node.config, node.stored()) == (before, [])
    assert not node.run("self-signed").changed


def test_the_kubelet_as_the_manager_is_looked_at_and_left_alone(node: Node) -> None:
    with pytest.raises(Unusable, match="serverTLSBootstrap: it is not on"):
        node.run("kubelet")
    node.settings = {"serverTLSBootstrap": True}
    with pytest.raises(Unusable, match="serverTLSBootstrap is not on there"):
        node.run("kubelet")
    node.configure(serverTLSBootstrap=True)
    found = node.run("kubelet")
    assert (found.changed, found.facts["certificate"], found.facts["request"]) == (False, {}, {})
    NodeRequests(Files(str(node.root))).file(_kubelets_request(node))
    assert node.run("kubelet").facts["request"]["state"] == "pending"
    with pytest.raises(Unusable, match="asks for its certificate itself"):
        node.run("collection")


def _kubelets_request(node: Node) -> dict[str, Any]:
    spec = filed(csr(), usages=USAGES)["spec"]
    return {name: spec[name] for name in ("request", "signerName", "usages")}
