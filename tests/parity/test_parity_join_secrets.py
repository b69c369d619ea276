# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets of joins against a real API server: a host logs in with them, downloads like kubeadm, and finds them gone."""

from __future__ import annotations

import base64
import re
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import BootstrapApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import Later
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.join_secrets import JoinSecrets
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.download_certs import BOOTSTRAP, DownloadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.join_secrets import JoinSecretsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, SUPER_ADMIN, ApiServer, kubeadms_api, our_api
from ansible_collections.kubephase.cluster.tests.parity.cases import FIRST_V1BETA4_MINOR, RELEASES, minor_of
from ansible_collections.kubephase.cluster.tests.parity.oracle import kubeadm, run_kubeadm
from ansible_collections.kubephase.cluster.tests.parity.test_parity_upload_certs import ETCDS, KEY, document, kubeadm_does

__all__ = ["kubeadms_api", "our_api"]

pytestmark = ONE_WORKER

NEWEST = RELEASES[-1]


class Ahead(Clock):
    """A clock that goes ahead."""

    def __init__(self, minutes: int) -> None:
        self._ahead = timedelta(minutes=minutes)

    def now(self) -> datetime:
        """The time, so much later."""
        return super().now() + self._ahead


def secrets(server: ApiServer, check: bool = False, minutes: int = 0, **options: Any) -> Outcome:
    """Run the phase on the control plane."""
    documents, _secrets = split_secrets(canonical(read(document(NEWEST, ""), "kubeadm.yaml")).documents)
    api = server.api()
    world = server.world(api=api, secrets=JoinSecrets(api), clock=Ahead(minutes))
    return execute(JoinSecretsPhase(), world, documents, options, check)


def findable(server: ApiServer) -> ApiServer:
    """Give the cluster what a run of joins looks for."""
    server.make({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CLUSTER_INFO.name, "namespace": CLUSTER_INFO.namespace}})
    return server


def described(server: ApiServer, release: str, etcd: str) -> None:
    """Give the cluster what a kubeadm that joins looks for."""
    # An older kubeadm waits for the Node that it marks.
    server.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp1", "labels": {"kubernetes.io/hostname": "cp1"}}})
    server.kubeadm(release, document(release, etcd), "init", "phase", "upload-config", "all")
    server.kubeadm(release, document(release, etcd), "init", "phase", "bootstrap-token")


def introduce(server: ApiServer, root: Path, token: str) -> None:
    """Leave on a host what discovery would: the way to the cluster, and the token."""
    authority = base64.b64encode((server.pki / "ca.crt").read_bytes()).decode()
    path = root / BOOTSTRAP.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority-data": authority}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
                "users": [{"name": "u", "user": {"token": str(token)}}],
            }
        )
    )
    _let_look_around(BootstrapApi(Files(str(root))))


def _let_look_around(api: BootstrapApi) -> None:
    """Wait for a server that has just started: it lets nobody look around before its own bindings are in force."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            api.get(SECRET)
        except Unusable as refusal:
            if refusal.where.startswith("API "):
                time.sleep(0.2)
                continue
        return


def download(root: Path, release: str = NEWEST, etcd: str = "", **options: Any) -> Outcome:
    """Run the phase on a joining host."""
    documents, _secrets = split_secrets(canonical(read(document(release, etcd), "kubeadm.yaml")).documents)
    files = Files(str(root))
    world = World(files=files, bootstrap_api=BootstrapApi(files), later=Later(), host=Host())
    return execute(DownloadCertsPhase(), world, documents, {"becomes": "control_plane", **options})


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """The files that a join brought, with their modes, and the directories with theirs."""
    places = sorted((root / "etc/kubernetes/pki").rglob("*"))
    return {str(path.relative_to(root)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mode & 0o7777) for path in places}


def kubeadm_downloads(server: ApiServer, root: Path, release: str) -> None:
    """Let kubeadm of a release run its download-certs phase over a root of its own."""
    (root / "etc/kubernetes").mkdir(parents=True)
    shutil.copy(server.kubeconfig, root / "discovery.conf")
    version = "v1beta4" if minor_of(release) >= FIRST_V1BETA4_MINOR else "v1beta3"
    (root / "join.yaml").write_text(
        f"apiVersion: kubeadm.k8s.io/{version}\nkind: JoinConfiguration\ndiscovery:\n  file:\n    kubeConfigPath: /discovery.conf\n"
        f"controlPlane:\n  certificateKey: {KEY}\n  localAPIEndpoint:\n    advertiseAddress: 192.0.2.11\n"
        "nodeRegistration:\n  name: cp2\n  criSocket: unix:///var/run/containerd/containerd.sock\n",
        encoding="utf-8",
    )
    run_kubeadm(kubeadm(release), root, "join", "phase", "control-plane-prepare", "download-certs", "--config", "/join.yaml")


CASES = [*((release, "local") for release in RELEASES), (NEWEST, "external"), (NEWEST, "external-plain")]


@pytest.mark.parametrize(("release", "etcd"), CASES)
def test_the_same_files_as_kubeadm_from_what_kubeadm_stored(kubeadms_api: ApiServer, tmp_path: Path, release: str, etcd: str) -> None:
    described(kubeadms_api, release, ETCDS[etcd])
    kubeadm_does(kubeadms_api, release, ETCDS[etcd])
    kubeadm_downloads(kubeadms_api, tmp_path / "theirs", release)
    introduce(kubeadms_api, tmp_path / "ours", secrets(kubeadms_api).facts["token"])
    outcome = download(tmp_path / "ours", release, ETCDS[etcd], certificate_key=KEY)
    assert outcome.changed
    assert tree(tmp_path / "ours") == tree(tmp_path / "theirs")
    assert not download(tmp_path / "ours", release, ETCDS[etcd], certificate_key=KEY).changed


def test_a_host_logs_in_with_the_token_of_a_run_and_downloads(our_api: ApiServer, tmp_path: Path) -> None:
    made = secrets(findable(our_api), certificates=True).facts
    introduce(our_api, tmp_path, made["token"])
    download(tmp_path, certificate_key=made["certificate_key"], secret_name=made["certificates_secret"])
    names = ("ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key", "etcd/ca.crt", "etcd/ca.key")
    for name in names:
        assert (tmp_path / "etc/kubernetes/pki" / name).read_bytes() == (our_api.pki / name).read_bytes()


def test_the_token_opens_nothing_but_its_own(our_api: ApiServer, tmp_path: Path) -> None:
    made = secrets(findable(our_api), certificates=True).facts
    introduce(our_api, tmp_path, made["token"])
    api = BootstrapApi(Files(str(tmp_path)))
    assert api.get(ObjectKey("v1", "Secret", "kube-system", made["certificates_secret"])) is not None
    for name in (f"bootstrap-token-{made['run']}", "somebody-elses"):
        with pytest.raises(Unusable, match="forbidden"):
            api.get(ObjectKey("v1", "Secret", "kube-system", name))


def test_once_the_run_has_ended_nobody_gets_in(our_api: ApiServer, tmp_path: Path) -> None:
    made = secrets(findable(our_api), certificates=True).facts
    introduce(our_api, tmp_path, made["token"])
    assert secrets(our_api, state="absent", run=made["run"]).changed
    with pytest.raises(Unusable, match=r"does not accept|forbidden") as refusal:
        download(tmp_path, certificate_key=made["certificate_key"], secret_name=made["certificates_secret"])
    assert made["token"].partition(".")[2] not in str(refusal.value)


def test_a_secret_that_kubeadm_uses_stays_as_it_is(our_api: ApiServer) -> None:
    findable(our_api)
    kubeadm_does(our_api, NEWEST, "")
    before = our_api.versions()
    one = secrets(our_api, certificates=True).facts
    two = secrets(our_api, certificates=True).facts
    now = our_api.versions()
    assert before.items() <= now.items()
    assert len(now) == len(before) + 8
    assert secrets(our_api, state="absent", run=one["run"]).changed
    left = our_api.versions()
    assert left == {key: version for key, version in now.items() if one["run"] not in key.name}
    assert not secrets(our_api, state="absent", run=one["run"]).changed
    assert our_api.versions() == left
    assert secrets(our_api, state="absent", run=two["run"]).changed
    assert our_api.versions() == before
    assert our_api.object(SECRET) is not None


def test_runs_that_are_over_are_swept_and_others_are_not(our_api: ApiServer) -> None:
    findable(our_api)
    before = our_api.versions()
    over = secrets(our_api, certificates=True, ttl=timedelta(minutes=1)).facts["run"]
    alive = secrets(our_api, certificates=True).facts["run"]
    assert secrets(our_api, check=True, minutes=5).facts["swept"] == []
    assert secrets(our_api, check=True, minutes=7).facts["swept"] == [over]
    newest = secrets(our_api, minutes=7).facts
    assert newest["swept"] == [over]
    added = {key.name for key in set(our_api.versions()) - set(before)}
    names = ("bootstrap-token-{}", "kubephase-certs-{}", "kubephase:join-{}")
    assert added == {*(name.format(alive) for name in names), f"bootstrap-token-{newest['run']}"}


def test_a_check_leaves_no_trace(our_api: ApiServer) -> None:
    before = findable(our_api).versions()
    outcome = secrets(our_api, check=True, certificates=True)
    assert outcome.changed
    assert "token" not in outcome.facts
    assert our_api.versions() == before


def test_the_pins_and_the_endpoint_are_those_of_kubeadms_join_command(our_api: ApiServer) -> None:
    printed = our_api.kubeadm(NEWEST, document(NEWEST, ""), "token", "create", "--print-join-command", "--kubeconfig", SUPER_ADMIN)
    facts = secrets(findable(our_api), check=True).facts
    assert facts["ca_cert_hashes"] == re.findall(r"sha256:[0-9a-f]{64}", printed)
    assert facts["api_server_endpoint"] == printed.split()[2]


def test_without_cluster_info_nothing_is_made(our_api: ApiServer) -> None:
    assert our_api.object(CLUSTER_INFO) is None
    with pytest.raises(Exception, match="no host can find the cluster by a token"):
        secrets(our_api)
    assert our_api.versions() == {}
