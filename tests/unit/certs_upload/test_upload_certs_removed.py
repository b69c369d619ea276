# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of an upload: the Secret and the token that owns it are removed, and nothing that belongs to others."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from unit.certs_upload.uploads import KEY, OTHER, make_host, owner_name, owner_tokens, upload
from unit.tokens.cluster import Cluster

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A control plane with its files."""
    return make_host(tmp_path)


def test_an_external_authority_does_not_keep_a_secret_from_being_removed(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    (root / "etc/kubernetes/pki/ca.key").unlink()
    assert upload(root, cluster, state="absent").changed
    assert SECRET not in cluster.objects


@pytest.mark.parametrize(
    ("made_with", "options", "gone"),
    [
        (KEY, {"certificate_key": KEY}, True),
        (KEY, {}, True),
        (OTHER, {"certificate_key": KEY}, False),
        (OTHER, {"certificate_key": KEY, "overwrite": True}, True),
    ],
)
def test_removing_takes_the_secret_and_its_token_and_no_other(root: Path, made_with: str, options: dict[str, Any], gone: bool) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=made_with)
    stranger = ObjectKey("v1", "Secret", "kube-system", "bootstrap-token-strang")
    cluster.objects[stranger] = {"type": "bootstrap.kubernetes.io/token", "metadata": {"name": stranger.name}, "data": {}}
    outcome = upload(root, cluster, state="absent", **options)
    assert outcome.changed == gone
    assert (SECRET not in cluster.objects) == gone
    assert stranger in cluster.objects
    assert len(owner_tokens(cluster)) == (1 if gone else 2)
    assert bool(outcome.warnings) != gone
    assert not upload(root, cluster, state="absent", **options).changed


def test_an_owner_that_people_log_in_with_is_not_removed(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    owner = ObjectKey("v1", "Secret", "kube-system", owner_name(cluster))
    cluster.objects[owner]["data"]["usage-bootstrap-authentication"] = base64.b64encode(b"true").decode()
    upload(root, cluster, state="absent")
    assert owner in cluster.objects
    assert SECRET not in cluster.objects


def test_a_namesake_of_the_owner_is_not_removed(root: Path) -> None:
    cluster = Cluster()
    upload(root, cluster, certificate_key=KEY)
    owner = ObjectKey("v1", "Secret", "kube-system", owner_name(cluster))
    cluster.objects[owner]["metadata"]["uid"] = "made later by somebody else"
    upload(root, cluster, state="absent")
    assert owner in cluster.objects
