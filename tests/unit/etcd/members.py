# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Control planes on loopback, each with an address, a root directory and a kubelet that runs nothing but etcd."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import Etcd, EtcdRefusal
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd_join import EtcdMembership
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import Issuer
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._etcd.cluster import access, client_url, peer_url
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import ContainerState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import EtcdView, JoinEtcd, WaitForEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import settle
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.tests.parity.apiserver_programs import end_with_parent, program

LEARNERS, VOTERS = "1.37.1", "1.28.15"
CERTIFICATES = ["etcd/ca", "etcd/server", "etcd/peer", "etcd/healthcheck-client"]
CANARY = base64.b64encode(b"canary").decode()
MANIFEST = "etc/kubernetes/manifests/etcd.yaml"


def address(number: int) -> str:
    """An address of loopback that only this process uses, because etcd's ports are fixed."""
    process = os.getpid()
    return f"127.{64 + process % 128}.{process // 128 % 250}.{number}"


def resolved(root: Path, number: int, release: str, **cluster: Any) -> Documents:
    """The documents of a control plane; loopback may not be advertised, so it is put in by hand."""
    wanted = {"kubernetesVersion": f"v{release}", "controlPlaneEndpoint": "192.0.2.1:6443", "encryptionAlgorithm": "ECDSA-P256", **cluster}
    if release == VOTERS:
        del wanted["encryptionAlgorithm"]
    documents = {"ClusterConfiguration": wanted, "JoinConfiguration": {"controlPlane": {}}}
    world = World(files=Files(str(root)), host=Host(name=f"cp{number}"))
    docs = settle(documents, world, {"becomes": "init" if number == 1 else "control_plane"})
    return replace(docs, node=replace(docs.node, advertise_address=address(number)))


class Pods:
    """An API server that knows the etcd pods of some hosts, and nothing else."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def talk_to(self, server: str) -> None:
        assert server == ""

    def list(self, api_version: str, kind: str, namespace: str = "", label_selector: str = "") -> tuple[Any, ...]:
        assert (api_version, kind, namespace, label_selector) == ("v1", "Pod", "kube-system", "component=etcd,tier=control-plane")
        name = "kubeadm.kubernetes.io/etcd.advertise-client-urls"
        return tuple({"metadata": {"annotations": {name: url}}} for url in self.urls)


@dataclass
class ControlPlane:
    """A host: whatever manifest of etcd lies in its root is run, as a kubelet does."""

    number: int
    root: Path
    docs: Documents
    pods: Pods
    held: bool = False  # the kubelet does not look
    process: subprocess.Popen[bytes] | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.files = Files(str(self.root))
        self.etcd = Etcd(self.files)
        self._lock = threading.Lock()
        self._kubelet = threading.Thread(target=self._watch, daemon=True)
        self._kubelet.start()

    @property
    def peer(self) -> str:
        return peer_url(self.docs)

    @property
    def client(self) -> str:
        return client_url(self.docs)

    @property
    def log(self) -> Path:
        return self.root / "etcd.log"

    @property
    def manifest(self) -> Path:
        return self.root / MANIFEST

    @property
    def data(self) -> Path:
        return self.root / "var/lib/etcd"

    def world(self) -> World:
        """Adapters with this host's root."""
        membership = EtcdMembership(self.files, self.etcd, self)
        return World(files=self.files, api=self.pods, etcd=self.etcd, membership=membership, issuer=Issuer(self.files), clock=Clock())

    def run(self, phase: Any, check: bool = False, changed: Mapping[str, Any] | None = None, **options: Any) -> tuple[Plan, dict[str, Any]]:
        """Run a phase on this host; its plan and its facts. Waits end sooner than the release's, and may be changed further."""
        world = self.world()
        plan = phase.plan(self.docs, phase.read(self.docs, world, options), options)
        shorter = {JoinEtcd: {"start_seconds": 40.0, "change_seconds": 40.0}, WaitForEtcd: {"seconds": 20.0}}
        for kind, fields in shorter.items():
            plan = replace(
                plan,
                changes=tuple(
                    replace(change, action=replace(change.action, **{**fields, **(changed or {})}))
                    if isinstance(change.action, kind)
                    else change
                    for change in plan.changes
                ),
            )
        learned = {} if check else interpreter.apply(plan, world)
        return plan, {**plan.facts, **learned}

    def look(self) -> EtcdView:
        """The cluster as this host's own etcd, or whoever of the pods answers, tells it."""
        return self.etcd.look((self.client, *self.pods.urls), access(self.docs))

    def call(self, path: str, body: Mapping[str, Any]) -> Any:
        """A call of the gateway that phases do not make."""
        return self.etcd._call(self.client, access(self.docs), path, body)

    def put_canary(self) -> None:
        self.call("kv/put", {"key": CANARY, "value": CANARY})

    def canary(self) -> bool:
        """Whether a majority still has what was written."""
        return len(self.call("kv/range", {"key": CANARY}).get("kvs", ())) == 1

    def bring_certificates(self, authority: Path | None = None) -> None:
        """Make the certificates of this host, with another host's authority where one is given."""
        pki = self.root / "etc/kubernetes/pki/etcd"
        pki.mkdir(parents=True, exist_ok=True)
        if authority is not None:
            for name in ("ca.crt", "ca.key"):
                shutil.copy(authority / "etc/kubernetes/pki/etcd" / name, pki / name)
        self.run(CertsPhase(), names=CERTIFICATES)
        (self.root / "etc/kubernetes/admin.conf").write_text("only its being there counts")

    def begin(self) -> None:
        """Start a cluster of one member, as init does."""
        self.run(StaticPodPhase(), components=["etcd"])
        self.wait(lambda: self.etcd.look((self.client,), access(self.docs)).agreed)
        self.pods.urls.append(self.client)
        self.put_canary()

    def wait(self, done: Callable[[], bool], seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                if done():
                    return
            except Exception as error:
                found: object = error
            else:
                found = "not yet"
            assert time.monotonic() < end, f"{found}\n{self.log.read_text()[-2000:] if self.log.exists() else 'no log'}"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill etcd and keep the kubelet from starting it again."""
        self.held = True
        with self._lock:
            self._end()

    def revive(self) -> None:
        self.held = False

    def stop(self) -> None:
        self.stopped.set()
        self._kubelet.join()
        with self._lock:
            self._end()

    # What a container runtime would say.
    def containers(self, endpoint: str, component: str) -> tuple[ContainerState, ...]:
        return (ContainerState("id", component, "exited", 1),) if self.log.exists() else ()

    def logs(self, endpoint: str, container: str, lines: int) -> str:
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def _end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _watch(self) -> None:
        while not self.stopped.wait(0.05):
            with self._lock:
                if not self.manifest.is_file():
                    self._end()
                elif not self.held and (self.process is None or self.process.poll() is not None):
                    self._start()

    def _start(self) -> None:
        words = yaml.safe_load(self.manifest.read_text())["spec"]["containers"][0]["command"][1:]
        # 127.0.0.1 is one for all hosts here; everything else is as the manifest says.
        kept = [word for word in words if not word.startswith(("--listen-metrics-urls", "--listen-client-urls"))]
        own = [word.replace("=/", f"={self.root}/") for word in kept] + [f"--listen-client-urls={self.client}", "--unsafe-no-fsync"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(program("etcd", str(self.docs.known_release.version).lstrip("v"))), *own],
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
                preexec_fn=end_with_parent,
            )


class Site:
    """The control planes of one test."""

    def __init__(self, home: Path, release: str) -> None:
        # The first time this builds it, which is nobody's to wait for who waits for a member.
        program("etcd", release)
        self._home = home
        self._release = release
        self.pods = Pods()
        self.hosts: list[ControlPlane] = []

    def host(self, **cluster: Any) -> ControlPlane:
        """One more host, with certificates of the first one's authority."""
        number = len(self.hosts) + 1
        root = self._home / f"cp{number}"
        root.mkdir()
        made = ControlPlane(number, root, resolved(root, number, self._release, **cluster), self.pods)
        self.hosts.append(made)
        made.bring_certificates(self.hosts[0].root if number > 1 else None)
        return made

    def stop(self) -> None:
        for host in self.hosts:
            host.stop()


__all__ = ["CANARY", "LEARNERS", "VOTERS", "ControlPlane", "EtcdRefusal", "Pods", "Site", "address", "resolved"]
