# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The download-certs phase: what is written, what is kept, what is refused, and when the cluster is not even asked."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unit.certs_upload.uploads import KEY, NAMES, OTHER
from unit.tokens.cluster import Cluster, everything_said
from unit.world import Host, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import Later, sealed
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.download_certs import (
    ADMIN,
    BOOTSTRAP,
    KUBELET,
    DownloadCertsPhase,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

PKI = "/etc/kubernetes/pki"
PATHS = {name.replace("/", "-"): f"{PKI}/{name}" for name in NAMES}
EXTERNAL = {
    "etcd": {"external": {"endpoints": ["https://e:2379"], "caFile": "/e/ca.pem", "certFile": "/e/crt.pem", "keyFile": "/e/key.pem"}}
}
EXTERNAL_PATHS = {
    **{name: path for name, path in PATHS.items() if not name.startswith("etcd-")},
    "external-etcd-ca.crt": "/e/ca.pem",
    "external-etcd.crt": "/e/crt.pem",
    "external-etcd.key": "/e/key.pem",
}


class Asked(Cluster):
    """A cluster that counts how often it was asked."""

    times = 0

    def get(self, key: ObjectKey) -> Manifest | None:
        self.times += 1
        return super().get(key)


def pem(name: str) -> bytes:
    label = "RSA PRIVATE KEY" if name.endswith(".key") else "PUBLIC KEY" if name.endswith(".pub") else "CERTIFICATE"
    return f"-----BEGIN {label}-----\ncanary{base64.b64encode(name.encode()).decode()}\n-----END {label}-----\n".encode()


def stored(paths: dict[str, str] | None = None, name: str = "kubeadm-certs", key: str = KEY, **other: bytes | None) -> Asked:
    """A cluster with the Secret, some of its values replaced."""
    cluster, secret = Asked(), SECRET._replace(name=name)
    files = {**{value: pem(value) for value in paths or PATHS}, **{value.replace("__", "."): content for value, content in other.items()}}
    cluster.objects[secret] = sealed(secret, files, bytes.fromhex(key), {})
    return cluster


def download(root: Path, cluster: Asked, check: bool = False, configuration: dict[str, Any] | None = None, **options: Any) -> Outcome:
    files = Files(str(root))
    world = World(files=files, api=cluster, bootstrap_api=cluster, later=Later(), host=Host())
    documents = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", **(configuration or {})}}
    return execute(DownloadCertsPhase(), world, documents, {"becomes": "control_plane", **options}, check)


def put(root: Path, path: str, content: bytes = b"") -> Path:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host that has found the cluster."""
    put(tmp_path, BOOTSTRAP)
    return tmp_path


def pki(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        f"/{path.relative_to(root)}": (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in root.rglob("*")
        if path.is_file() and path != root / BOOTSTRAP.lstrip("/")
    }


@pytest.mark.parametrize(("configuration", "paths"), [({}, PATHS), (EXTERNAL, EXTERNAL_PATHS)])
def test_the_files_are_written_keys_for_root_alone(root: Path, configuration: dict[str, Any], paths: dict[str, str]) -> None:
    outcome = download(root, stored(paths), configuration=configuration, certificate_key=KEY)
    assert pki(root) == {path: (pem(name), 0o600 if name.endswith(".key") else 0o644) for name, path in paths.items()}
    assert {fact["path"]: fact["done"] for fact in outcome.facts["files"]} == dict.fromkeys(paths.values(), "downloaded")
    assert outcome.facts["needed"]
    assert outcome.changed
    assert not outcome.warnings


def test_keys_come_before_the_certificates_that_need_them(root: Path) -> None:
    targets = [change.target for change in download(root, stored(), certificate_key=KEY).plan.changes]
    assert max(targets.index(path) for path in targets if path.endswith(".key")) < min(
        targets.index(path) for path in targets if not path.endswith(".key")
    )


def test_run_again_nothing_moves(root: Path) -> None:
    cluster = stored()
    download(root, cluster, certificate_key=KEY)
    before = snapshot(root)
    again = download(root, cluster, certificate_key=KEY.upper())
    assert not again.changed
    assert snapshot(root) == before
    assert {fact["done"] for fact in again.facts["files"]} == {"kept"}


@pytest.mark.parametrize("sign", [ADMIN, KUBELET])
def test_a_host_that_has_joined_asks_nobody(root: Path, sign: str) -> None:
    download(root, stored(), certificate_key=KEY)
    put(root, sign)
    (root / PKI.lstrip("/") / "ca.key").unlink()  # taken away on purpose
    silent = Asked()
    assert not download(root, silent, certificate_key=KEY).changed
    assert not download(root, silent).changed
    assert silent.times == 0


def test_what_was_interrupted_is_completed(root: Path) -> None:
    cluster = stored()
    download(root, cluster, certificate_key=KEY)
    for name in ("sa.pub", "ca.crt"):
        (root / PKI.lstrip("/") / name).unlink()
    outcome = download(root, cluster, certificate_key=KEY)
    assert [change.target for change in outcome.plan.changes] == [f"{PKI}/ca.crt", f"{PKI}/sa.pub"]


@pytest.mark.parametrize("name", sorted(PATHS))
def test_a_file_that_differs_is_never_replaced(root: Path, name: str) -> None:
    place = put(root, PATHS[name], b"of another cluster")
    with pytest.raises(ManyUnusable) as refusal:
        download(root, stored(), certificate_key=KEY)
    assert [(finding.where, finding.found) for finding in refusal.value.findings] == [
        (PATHS[name], "it is on this host already and differs from that of the cluster")
    ]
    assert pki(root) == {PATHS[name]: (b"of another cluster", place.stat().st_mode & 0o777)}


def drop(cluster: Asked) -> None:
    del cluster.objects[SECRET]["data"]["sa.pub"]


def damage(cluster: Asked) -> None:
    value = base64.b64decode(cluster.objects[SECRET]["data"]["ca.key"])
    cluster.objects[SECRET]["data"]["ca.key"] = base64.b64encode(value[:-1] + bytes([value[-1] ^ 1])).decode()


def remove(cluster: Asked) -> None:
    del cluster.objects[SECRET]


def fine(cluster: Asked) -> None:
    """Nothing is wrong with it."""


# What is wrong with the Secret, the key, and what a person is told.
REFUSED: list[tuple[Callable[[Asked], None], str, str]] = [
    (fine, OTHER, "Secret kube-system/kubeadm-certs: it does not open with the given certificate key"),
    (damage, KEY, "Secret kube-system/kubeadm-certs: it does not open with the given certificate key"),
    (drop, KEY, "Secret kube-system/kubeadm-certs: it has no value sa.pub"),
    (remove, KEY, "Secret kube-system/kubeadm-certs: it does not exist"),
    (fine, "canary", "certificate_key: a text of 6 characters is not a certificate key"),
]


@pytest.mark.parametrize(("wrong", "key", "told"), REFUSED)
def test_a_secret_that_is_of_no_use(root: Path, wrong: Callable[[Asked], None], key: str, told: str) -> None:
    cluster = stored()
    wrong(cluster)
    with pytest.raises((Unusable, ManyUnusable)) as refusal:
        download(root, cluster, certificate_key=key)
    assert str(refusal.value).startswith(told)
    assert "canary" not in str(refusal.value)
    assert key not in str(refusal.value)
    assert pki(root) == {}


@pytest.mark.parametrize(
    ("name", "content"),
    [("ca__key", pem("ca.crt")), ("ca__crt", pem("ca.key")), ("sa__pub", b"hello"), ("ca__crt", b"-----BEGIN X509 CRL-----\n")],
)
def test_values_that_are_something_else_are_refused(root: Path, name: str, content: bytes) -> None:
    with pytest.raises(ManyUnusable, match=rf"its value {name.replace('__', '.')} is not a .* in PEM"):
        download(root, stored(**{name: content}), certificate_key=KEY)
    assert pki(root) == {}


def test_a_key_of_an_elliptic_curve_may_start_with_its_parameters(root: Path) -> None:
    parameters = b"-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n"
    content = parameters + pem("ca.key").replace(b"RSA", b"EC")
    download(root, stored(ca__key=content), certificate_key=KEY)
    assert pki(root)[f"{PKI}/ca.key"] == (content, 0o600)


def test_an_empty_value_is_passed_over_where_that_is_safe(root: Path) -> None:
    cluster = stored(**{"etcd-ca__key": None})
    outcome = download(root, cluster, certificate_key=KEY)
    path = f"{PKI}/etcd/ca.key"
    assert path not in pki(root)
    assert outcome.warnings == (f"{path} is not on this host, and etcd-ca.key in Secret kube-system/kubeadm-certs is empty",)
    assert {"path": path, "done": "absent"} in outcome.facts["files"]


def test_an_empty_value_of_what_is_needed_is_refused(root: Path) -> None:
    with pytest.raises(ManyUnusable, match=r"sa.key: it is not on this host, and sa.key in Secret kube-system/kubeadm-certs is empty"):
        download(root, stored(sa__key=None), certificate_key=KEY)


def test_an_external_etcd_without_tls_has_no_files(root: Path) -> None:
    plain = {"etcd": {"external": {"endpoints": ["http://e:2379"]}}}
    cluster = stored(EXTERNAL_PATHS, **{"external-etcd-ca__crt": None, "external-etcd__crt": None, "external-etcd__key": None})
    download(root, cluster, configuration=plain, certificate_key=KEY)
    assert set(pki(root)) == {path for path in EXTERNAL_PATHS.values() if path.startswith(PKI)}


def test_without_a_key_all_that_is_needed_must_be_here(root: Path) -> None:
    cluster = stored()
    with pytest.raises(Unusable) as refusal:
        download(root, cluster)
    wanted = [path for name, path in PATHS.items() if name not in ("ca.key", "front-proxy-ca.key", "etcd-ca.key")]
    assert refusal.value.where == ", ".join(wanted)
    for path in wanted:
        put(root, path)
    outcome = download(root, cluster)
    assert not outcome.changed
    assert [warning.partition(" is not")[0] for warning in outcome.warnings] == [
        f"{PKI}/{name}.key" for name in ("ca", "front-proxy-ca", "etcd/ca")
    ]
    assert cluster.times == 0


def test_a_secret_that_is_gone_is_not_missed_where_all_files_are(root: Path) -> None:
    download(root, stored(), certificate_key=KEY)
    outcome = download(root, Asked(), certificate_key=KEY)
    assert not outcome.changed
    assert "does not exist any more" in outcome.warnings[0]


def test_the_secret_of_a_run_is_read_by_its_name(root: Path) -> None:
    cluster = stored(name="kubephase-certs-abcdef")
    with pytest.raises(Unusable, match="Secret kube-system/kubeadm-certs: it does not exist"):
        download(root, cluster, certificate_key=KEY)
    assert download(root, cluster, certificate_key=KEY, secret_name="kubephase-certs-abcdef").changed


@pytest.mark.parametrize("options", [{"certificate_key": KEY}, {"certificate_key_given": True}])
def test_before_discovery_a_check_tells_what_would_come_and_a_run_what_is_lacking(tmp_path: Path, options: dict[str, Any]) -> None:
    checked = download(tmp_path, Asked(), check=True, **options)
    assert {change.target for change in checked.plan.changes} == set(PATHS.values())
    with pytest.raises(Unusable, match="Run cluster_discovery first" if "certificate_key" in options else "Give certificate_key"):
        download(tmp_path, Asked(), **options)
    assert pki(tmp_path) == {}


def test_a_check_says_what_the_run_then_does(root: Path) -> None:
    cluster = stored()
    checked = download(root, cluster, check=True, certificate_key=KEY)
    assert pki(root) == {}
    told = [(each.target, each.reason, each.before, each.after) for each in checked.plan.changes]
    assert told == [
        (each.target, each.reason, each.before, each.after) for each in download(root, cluster, certificate_key=KEY).plan.changes
    ]


def test_nothing_secret_is_shown(root: Path) -> None:
    cluster = stored()
    said = everything_said(download(root, cluster, certificate_key=KEY))
    for secret in (KEY, "canary", cluster.objects[SECRET]["data"]["ca.key"]):
        assert secret not in said


def test_the_way_that_does_not_lead_to_this_host_is_taken(tmp_path: Path) -> None:
    """After kubelet-start the bootstrap kubeconfig leads to the API server that this host has yet to start."""
    put(tmp_path, BOOTSTRAP)
    put(tmp_path, ADMIN)
    files = Files(str(tmp_path))
    world = World(files=files, api=stored(), bootstrap_api=None, later=Later(), host=Host())
    documents = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}
    assert execute(DownloadCertsPhase(), world, documents, {"becomes": "control_plane", "certificate_key": KEY}).changed
