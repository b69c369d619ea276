# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bare API servers for the phases that write objects: kube-apiserver and etcd on loopback, nothing else, gone afterwards.

There are two: one that kubeadm writes into and one that we do. They share one PKI, so that what is derived from it is equal
on both sides. Each has a root directory with the admin.conf and super-admin.conf that lead to it.

    def test_something(kubeadms_api: ApiServer, our_api: ApiServer) -> None:
        kubeadms_api.kubeadm("1.37.1", document, "init", "phase", "upload-config", "all")
        execute(Phase(), our_api.world(), documents(document), {})
        assert kubeadms_api.object(key) == our_api.object(key)
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_super import SuperAdminApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import (
    ApplyObject,
    DeleteObject,
    Manifest,
    ObjectKey,
    key_of,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.modules import kubeconfig_file, pki_cert
from ansible_collections.kubephase.cluster.tests.parity.apiserver_programs import RELEASE, end_with_parent, free_ports, fresh_home, program
from ansible_collections.kubephase.cluster.tests.parity.apiserver_tunnel import command, outer_end
from ansible_collections.kubephase.cluster.tests.parity.oracle import OracleFailed, kubeadm

# For ``pytestmark`` of every file that uses the servers: one worker runs them all, so that each server is started once.
ONE_WORKER = pytest.mark.xdist_group("apiserver")

DOCUMENT = "kubeadm.yaml"
ADVERTISED = "192.0.2.10"
_PLAIN = {"PATH": os.environ["PATH"]}
SUPER_ADMIN = "/etc/kubernetes/super-admin.conf"
_START_SECONDS = 90.0

# Written by the server and others on every change, and different on each side.
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
_KINDS = (
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Service"),
    ("v1", "Node"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
)
_SERVERS_OWN = (
    "extension-apiserver-authentication",
    "kube-apiserver-legacy-service-account-token-tracking",
    "kubernetes",
    "kubeadm:cluster-admins",
)

CLUSTER_ADMINS: Manifest = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "kubeadm:cluster-admins"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "kubeadm:cluster-admins"}],
}


class NoSystemd:
    """What kubeadm finds in a root directory: no services."""

    def state(self, name: str) -> ServiceState:
        """Say that there is no such service."""
        return ServiceState(name, known=False, active=False, enabled=False)


class LoopbackApi(Api):
    """Our adapter, held to the server that the kubeconfig names: nobody listens at what the documents advertise."""

    def talk_to(self, server: str) -> None:
        """Stay."""


class LoopbackSuperAdminApi(SuperAdminApi):
    """The same with super-admin.conf."""

    def talk_to(self, server: str) -> None:
        """Stay."""


class ApiServer:
    """One API server with its etcd, and the root directory of a host that talks to it."""

    def __init__(self, home: Path, pki: Path | None = None) -> None:
        self.root = home / "root"
        self.log = home / "kube-apiserver.log"
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        (self.root / "etc/kubernetes").mkdir(parents=True)
        if pki is not None:
            shutil.copytree(pki, self.pki)
        self.port, etcd, peer = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self._credentials()
        try:
            self._run(etcd, peer)
        except BaseException:
            self.stop()
            raise

    def _run(self, etcd: int, peer: int) -> None:
        self._start(
            "etcd",
            f"--data-dir={self._home / 'etcd'}",
            "--name=only",
            f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=only=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        )
        self._start(
            "kube-apiserver",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--tls-cert-file={self.pki / 'apiserver.crt'}",
            f"--tls-private-key-file={self.pki / 'apiserver.key'}",
            f"--client-ca-file={self.pki / 'ca.crt'}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={self.pki / 'sa.pub'}",
            f"--service-account-signing-key-file={self.pki / 'sa.key'}",
            "--service-cluster-ip-range=10.96.0.0/12",
            "--authorization-mode=Node,RBAC",
            "--endpoint-reconciler-type=none",
            "--enable-priority-and-fairness=false",
            "--enable-bootstrap-token-auth",
            "--allow-privileged",
        )
        self._wait()

    @property
    def pki(self) -> Path:
        """Where the certificates lie that kubeadm and our phases find in the root."""
        return self.root / "etc/kubernetes/pki"

    @property
    def kubeconfig(self) -> Path:
        """A file for kubectl and the like."""
        return self.root / SUPER_ADMIN.lstrip("/")

    def api(self, kubeconfig: str = "/etc/kubernetes/admin.conf") -> Api:
        """Our adapter, as one of the root's kubeconfigs leads to the server."""
        return LoopbackApi(Files(str(self.root)), kubeconfig)

    def world(self, **adapters: Any) -> World:
        """Adapters for a phase whose host is the root."""
        files = Files(str(self.root))
        return World(
            **{
                "files": files,
                "api": LoopbackApi(files),
                "super_api": LoopbackSuperAdminApi(files),
                "clock": Clock(),
                "host": Host(),
                "systemd": NoSystemd(),
                **adapters,
            }
        )

    def kubeadm(self, release: str, document: str, *words: str) -> str:
        """Run real kubeadm over the root and against this server; the document must advertise ADVERTISED, port 6443."""
        config, path = self.root / DOCUMENT, self._home / "tunnel"
        config.write_text(document, encoding="utf-8")
        places = [(ADVERTISED, 6443), ("127.0.0.1", self.port)]
        asked = [str(kubeadm(release)), *words, "--config", f"/{DOCUMENT}", "--rootfs", str(self.root)]
        try:
            with outer_end(path, self.port):
                done = subprocess.run(command(path, places, asked), capture_output=True, text=True, check=False, umask=0o022, env=_PLAIN)
        finally:
            config.unlink()
        if done.returncode:
            raise OracleFailed(f"{' '.join(asked)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def object(self, key: ObjectKey) -> Any:
        """An object as both sides must have it: without ids, times and owners of fields; None when there is none."""
        found = self.api(SUPER_ADMIN).get(key)
        return None if found is None else _comparable(found)

    def objects(self) -> dict[ObjectKey, Any]:
        """Everything that phases may have written, comparable."""
        return {key_of(each): _comparable(each) for each in self._written()}

    def versions(self) -> dict[ObjectKey, str]:
        """The resource version of everything that phases may have written: it moves with every write."""
        return {key_of(each): each["metadata"]["resourceVersion"] for each in self._written()}

    def make(self, *manifests: Manifest) -> None:
        """Put objects there that a test starts from."""
        for manifest in manifests:
            self.api(SUPER_ADMIN).apply(ApplyObject(manifest))

    def reset(self) -> None:
        """Delete everything that phases may have written."""
        api = self.api(SUPER_ADMIN)
        for each in self._written():
            api.apply(DeleteObject(key_of(each)))

    def stop(self) -> None:
        """End both processes and remove all that they wrote."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def _written(self) -> Iterator[Manifest]:
        api = self.api(SUPER_ADMIN)
        for api_version, kind in _KINDS:
            for each in api.list(api_version, kind):
                own = each["metadata"]["name"] in _SERVERS_OWN or "kubernetes.io/bootstrapping" in each["metadata"].get("labels", {})
                if not own:
                    yield each

    def _credentials(self) -> None:
        """Our own certs and kubeconfig phases, over the root."""
        documents = {
            "ClusterConfiguration": {
                "kubernetesVersion": f"v{RELEASE}",
                "encryptionAlgorithm": "ECDSA-P256",
                "controlPlaneEndpoint": f"127.0.0.1:{self.port}",
                "apiServer": {"certSANs": ["127.0.0.1"]},
            },
            "InitConfiguration": {
                "localAPIEndpoint": {"advertiseAddress": ADVERTISED},
                "nodeRegistration": {"name": "cp1", "criSocket": "unix:///var/run/containerd/containerd.sock"},
            },
        }
        for module in (pki_cert, kubeconfig_file):
            phase, world = module.make(str(self.root))
            execute(phase, world, documents, {})

    def _start(self, name: str, *words: str) -> None:
        with (self._home / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(program(name)), *words],
                    stdout=log,
                    stderr=log,
                    env={"PATH": os.environ["PATH"], "HOME": str(self._home)},
                    start_new_session=True,
                    preexec_fn=end_with_parent,
                )
            )

    def _wait(self) -> None:
        """Until the server has made its namespaces and roles, which it does some time after it first answers."""
        end = time.monotonic() + _START_SECONDS
        wanted = [ObjectKey("v1", "Namespace", "", name) for name in ("kube-system", "kube-public")]
        wanted.append(ObjectKey("rbac.authorization.k8s.io/v1", "ClusterRole", "", "cluster-admin"))
        api = Api(Files(str(self.root)), SUPER_ADMIN, deadline=_START_SECONDS)
        while not all(api.get(key) for key in wanted):
            if time.monotonic() > end or any(process.poll() is not None for process in self._processes):
                raise RuntimeError(f"the API server did not come up:\n{self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
        self.make(CLUSTER_ADMINS)


def _comparable(found: Manifest) -> dict[str, Any]:
    metadata = {name: value for name, value in found["metadata"].items() if name not in _VOLATILE}
    return {**{name: value for name, value in found.items() if name != "status"}, "metadata": metadata}


@functools.cache
def started(name: str) -> ApiServer:
    """The server of this name, one a process however many test files ask for it; it ends with the process."""
    pki = None if name == "kubeadm" else started("kubeadm").pki
    server = ApiServer(fresh_home(name), pki)
    atexit.register(server.stop)
    return server


def _emptied(name: str) -> Callable[[], ApiServer]:
    def fixture() -> ApiServer:
        server = started(name)
        server.reset()
        return server

    return fixture


kubeadms_api = pytest.fixture(name="kubeadms_api")(_emptied("kubeadm"))
our_api = pytest.fixture(name="our_api")(_emptied("ours"))
