# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The signature of cluster-info: a real one, and everything that is none."""

from __future__ import annotations

import base64

import pytest
from unit.discovery.clusters import IDENTIFIER, SECRET, jws

from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.signature import complaint

TEXT = "the kubeconfig\n"
GOOD = jws(TEXT)
HEADER, SEAL = GOOD.split("..")

# What the controller manager of a cluster, release 1.37.1, made of this text with the token abcdef.0123456789abcdef.
REAL_TEXT = 'apiVersion: v1\nclusters:\n- cluster:\n    server: https://api.example.test:6443\n  name: ""\nkind: Config\n'
REAL_SIGNATURE = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..gT4icwCv7YjqzQC-ysA1PF30ngbjoVa4-3r9D_JQHnw"


def test_a_good_one() -> None:
    assert complaint(GOOD, TEXT, IDENTIFIER, SECRET) == ""


def test_one_of_the_controller_manager() -> None:
    assert complaint(REAL_SIGNATURE, REAL_TEXT, "abcdef", "0123456789abcdef") == ""
    assert complaint(REAL_SIGNATURE, REAL_TEXT, "abcdef", "0123456789abcdeg") == "its signature does not fit the token's secret"
    assert jws(REAL_TEXT, "abcdef", "0123456789abcdef") == REAL_SIGNATURE


def header(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("signature", "told"),
    [
        ("", "not a detached JWS"),
        ("..", "not a detached JWS"),
        (HEADER, "not a detached JWS"),
        (f"{HEADER}..", "not a detached JWS"),
        (f"..{SEAL}", "not a detached JWS"),
        (f"{HEADER}.{header(TEXT)}.{SEAL}", "not a detached JWS"),
        (f"{HEADER}..{SEAL}..x", "not a detached JWS"),
        (f"{HEADER}..{SEAL}=", "not a detached JWS"),
        (f"{HEADER}..ü", "not a detached JWS"),
        (f"{header('[' * 100000)}..{SEAL}", "not a detached JWS"),
        (f"{header('[]')}..{SEAL}", "not of the kind HS256"),
        (f"{header('{}')}..{SEAL}", "not of the kind HS256"),
        (jws(TEXT, header={"alg": "none", "kid": IDENTIFIER}), "not of the kind HS256"),
        (f"{header('{')}..{SEAL}", "not a detached JWS"),
        (jws(TEXT, header={"alg": "HS384", "kid": IDENTIFIER}), "not of the kind HS256"),
        (jws(TEXT, header={"alg": "HS256", "kid": "other1"}), "another token"),
        (jws(TEXT, header={"alg": "HS256"}), "another token"),
        (jws(TEXT, header={"alg": "HS256", "kid": IDENTIFIER, "crit": ["b64"], "b64": False}), "must be understood"),
        (jws(TEXT, secret="x" * 16), "does not fit the token's secret"),
        (jws(TEXT + "x"), "does not fit the token's secret"),
        (f"{HEADER}..{SEAL[:-3]}", "does not fit the token's secret"),
    ],
)
def test_what_is_not_believed(signature: str, told: str) -> None:
    wrong = complaint(signature, TEXT, IDENTIFIER, SECRET)
    assert told in wrong
    assert SECRET not in wrong
