# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bootstrap-token phase: which tokens are made, kept, listed and removed, and what stands beside them."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from unit.tokens.cluster import Cluster, StoppedInBetween, everything_said, observed, perform, secret_texts, write_admin

from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ApplyObject, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO

GROUP = "system:bootstrappers:kubeadm:default-node-token"
FIRST, SECOND = "aaaaaa.canary0000000001", "bbbbbb.canary0000000002"
DAY = timedelta(hours=24)
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose admin.conf leads to the cluster."""
    write_admin(tmp_path)
    return tmp_path


def phase(root: Path, cluster: Cluster, *listed: dict[str, Any], version: str = "v1.37.1", **options: Any) -> Any:
    documents = {"ClusterConfiguration": {"kubernetesVersion": version}, "InitConfiguration": {"bootstrapTokens": list(listed)}}
    return perform(BootstrapTokenPhase(), root, cluster, documents, **{"ttl": DAY, **options})


def tokens(cluster: Cluster) -> list[str]:
    prefix = "bootstrap-token-"
    return sorted(key.name[len(prefix) :] for key in cluster.objects if key.name.startswith(prefix))


def done(outcome: Any) -> dict[str, str]:
    return {fact["id"]: fact["done"] for fact in outcome.plan.facts["tokens"]}


def test_a_token_of_the_documents_is_stored_as_kubeadm_stores_it(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {"description": "the first", "ttl": "2h"}, tokens=[FIRST])
    assert secret_texts(cluster, "bootstrap-token-aaaaaa") == {
        "token-id": "aaaaaa",
        "token-secret": "canary0000000001",
        "description": "the first",
        "expiration": "2026-01-01T02:00:00Z",
        "usage-bootstrap-signing": "true",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": GROUP,
    }
    secret = cluster.objects[ObjectKey("v1", "Secret", "kube-system", "bootstrap-token-aaaaaa")]
    assert secret["type"] == "bootstrap.kubernetes.io/token"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({}, {"expiration": "2026-01-02T00:00:00Z"}),
        ({"ttl": "0s"}, {"expiration": None}),
        ({"expires": "2027-05-06T07:08:09Z"}, {"expiration": "2027-05-06T07:08:09Z"}),
        ({"expires": "2027-05-06T07:08:09.123456789+02:30"}, {"expiration": "2027-05-06T04:38:09Z"}),
        ({"usages": ["authentication"]}, {"usage-bootstrap-signing": None, "usage-bootstrap-authentication": "true"}),
        (
            {"groups": ["system:bootstrappers:a", "system:bootstrappers:b"]},
            {"auth-extra-groups": "system:bootstrappers:a,system:bootstrappers:b"},
        ),
        ({}, {"description": None}),
    ],
)
def test_what_an_entry_says_is_what_is_stored(root: Path, entry: dict[str, Any], expected: dict[str, str | None]) -> None:
    cluster = Cluster()
    phase(root, cluster, entry, tokens=[FIRST])
    stored = secret_texts(cluster, "bootstrap-token-aaaaaa")
    assert {name: stored.get(name) for name in expected} == expected


def test_an_expiry_that_no_calendar_knows_is_refused(root: Path) -> None:
    with pytest.raises(ManyUnusable, match=r"tokens\[0\]: '2027-05-06T07:08:09\+99:99' is not a moment"):
        phase(root, Cluster(), {"expires": "2027-05-06T07:08:09+99:99"}, tokens=[FIRST])


def test_none_listed_none_made(root: Path) -> None:
    cluster = Cluster()
    outcome = phase(root, cluster)
    assert outcome.changed
    assert tokens(cluster) == []
    assert CLUSTER_INFO in cluster.objects


def test_an_entry_without_a_value_gets_one_and_nobody_is_told(root: Path) -> None:
    cluster = Cluster()
    outcome = phase(root, cluster, {"description": "drawn"}, {}, tokens=["", SECOND])
    (drawn,) = [name for name in tokens(cluster) if name != "bbbbbb"]
    texts = secret_texts(cluster, f"bootstrap-token-{drawn}")
    assert texts["description"] == "drawn"
    assert len(texts["token-secret"]) == 16
    assert texts["token-secret"] not in everything_said(outcome)
    assert not phase(root, cluster, {"description": "drawn"}, {}, tokens=["", SECOND], create="always").changed


@pytest.mark.parametrize(
    ("create", "made"),
    [("auto", []), ("always", ["aaaaaa"])],
)
def test_a_token_that_is_gone_comes_back_only_when_asked(root: Path, create: str, made: list[str]) -> None:
    cluster = Cluster()
    phase(root, cluster, {}, tokens=[FIRST])
    del cluster.objects[ObjectKey("v1", "Secret", "kube-system", "bootstrap-token-aaaaaa")]
    outcome = phase(root, cluster, {}, tokens=[FIRST], create=create)
    assert tokens(cluster) == made
    assert outcome.changed == bool(made)
    assert done(outcome) == {"aaaaaa": "created" if made else "left out"}


def test_run_again_later_nothing_moves_and_no_life_is_extended(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {}, {}, tokens=[FIRST, SECOND])
    before, writes = dict(cluster.objects), cluster.writes
    outcome = phase(root, cluster, {"ttl": "48h"}, {"description": "new"}, tokens=[FIRST, SECOND], create="always", after=DAY / 2)
    assert not outcome.changed
    assert (cluster.objects, cluster.writes) == (before, writes)
    assert done(outcome) == {"aaaaaa": "kept", "bbbbbb": "kept"}


def test_somebody_elses_token_of_the_same_id_stays_with_a_warning(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {}, tokens=[FIRST])
    outcome = phase(root, cluster, {}, tokens=["aaaaaa.othercanary00002"], create="always")
    assert not outcome.changed
    assert outcome.warnings == ("The bootstrap token aaaaaa exists with another secret: kept as it is",)
    assert secret_texts(cluster, "bootstrap-token-aaaaaa")["token-secret"] == "canary0000000001"


def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(root: Path) -> None:
    whole = Cluster()
    phase(root, whole, {}, {}, tokens=[FIRST, SECOND])
    for writes in range(whole.writes):
        cluster = Cluster(patience=writes)
        with pytest.raises(StoppedInBetween):
            phase(root, cluster, {}, {}, tokens=[FIRST, SECOND])
        cluster.patience = 10**6
        phase(root, cluster, {}, {}, tokens=[FIRST, SECOND])
        assert set(cluster.objects) == set(whole.objects), f"killed after {writes} writes"
        assert not phase(root, cluster, {}, {}, tokens=[FIRST, SECOND]).changed


def test_a_fresh_token_is_handed_back_and_shown_nowhere(root: Path) -> None:
    cluster = Cluster()
    outcome = phase(root, cluster, mint=True, ttl=timedelta(minutes=30), description="join")
    token = outcome.facts["minted_token"]
    identifier, _, secret = token.partition(".")
    assert secret_texts(cluster, f"bootstrap-token-{identifier}") == {
        "token-id": identifier,
        "token-secret": secret,
        "description": "join",
        "expiration": "2026-01-01T00:30:00Z",
        "usage-bootstrap-signing": "true",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": GROUP,
    }
    assert secret not in everything_said(outcome)
    again = phase(root, cluster, mint=True)
    assert again.facts["minted_token"] != token
    assert len(tokens(cluster)) == 2


def test_a_fresh_token_comes_into_being_only_in_a_real_run(root: Path) -> None:
    cluster = Cluster()
    checked = phase(root, cluster, mint=True, check=True)
    assert "minted_token" not in checked.facts
    real = phase(root, cluster, mint=True)
    assert interpreter.diff(checked.plan) == interpreter.diff(real.plan)


def test_a_fresh_token_for_signing_alone_has_no_groups(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, mint=True, usages=["signing"])
    (name,) = tokens(cluster)
    assert "auth-extra-groups" not in secret_texts(cluster, f"bootstrap-token-{name}")


def test_without_a_lifetime_it_is_kubeadms(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, tokens=[FIRST], ttl=None)
    assert secret_texts(cluster, "bootstrap-token-aaaaaa")["expiration"] == "2026-01-02T00:00:00Z"


def test_values_beyond_the_documents_take_the_options(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {"description": "listed"}, tokens=[FIRST, SECOND], description="extra", ttl=timedelta(0))
    assert secret_texts(cluster, "bootstrap-token-aaaaaa")["description"] == "listed"
    extra = secret_texts(cluster, "bootstrap-token-bbbbbb")
    assert (extra["description"], extra.get("expiration")) == ("extra", None)


@pytest.mark.parametrize(
    ("options", "removed"),
    [
        ({"token_ids": ["aaaaaa"]}, ["aaaaaa"]),
        ({"token_ids": ["zzzzzz"]}, []),
        ({"description": "mine"}, ["aaaaaa"]),
        ({"description": "min"}, []),
        ({"description": ""}, []),
        ({"token_ids": ["bbbbbb"], "description": "mine"}, ["aaaaaa", "bbbbbb"]),
    ],
)
def test_only_what_is_named_is_removed(root: Path, options: dict[str, Any], removed: list[str]) -> None:
    cluster = Cluster()
    phase(root, cluster, {"description": "mine"}, {"description": "theirs"}, {}, tokens=[FIRST, SECOND, "cccccc.canary0000000003"])
    objects = len(cluster.objects)
    outcome = phase(root, cluster, state="absent", **options)
    assert [change.target for change in outcome.plan.changes] == [f"Secret kube-system/bootstrap-token-{name}" for name in removed]
    assert tokens(cluster) == sorted({"aaaaaa", "bbbbbb", "cccccc"} - set(removed))
    assert len(cluster.objects) == objects - len(removed)
    assert [name for name, what in done(outcome).items() if what == "removed"] == removed
    assert not phase(root, cluster, state="absent", **options).changed


def test_the_list_tells_all_but_the_secret(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {"description": "one"}, tokens=[FIRST])
    cluster.apply(
        ApplyObject(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "bootstrap-token-broken", "namespace": "kube-system"},
                "type": "bootstrap.kubernetes.io/token",
                "data": {"token-secret": "%%%", "usage-bootstrap-signing": base64.b64encode(b"false").decode()},
            }
        )
    )
    writes = cluster.writes
    outcome = phase(root, cluster, state="listed")
    assert not outcome.changed
    assert cluster.writes == writes
    assert outcome.plan.facts["tokens"] == [
        {
            "id": "aaaaaa",
            "description": "one",
            "expires": "2026-01-02T00:00:00Z",
            "usages": ["authentication", "signing"],
            "groups": [GROUP],
            "done": "kept",
        },
        {"id": "broken", "description": "", "expires": "", "usages": [], "groups": [], "done": "kept"},
    ]
    assert "canary" not in everything_said(outcome)


def test_check_mode_says_the_same_and_writes_nothing(root: Path) -> None:
    cluster = Cluster()
    checked = phase(root, cluster, {}, tokens=[FIRST], check=True)
    assert cluster.writes == 0
    real = phase(root, cluster, {}, tokens=[FIRST])
    assert [(each.target, each.reason, each.after) for each in checked.plan.changes] == [
        (each.target, each.reason, each.after) for each in real.plan.changes
    ]
    assert checked.plan.facts == real.plan.facts


def test_on_a_virgin_host_everything_would_be_made(tmp_path: Path) -> None:
    cluster = Cluster()
    outcome = phase(tmp_path, cluster, {}, tokens=[FIRST], check=True)
    assert [change.target for change in outcome.plan.changes][:2] == [
        "Secret kube-system/bootstrap-token-aaaaaa",
        "ClusterRole kubeadm:get-nodes",
    ]
    (info,) = [change for change in outcome.plan.changes if change.target == "ConfigMap kube-public/cluster-info"]
    assert "https://192.0.2.10:6443" in info.after
    assert not phase(tmp_path, cluster, state="absent", token_ids=["aaaaaa"]).changed
    assert phase(tmp_path, cluster, state="listed").plan.facts == {"tokens": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": ["canary-no-token"]}, r"tokens\[0\]: a text of 15 characters is not a bootstrap token"),
        ({"tokens": [FIRST, "AAAAAA.canary0000000001"]}, r"tokens\[1\]: a text of 23 characters is not a bootstrap token"),
        ({"tokens": [FIRST, "aaaaaa.canary0000000009"]}, r"tokens: the id aaaaaa is there more than once"),
        ({"groups": ["system:masters"], "mint": True}, r"groups: 'system:masters' is not a group of tokens"),
        ({"groups": ["system:bootstrappers:x"], "usages": ["signing"]}, r"groups: the usages leave out authentication"),
        ({"state": "absent", "token_ids": [FIRST]}, r"token_ids: a text of 23 characters is not the id of a token"),
    ],
)
def test_bad_input_is_one_clear_error_without_a_secret(root: Path, options: dict[str, Any], message: str) -> None:
    cluster = Cluster()
    with pytest.raises(ManyUnusable, match=message) as refusal:
        phase(root, cluster, **options)
    assert "canary" not in str(refusal.value)
    assert cluster.writes == 0


def test_documents_are_judged_before(root: Path) -> None:
    with pytest.raises(InvalidDocuments, match="a group that starts with system:bootstrappers:"):
        phase(root, Cluster(), {"groups": ["system:masters"]}, tokens=[FIRST])


def test_no_token_in_anything_that_is_shown(root: Path) -> None:
    cluster = Cluster()
    made = phase(root, cluster, {}, {}, tokens=[FIRST, SECOND])
    kept = phase(root, cluster, {}, {}, tokens=[FIRST, SECOND])
    gone = phase(root, cluster, state="absent", token_ids=["aaaaaa"])
    for outcome in (made, kept, gone):
        assert "canary" not in everything_said(outcome)
        assert base64.b64encode(b"canary0000000001").decode() not in everything_said(outcome)


def test_what_was_read_may_be_printed(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster, {}, tokens=[FIRST])
    assert "canary" not in repr(observed(BootstrapTokenPhase(), root, cluster))
