# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bootstrap-token phase against kubeadm's: the same documents into two API servers, compared object by object."""

from __future__ import annotations

import base64
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read
from ansible_collections.kubephase.cluster.tests.parity.apiserver import SUPER_ADMIN, ApiServer, kubeadms_api, our_api
from ansible_collections.kubephase.cluster.tests.parity.cases import FIRST_V1BETA4_MINOR, RELEASES, minor_of
from ansible_collections.kubephase.cluster.tests.parity.oracle import kubeadm, run_kubeadm

__all__ = ["kubeadms_api", "our_api"]

SLACK = timedelta(minutes=3)

PLAIN = """
bootstrapTokens:
- token: abcdef.0123456789abcdef
"""
RICH = """
bootstrapTokens:
- token: abcdef.0123456789abcdef
  ttl: 1h30m0s
  description: for the workers, with a comma
- token: 00zz00.zzzzzzzzzzzzzzzz
  ttl: 0s
  usages: [authentication]
  groups: ["system:bootstrappers:one", "system:bootstrappers:kubeadm:default-node-token"]
- token: sssss1.1111111111111111
  usages: [authentication, signing]
"""
DOCUMENTS = {"plain": PLAIN, "rich": RICH}


def document(release: str, tokens: str) -> str:
    """A kubeadm.yaml for a release."""
    version = "v1beta4" if minor_of(release) >= FIRST_V1BETA4_MINOR else "v1beta3"
    return (
        f"apiVersion: kubeadm.k8s.io/{version}\nkind: InitConfiguration\n{tokens.strip()}\n"
        "localAPIEndpoint:\n  advertiseAddress: 192.0.2.10\n"
        "nodeRegistration:\n  name: cp1\n  criSocket: unix:///var/run/containerd/containerd.sock\n"
        f"---\napiVersion: kubeadm.k8s.io/{version}\nkind: ClusterConfiguration\nkubernetesVersion: v{release}\n"
    )


def kubeadm_does(server: ApiServer, release: str, tokens: str) -> None:
    server.kubeadm(release, document(release, tokens), "init", "phase", "bootstrap-token")


def we_do(server: ApiServer, release: str, tokens: str, **options: Any) -> Outcome:
    public, secrets = split_secrets(canonical(read(document(release, tokens), "kubeadm.yaml")).documents)
    given = {"tokens": list(secrets.plain().values()), "ttl": timedelta(hours=24), **options}
    world = server.world()
    return execute(BootstrapTokenPhase(), server.world(api=world.api, mint=Mint(world.api)), public, given)


def expirations(server: ApiServer) -> dict[str, datetime]:
    found = {}
    for key, each in server.objects().items():
        if key.name.startswith("bootstrap-token-") and "expiration" in each["data"]:
            text = base64.b64decode(each["data"]["expiration"]).decode()
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
            found[key.name] = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found


def comparable(server: ApiServer) -> dict[ObjectKey, Any]:
    """All objects, without the port of the server and the moment at which a token was made."""
    found = server.objects()
    for key, each in found.items():
        if key.kind == "ConfigMap" and key.name == "cluster-info":
            each["data"]["kubeconfig"] = each["data"]["kubeconfig"].replace(f":{server.port}\n", ":PORT\n")
        if key.name.startswith("bootstrap-token-") and "expiration" in each["data"]:
            each["data"]["expiration"] = "some time"
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_same_objects_as_kubeadm(kubeadms_api: ApiServer, our_api: ApiServer, release: str, name: str) -> None:
    kubeadm_does(kubeadms_api, release, DOCUMENTS[name])
    we_do(our_api, release, DOCUMENTS[name])
    theirs, ours = comparable(kubeadms_api), comparable(our_api)
    assert ours == theirs
    assert len(theirs) >= 9
    moments, expected = expirations(our_api), expirations(kubeadms_api)
    assert set(moments) == set(expected)
    assert all(abs(moments[each] - expected[each]) < SLACK for each in expected)


@pytest.mark.parametrize("release", RELEASES)
def test_run_again_nothing_is_written(our_api: ApiServer, release: str) -> None:
    we_do(our_api, release, RICH)
    before = our_api.versions()
    assert not we_do(our_api, release, RICH).changed
    assert our_api.versions() == before


@pytest.mark.parametrize("release", RELEASES)
def test_what_kubeadm_made_is_kept(kubeadms_api: ApiServer, release: str) -> None:
    kubeadm_does(kubeadms_api, release, PLAIN)
    before = kubeadms_api.versions()
    outcome = we_do(kubeadms_api, release, PLAIN)
    assert [change.target for change in outcome.plan.changes] == []
    assert kubeadms_api.versions() == before


def test_kubeadm_takes_what_we_made_for_its_own(our_api: ApiServer) -> None:
    we_do(our_api, "1.37.1", RICH)
    before = comparable(our_api)
    kubeadm_does(our_api, "1.37.1", RICH)
    assert comparable(our_api) == before
    assert not we_do(our_api, "1.37.1", RICH).changed


def test_a_planted_deviation_is_mended_and_nothing_else(our_api: ApiServer) -> None:
    we_do(our_api, "1.37.1", PLAIN)
    whole = comparable(our_api)
    name = "kubeadm:kubelet-bootstrap"
    binding = ObjectKey("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", name)
    foreign = {**our_api.object(binding), "subjects": [{"kind": "Group", "name": "strangers", "apiGroup": "rbac.authorization.k8s.io"}]}
    our_api.make(foreign)
    outcome = we_do(our_api, "1.37.1", PLAIN)
    assert [change.target for change in outcome.plan.changes] == [f"ClusterRoleBinding {name}"]
    assert comparable(our_api) == whole


def test_kubeadm_lists_a_token_of_ours_and_we_remove_it(our_api: ApiServer) -> None:
    minted = we_do(our_api, "1.37.1", "", mint=True, description="one of ours", ttl=timedelta(minutes=30))
    token = minted.facts["minted_token"]
    listed = run_kubeadm(kubeadm("1.37.1"), our_api.root, "token", "list", "--kubeconfig", SUPER_ADMIN)
    assert re.search(rf"{re.escape(token)}\s+29m\s.*one of ours", listed)
    assert we_do(our_api, "1.37.1", "", state="absent", description="one of ours").changed
    assert not expirations(our_api)
