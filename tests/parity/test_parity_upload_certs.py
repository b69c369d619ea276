# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-certs phase against kubeadm's: the same Secret but for nonces, and each side opens what the other stored."""

from __future__ import annotations

import base64
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import CertsSecret
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.contents import opened
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET, UploadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read
from ansible_collections.kubephase.cluster.tests.parity.apiserver import SUPER_ADMIN, ApiServer, kubeadms_api, our_api
from ansible_collections.kubephase.cluster.tests.parity.cases import FIRST_V1BETA4_MINOR, RELEASES, minor_of
from ansible_collections.kubephase.cluster.tests.parity.oracle import OracleFailed, kubeadm, run_kubeadm

__all__ = ["kubeadms_api", "our_api"]

KEY = "00112233445566778899aabbccddeeff" * 2
SLACK = timedelta(minutes=3)
LOCAL = ""
EXTERNAL = """
etcd:
  external:
    endpoints: [https://192.0.2.20:2379]
    caFile: /etc/kubernetes/pki/etcd/ca.crt
    certFile: /etc/kubernetes/pki/apiserver-etcd-client.crt
    keyFile: /etc/kubernetes/pki/apiserver-etcd-client.key
"""
PLAIN_EXTERNAL = """
etcd:
  external:
    endpoints: [http://192.0.2.20:2379]
"""
ETCDS = {"local": LOCAL, "external": EXTERNAL, "external-plain": PLAIN_EXTERNAL}


def document(release: str, etcd: str) -> str:
    """A kubeadm.yaml for a release, with the certificate key in it."""
    version = "v1beta4" if minor_of(release) >= FIRST_V1BETA4_MINOR else "v1beta3"
    return (
        f"apiVersion: kubeadm.k8s.io/{version}\nkind: InitConfiguration\ncertificateKey: {KEY}\n"
        "localAPIEndpoint:\n  advertiseAddress: 192.0.2.10\n"
        "nodeRegistration:\n  name: cp1\n  criSocket: unix:///var/run/containerd/containerd.sock\n"
        f"---\napiVersion: kubeadm.k8s.io/{version}\nkind: ClusterConfiguration\nkubernetesVersion: v{release}\n{etcd.strip()}\n"
    )


def kubeadm_does(server: ApiServer, release: str, etcd: str) -> None:
    server.kubeadm(release, document(release, etcd), "init", "phase", "upload-certs", "--upload-certs")


def we_do(server: ApiServer, release: str, etcd: str, **options: Any) -> Outcome:
    public, secrets = split_secrets(canonical(read(document(release, etcd), "kubeadm.yaml")).documents)
    given = {"certificate_key": secrets.plain()["InitConfiguration.certificateKey"], "ttl": timedelta(hours=2), **options}
    world = server.world()
    return execute(UploadCertsPhase(), server.world(api=world.api, certs=CertsSecret(world.api)), public, given)


def secret(server: ApiServer) -> Any:
    return server.object(SECRET)


def owner(server: ApiServer) -> dict[str, str]:
    """What the token that owns the Secret holds; the server's own answer says that it is the very same object."""
    (reference,) = secret(server)["metadata"]["ownerReferences"]
    found = server.api(SUPER_ADMIN).get(ObjectKey("v1", "Secret", "kube-system", reference["name"]))
    assert found is not None
    assert found["metadata"]["uid"] == reference["uid"]
    assert found["type"] == "bootstrap.kubernetes.io/token"
    return {name: base64.b64decode(value).decode() for name, value in found["data"].items()}


def comparable(server: ApiServer) -> dict[ObjectKey, Any]:
    """All objects but the owner, with the Secret opened and the owner's name left out."""
    found = {key: each for key, each in server.objects().items() if not key.name.startswith("bootstrap-token-")}
    inside = opened(found[SECRET]["data"], KEY)
    assert inside is not None
    # Whether there is a value at all is told apart from an empty file.
    found[SECRET]["data"] = {name: (bool(found[SECRET]["data"][name]), content) for name, content in inside.items()}
    for reference in found[SECRET]["metadata"]["ownerReferences"]:
        reference["name"], reference["uid"] = "owner", "uid"
    return found


def moment(token: dict[str, str]) -> datetime:
    return datetime.fromisoformat(token["expiration"].replace("Z", "+00:00"))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("etcd", sorted(ETCDS))
def test_the_same_objects_as_kubeadm(kubeadms_api: ApiServer, our_api: ApiServer, release: str, etcd: str) -> None:
    kubeadm_does(kubeadms_api, release, ETCDS[etcd])
    we_do(our_api, release, ETCDS[etcd])
    assert comparable(our_api) == comparable(kubeadms_api)
    ours, theirs = owner(our_api), owner(kubeadms_api)
    assert (set(ours), ours["description"]) == (set(theirs), theirs["description"])
    assert abs(moment(ours) - moment(theirs)) < SLACK


@pytest.mark.parametrize("release", RELEASES)
def test_we_open_what_kubeadm_stored_and_leave_it(kubeadms_api: ApiServer, release: str) -> None:
    kubeadm_does(kubeadms_api, release, LOCAL)
    before = kubeadms_api.versions()
    outcome = we_do(kubeadms_api, release, LOCAL)
    assert [change.target for change in outcome.plan.changes] == []
    assert outcome.facts["secret"]["readable"]
    assert kubeadms_api.versions() == before


@pytest.mark.parametrize("etcd", sorted(ETCDS))
def test_kubeadm_opens_what_we_stored(our_api: ApiServer, tmp_path: Path, etcd: str) -> None:
    release = "1.37.1"
    stored = document(release, ETCDS[etcd])
    # A joining kubeadm wants to read these two before anything else.
    our_api.kubeadm(release, stored, "init", "phase", "upload-config", "all")
    our_api.kubeadm(release, stored, "init", "phase", "bootstrap-token")
    we_do(our_api, release, ETCDS[etcd])
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    shutil.copy(our_api.kubeconfig, tmp_path / "discovery.conf")
    (tmp_path / "join.yaml").write_text(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  file:\n    kubeConfigPath: /discovery.conf\n"
        f"controlPlane:\n  certificateKey: {KEY}\n  localAPIEndpoint:\n    advertiseAddress: 192.0.2.11\n"
        "nodeRegistration:\n  name: cp2\n  criSocket: unix:///var/run/containerd/containerd.sock\n"
        "timeouts:\n  discovery: 20s\n  kubernetesAPICall: 10s\n",
        encoding="utf-8",
    )
    run_kubeadm(kubeadm(release), tmp_path, "join", "phase", "control-plane-prepare", "download-certs", "--config", "/join.yaml")
    brought = {str(path.relative_to(tmp_path)) for path in (tmp_path / "etc/kubernetes").rglob("*") if path.is_file()}
    expected = {
        f"etc/kubernetes/pki/{name}" for name in ("ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key")
    }
    expected |= {
        "local": {"etc/kubernetes/pki/etcd/ca.crt", "etc/kubernetes/pki/etcd/ca.key"},
        "external": {f"etc/kubernetes/pki/{name}" for name in ("etcd/ca.crt", "apiserver-etcd-client.crt", "apiserver-etcd-client.key")},
        "external-plain": set(),
    }[etcd]
    assert brought == expected
    assert all((tmp_path / path).read_bytes() == (our_api.root / path).read_bytes() for path in brought)


@pytest.mark.parametrize("release", RELEASES)
def test_run_again_nothing_is_written(our_api: ApiServer, release: str) -> None:
    we_do(our_api, release, LOCAL)
    before = our_api.versions()
    assert not we_do(our_api, release, LOCAL).changed
    assert our_api.versions() == before


def test_another_key_leaves_kubeadms_secret_alone_until_asked(kubeadms_api: ApiServer) -> None:
    kubeadm_does(kubeadms_api, "1.37.1", LOCAL)
    before = kubeadms_api.versions()
    other = "ff" * 32
    outcome = we_do(kubeadms_api, "1.37.1", LOCAL, certificate_key=other)
    assert "does not open with the given certificate_key" in outcome.warnings[0]
    assert we_do(kubeadms_api, "1.37.1", LOCAL, certificate_key=other, state="absent").warnings
    assert kubeadms_api.versions() == before
    assert we_do(kubeadms_api, "1.37.1", LOCAL, certificate_key=other, overwrite=True).changed
    assert opened(secret(kubeadms_api)["data"], other) is not None
    tokens = [key for key in kubeadms_api.objects() if key.name.startswith("bootstrap-token-")]
    assert len(tokens) == 1


def test_what_kubeadm_stored_is_removed_with_its_token(kubeadms_api: ApiServer) -> None:
    kubeadm_does(kubeadms_api, "1.37.1", LOCAL)
    assert we_do(kubeadms_api, "1.37.1", LOCAL, certificate_key="", state="absent").changed
    left = {str(key) for key in kubeadms_api.objects()}
    assert left == {"Role kube-system/kubeadm:kubeadm-certs", "RoleBinding kube-system/kubeadm:kubeadm-certs"}


@pytest.mark.parametrize("name", ["ca.key", "front-proxy-ca.key"])
def test_both_refuse_an_external_authority(our_api: ApiServer, name: str) -> None:
    key = our_api.pki / name
    hidden = key.rename(key.with_suffix(".hidden"))
    try:
        with pytest.raises(OracleFailed, match="external CA"):
            kubeadm_does(our_api, "1.37.1", LOCAL)
        with pytest.raises(ManyUnusable, match=r"it is not on this host \(external"):
            we_do(our_api, "1.37.1", LOCAL)
    finally:
        hidden.rename(key)
    assert not our_api.objects()
