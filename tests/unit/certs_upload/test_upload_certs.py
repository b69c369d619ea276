# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-certs phase: what is stored, what is kept, what is left alone and what is refused."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from unit.certs_upload.uploads import KEY, NAMES, OTHER, VALUES, contents, make_host, owner_name, owner_tokens, secret_fact, upload
from unit.tokens.cluster import Cluster, StoppedInBetween, everything_said, observed, secret_texts

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import encrypt
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import carried
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET, UploadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey

EXTERNAL = {"etcd": {"external": {"endpoints": ["https://e:2379"], "caFile": "/e/ca", "certFile": "/e/crt", "keyFile": "/e/key"}}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A control plane with its files."""
    return make_host(tmp_path)


def test_the_files_are_stored_encrypted_with_a_token_that_ends_their_life(root: Path) -> None:
    cluster = Cluster()
    outcome = upload(root, cluster, certificate_key=KEY)
    assert contents(cluster) == {name.replace("/", "-"): f"canary content of {name}\n".encode() for name in NAMES}
    assert contents(cluster, OTHER) is None
    token = secret_texts(cluster, owner_name(cluster))
    assert token == {
        "token-id": owner_name(cluster)[-6:],
        "token-secret": token["token-secret"],
        "description": "Proxy for managing TTL for the kubeadm-certs secret",
        "expiration": "2026-01-01T02:00:00Z",
    }
    assert cluster.objects[SECRET]["type"] == "Opaque"
    assert cluster.objects[SECRET]["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "name": owner_name(cluster),
            "uid": cluster.objects[ObjectKey("v1", "Secret", "kube-system", owner_name(cluster))]["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    role = cluster.objects[ObjectKey("rbac.authorization.k8s.io/v1", "Role", "kube-system", "kubeadm:kubeadm-certs")]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["kubeadm-certs"], "verbs": ["get"]}]
    assert secret_fact(outcome) == ("uploaded", True, "2026-01-01T02:00:00Z")
    assert "certificate_key" not in outcome.facts


def test_no_two_values_share_a_nonce(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    nonces = {base64.b64decode(value)[:12] for value in cluster.objects[SECRET]["data"].values()}
    assert len(nonces) == len(NAMES)


def test_without_a_key_one_is_made_and_handed_back(root: Path) -> None:
    cluster = Cluster()
    outcome = upload(root, cluster)
    key = outcome.facts["certificate_key"]
    assert len(bytes.fromhex(key)) == 32
    assert contents(cluster, key) is not None
    assert key not in everything_said(outcome)
    # Run again it has no key, so it cannot tell and must not touch.
    again = upload(root, cluster)
    assert not again.changed
    assert "certificate_key" not in again.facts
    assert "was left alone: no certificate_key was given that could open it" in again.warnings[0]
    assert secret_fact(again) == ("kept", False, "2026-01-01T02:00:00Z")
    assert secret_fact(upload(root, cluster, certificate_key=key)) == ("kept", True, "2026-01-01T02:00:00Z")


def test_nothing_moves_when_run_again(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    writes = cluster.writes
    outcome = upload(root, cluster, certificate_key=KEY.upper(), after=timedelta(hours=1))
    assert not outcome.changed
    assert not outcome.warnings
    assert cluster.writes == writes
    assert secret_fact(outcome) == ("kept", True, "2026-01-01T02:00:00Z")


def renew(root: Path, cluster: Cluster) -> None:
    (root / "etc/kubernetes/pki/ca.key").write_text("another canary\n")


def add_value(root: Path, cluster: Cluster) -> None:
    cluster.objects[SECRET]["data"]["stranger.key"] = base64.b64encode(encrypt(b"x", bytes.fromhex(KEY))).decode()


def drop_value(root: Path, cluster: Cluster) -> None:
    del cluster.objects[SECRET]["data"]["sa.pub"]


def orphan(root: Path, cluster: Cluster) -> None:
    del cluster.objects[ObjectKey("v1", "Secret", "kube-system", owner_name(cluster))]


def disown(root: Path, cluster: Cluster) -> None:
    del cluster.objects[SECRET]["metadata"]["ownerReferences"]


def leave(root: Path, cluster: Cluster) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("deed", "hours", "reason", "left"),
    [
        (renew, 0, "it differs from the files on this host: ca.key", 1),
        (add_value, 0, "it differs from the files on this host: stranger.key", 1),
        (drop_value, 0, "it differs from the files on this host: sa.pub", 1),
        (orphan, 0, "no token ends its life", 1),
        (disown, 0, "no token ends its life", 2),
        (leave, 2, "it expired on 2026-01-01T02:00:00Z", 1),
    ],
)
def test_a_secret_that_does_not_fit_is_replaced(
    root: Path, deed: Callable[[Path, Cluster], None], hours: int, reason: str, left: int
) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    deed(root, cluster)
    outcome = upload(root, cluster, certificate_key=KEY, after=timedelta(hours=hours))
    assert [(change.target, change.reason) for change in outcome.plan.changes] == [(str(SECRET), reason)]
    assert sorted(contents(cluster) or {}) == VALUES
    assert len(owner_tokens(cluster)) == left
    assert owner_name(cluster) in owner_tokens(cluster)
    assert not upload(root, cluster, certificate_key=KEY, after=timedelta(hours=hours)).changed


def test_a_secret_of_another_key_is_left_alone_unless_asked(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=OTHER)
    before, writes = dict(cluster.objects), cluster.writes
    outcome = upload(root, cluster, certificate_key=KEY)
    assert not outcome.changed
    assert outcome.warnings == (
        "Secret kube-system/kubeadm-certs was left alone: it does not open with the given certificate_key. Set overwrite to replace it",
    )
    assert secret_fact(outcome) == ("kept", False, "2026-01-01T02:00:00Z")
    assert (cluster.objects, cluster.writes) == (before, writes)
    asked = upload(root, cluster, certificate_key=KEY, overwrite=True)
    assert [change.reason for change in asked.plan.changes] == ["it was encrypted with another key"]
    assert contents(cluster) is not None
    assert len(owner_tokens(cluster)) == 1


def test_overwrite_without_a_key_makes_a_new_one(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=OTHER)
    outcome = upload(root, cluster, overwrite=True)
    assert contents(cluster, outcome.facts["certificate_key"]) is not None


@pytest.mark.parametrize("value", ["%%%", base64.b64encode(b"short").decode(), base64.b64encode(b"x" * 60).decode()])
def test_a_value_that_nobody_can_open_counts_as_sealed(root: Path, value: str) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    cluster.objects[SECRET]["data"]["ca.key"] = value
    assert secret_fact(upload(root, cluster, certificate_key=KEY)) == ("kept", False, "2026-01-01T02:00:00Z")


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        (["ca.key"], ["ca.key: it is not on this host (external CA)"]),
        (["front-proxy-ca.key"], ["front-proxy-ca.key: it is not on this host (external front-proxy CA)"]),
        (["ca.key", "front-proxy-ca.key"], ["(external CA)", "(external front-proxy CA)"]),
    ],
)
def test_an_external_authority_is_refused(root: Path, missing: list[str], found: list[str]) -> None:
    for name in missing:
        (root / "etc/kubernetes/pki" / name).unlink()
    cluster = Cluster()
    with pytest.raises(ManyUnusable) as refusal:
        upload(root, cluster, certificate_key=KEY)
    assert len(refusal.value.findings) == len(found)
    assert all(text in str(refusal.value) for text in found)
    assert cluster.writes == 0


def test_a_missing_file_is_stored_empty_and_spoken_of(root: Path) -> None:
    (root / "etc/kubernetes/pki/etcd/ca.key").unlink()
    cluster = Cluster()
    outcome = upload(root, cluster, certificate_key=KEY)
    assert outcome.warnings == ("/etc/kubernetes/pki/etcd/ca.key is not on this host: etcd-ca.key is stored empty",)
    assert cluster.objects[SECRET]["data"]["etcd-ca.key"] == ""
    assert "etcd-ca.key: empty\n" in outcome.plan.changes[0].after
    assert not upload(root, cluster, certificate_key=KEY).changed


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, {name.replace("/", "-"): f"/etc/kubernetes/pki/{name}" for name in NAMES}),
        (
            EXTERNAL,
            {
                **{name: f"/etc/kubernetes/pki/{name}" for name in NAMES[:6]},
                "external-etcd-ca.crt": "/e/ca",
                "external-etcd.crt": "/e/crt",
                "external-etcd.key": "/e/key",
            },
        ),
        ({"certificatesDir": "/srv/pki"}, {name.replace("/", "-"): f"/srv/pki/{name}" for name in NAMES}),
    ],
)
def test_which_files_are_carried(configuration: dict[str, Any], expected: dict[str, str]) -> None:
    assert carried(resolve({"ClusterConfiguration": configuration})) == expected


def test_an_external_etcd_without_tls_has_empty_values(root: Path) -> None:
    cluster = Cluster()
    plain = {"etcd": {"external": {"endpoints": ["http://e:2379"]}}}
    outcome = upload(root, cluster, plain, certificate_key=KEY)
    assert not outcome.warnings
    data = cluster.objects[SECRET]["data"]
    assert {name for name, value in data.items() if not value} == {"external-etcd-ca.crt", "external-etcd.crt", "external-etcd.key"}


@pytest.mark.parametrize("first", [None, OTHER])
def test_an_upload_that_is_killed_anywhere_is_finished_by_the_next(root: Path, first: str | None) -> None:
    for writes in range(1, 7):
        cluster = Cluster()
        if first:
            upload(root, cluster, certificate_key=first)
        cluster.patience = cluster.writes + writes
        try:
            upload(root, cluster, certificate_key=KEY, overwrite=True)
        except StoppedInBetween:
            cluster.patience = 10**6
            upload(root, cluster, certificate_key=KEY, overwrite=True)
        cluster.patience = 10**6
        assert sorted(contents(cluster) or {}) == VALUES
        assert owner_name(cluster) in owner_tokens(cluster)
        assert not upload(root, cluster, certificate_key=KEY).changed


def test_check_mode_says_the_same_and_writes_nothing(root: Path) -> None:
    cluster = Cluster()
    checked = upload(root, cluster, certificate_key=KEY, check=True)
    assert cluster.writes == 0
    real = upload(root, cluster, certificate_key=KEY)
    assert [(each.target, each.reason, each.after) for each in checked.plan.changes] == [
        (each.target, each.reason, each.after) for each in real.plan.changes
    ]


def test_on_a_virgin_host_all_would_be_uploaded(tmp_path: Path) -> None:
    outcome = upload(tmp_path, Cluster(), certificate_key=KEY, check=True)
    assert [change.target for change in outcome.plan.changes] == [
        "Secret kube-system/kubeadm-certs",
        "Role kube-system/kubeadm:kubeadm-certs",
        "RoleBinding kube-system/kubeadm:kubeadm-certs",
    ]
    assert not outcome.warnings
    assert not upload(tmp_path, Cluster(), state="absent").changed


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_key_that_is_none_is_refused_unseen(root: Path, state: str) -> None:
    cluster = Cluster()
    with pytest.raises(Unusable, match=r"^certificate_key: a text of 6 characters is not a certificate key") as refusal:
        upload(root, cluster, certificate_key="canary", state=state)
    assert "canary" not in str(refusal.value)


def test_without_a_lifetime_it_is_kubeadms(root: Path) -> None:
    assert secret_fact(upload(root, Cluster(), certificate_key=KEY, ttl=None)) == ("uploaded", True, "2026-01-01T02:00:00Z")


def test_a_secret_for_ever_is_refused(root: Path) -> None:
    with pytest.raises(ManyUnusable, match="ttl: it is 0, so the keys would lie in the cluster for ever"):
        upload(root, Cluster(), certificate_key=KEY, ttl=timedelta(0))


def test_no_key_and_no_content_in_anything_that_is_shown(root: Path) -> None:
    cluster = Cluster()
    shown = [upload(root, cluster, certificate_key=KEY)]
    token = secret_texts(cluster, owner_name(cluster))["token-secret"]
    renew(root, cluster)
    shown.append(upload(root, cluster, certificate_key=KEY))
    shown.append(upload(root, cluster, certificate_key=OTHER))
    shown.append(upload(root, cluster, state="absent"))
    said = "".join(everything_said(outcome) for outcome in shown)
    for secret in (KEY, OTHER, "canary", base64.b64encode(b"canary content")[:16].decode(), token):
        assert secret not in said


def test_what_was_read_may_be_printed(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    said = repr(observed(UploadCertsPhase(), root, cluster))
    assert "canary" not in said
    assert cluster.objects[SECRET]["data"]["ca.key"] not in said
