# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets leave the documents, come back, and show in no message and no repr."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from config_cases import KEY, PIN, TOKEN

from ansible_collections.kubephase.cluster.plugins.module_utils._config import (
    InvalidDocuments,
    Secrets,
    join_secrets,
    resolve,
    split_secrets,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical

OTHER = "ghijkl.0123456789ghijkl"
WHOLE: dict[str, Any] = {
    "ClusterConfiguration": {"kubernetesVersion": "v1.37.1"},
    "InitConfiguration": {
        "bootstrapTokens": [{"token": TOKEN}, {"description": "made on the node"}, {"token": OTHER}],
        "certificateKey": KEY,
    },
    "JoinConfiguration": {
        "controlPlane": {"certificateKey": KEY},
        "discovery": {
            "bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "10.0.0.1:6443", "caCertHashes": [PIN]},
            "tlsBootstrapToken": OTHER,
        },
    },
}


def test_split_takes_every_secret_and_nothing_else() -> None:
    before = copy.deepcopy(WHOLE)
    left, secrets = split_secrets(WHOLE)
    assert before == WHOLE
    assert secrets.plain() == {
        "InitConfiguration.bootstrapTokens[0].token": TOKEN,
        "InitConfiguration.bootstrapTokens[2].token": OTHER,
        "InitConfiguration.certificateKey": KEY,
        "JoinConfiguration.controlPlane.certificateKey": KEY,
        "JoinConfiguration.discovery.bootstrapToken.token": TOKEN,
        "JoinConfiguration.discovery.tlsBootstrapToken": OTHER,
    }
    assert not any(secret in repr(left) for secret in (TOKEN, OTHER, KEY))
    assert join_secrets(left, secrets) == WHOLE


def test_documents_are_valid_with_and_without_their_secrets() -> None:
    left, secrets = split_secrets(WHOLE)
    without, whole = resolve(left), resolve(left, secrets=secrets)
    assert [token.token for token in without.init.bootstrap_tokens] == ["", "", ""]
    assert [token.token for token in whole.init.bootstrap_tokens] == [TOKEN, "", OTHER]
    assert whole.join is not None and whole.join.discovery.tls_bootstrap_token == OTHER
    assert whole.join.control_plane is not None and whole.join.control_plane.certificate_key == KEY


def test_the_discovery_token_serves_for_tls_bootstrap_too() -> None:
    documents = copy.deepcopy(WHOLE)
    del documents["JoinConfiguration"]["discovery"]["tlsBootstrapToken"]
    left, secrets = split_secrets(documents)
    join = resolve(left, secrets=secrets).join
    assert join is not None and join.discovery.tls_bootstrap_token == TOKEN


def test_a_missing_token_is_judged_only_when_secrets_are_known() -> None:
    left, _secrets = split_secrets(WHOLE)
    resolve(left)
    with pytest.raises(InvalidDocuments) as caught:
        resolve(left, secrets=Secrets())
    assert [problem.where for problem in caught.value.problems] == ["JoinConfiguration.discovery.bootstrapToken.token"]


def test_nothing_is_shown() -> None:
    left, secrets = split_secrets(WHOLE)
    texts = [repr(secrets), str(secrets), repr(resolve(left, secrets=secrets)), repr(Source("x", None, WHOLE))]
    texts.append(repr(canonical([Source("x", kind, body) for kind, body in WHOLE.items()])))
    assert not any(secret in text for secret in (TOKEN, OTHER, KEY) for text in texts)


LEAKS: list[tuple[str, Any]] = [
    ("InitConfiguration", {"bootstrapTokens": TOKEN}),
    ("InitConfiguration", {"bootstrapTokens": [TOKEN]}),
    ("InitConfiguration", {"bootstrapTokens": {"token": TOKEN}}),
    ("InitConfiguration", {"bootstrapTokens": [{"token": TOKEN + "x"}]}),
    ("InitConfiguration", {"bootstrapTokens": [{"token": [TOKEN]}]}),
    ("InitConfiguration", {"bootstrapTokens": [{"tokn": TOKEN}]}),
    ("InitConfiguration", {"certificateKey": TOKEN}),
    ("InitConfiguration", {"certificatekey": TOKEN}),
    ("InitConfiguration", TOKEN),
    ("JoinConfiguration", {"discovery": TOKEN}),
    ("JoinConfiguration", {"discovery": {"bootstrapToken": TOKEN}}),
    ("JoinConfiguration", {"discovery": {"tlsBootstrapToken": TOKEN + "x"}}),
    ("JoinConfiguration", {"discovery": {"token": TOKEN}}),
    ("JoinConfiguration", {"controlPlane": TOKEN}),
    ("JoinConfiguration", {"controlPlane": {"certificateKey": TOKEN}}),
    ("ClusterConfiguration", {"apiServer": {"extraEnvs": TOKEN}}),
    ("ClusterConfiguration", {"apiServer": {"extraEnvs": [{"name": "A", "value": [TOKEN]}]}}),
    ("KubeletConfiguration", {"staticPodURLHeader": {"Authorization": TOKEN}}),
]


@pytest.mark.parametrize(("kind", "body"), LEAKS)
def test_a_misplaced_secret_is_refused_without_being_shown(kind: str, body: Any) -> None:
    for attempt in (lambda: canonical([Source("vars", kind, body)]).documents, lambda: {kind: body}):
        with pytest.raises(InvalidDocuments) as caught:
            resolve(attempt(), secrets=Secrets())
        assert TOKEN not in str(caught.value)


def test_secrets_that_fit_nowhere() -> None:
    with pytest.raises(InvalidDocuments) as caught:
        join_secrets({"InitConfiguration": {}}, Secrets({"InitConfiguration.bootstrapTokens[0].token": TOKEN}))
    assert "bootstrapTokens[0]" in str(caught.value) and TOKEN not in str(caught.value)


@pytest.mark.parametrize("given", [None, TOKEN, [TOKEN], {"InitConfiguration.certificateKey": [TOKEN]}])
def test_the_plain_form_is_checked(given: Any) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        Secrets.of(given)
    assert TOKEN not in str(caught.value)


def test_the_plain_form_there_and_back() -> None:
    _left, secrets = split_secrets(WHOLE)
    assert Secrets.of(secrets.plain()) == secrets
