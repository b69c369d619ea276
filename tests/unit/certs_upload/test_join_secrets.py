# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secrets of a run of joins: made together, removed together, and never in anybody else's way."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from unit.certs_upload.uploads import NAMES, make_host
from unit.tokens.cluster import START, Cluster, StoppedInBetween, everything_said, secret_texts, write_admin
from unit.world import Host, StandingClock

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.join_secrets import JoinSecrets
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.contents import opened
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.join_secrets import DESCRIPTION, JoinSecretsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import Token, to_secret

GROUP = "system:bootstrappers:kubeadm:default-node-token"
RBAC = "rbac.authorization.k8s.io/v1"
EXPIRED = timedelta(minutes=36)


def authority() -> tuple[bytes, str]:
    key = generate_key("ECDSA-P256")
    pem = sign(Profile("kubernetes", START + timedelta(days=1), START, authority=True), key.public_key(), None, key).public_bytes(
        Encoding.PEM
    )
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return pem, f"sha256:{hashlib.sha256(public).hexdigest()}"


CA, PIN = authority()
SECOND_CA, SECOND_PIN = authority()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A control plane with its files."""
    make_host(tmp_path)
    write_admin(tmp_path, **{"certificate-authority-data": base64.b64encode(CA).decode()})
    return tmp_path


def cluster(*tokens: Token) -> Cluster:
    """A cluster that hosts can find, with some tokens."""
    found = Cluster()
    found.objects[CLUSTER_INFO] = {"metadata": {}}
    for token in tokens:
        found.objects[token.key] = to_secret(token)
    return found


def secrets(root: Path, api: Cluster, check: bool = False, after: timedelta = timedelta(0), **options: Any) -> Outcome:
    world = World(files=Files(str(root)), api=api, secrets=JoinSecrets(api), clock=StandingClock(START + after), host=Host())
    configuration = {"kubernetesVersion": "v1.37.1", **options.pop("configuration", {})}
    return execute(JoinSecretsPhase(), world, {"ClusterConfiguration": configuration}, options, check)


def absent(root: Path, api: Cluster, run: str, **options: Any) -> Outcome:
    return secrets(root, api, state="absent", run=run, **options)


def named(run: str) -> set[ObjectKey]:
    return {
        ObjectKey("v1", "Secret", "kube-system", f"bootstrap-token-{run}"),
        ObjectKey("v1", "Secret", "kube-system", f"kubephase-certs-{run}"),
        ObjectKey(RBAC, "Role", "kube-system", f"kubephase:join-{run}"),
        ObjectKey(RBAC, "RoleBinding", "kube-system", f"kubephase:join-{run}"),
    }


def test_a_token_for_workers(root: Path) -> None:
    api = cluster()
    outcome = secrets(root, api)
    facts = outcome.facts
    identifier, secret = facts["token"].split(".")
    assert secret_texts(api, f"bootstrap-token-{identifier}") == {
        "token-id": identifier,
        "token-secret": secret,
        "description": DESCRIPTION,
        "expiration": "2026-01-01T00:30:00Z",
        "usage-bootstrap-signing": "true",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": GROUP,
    }
    assert facts["run"] == identifier
    assert (facts["api_server_endpoint"], facts["ca_cert_hashes"]) == ("api.example.test:6443", [PIN])
    assert facts["ca_cert"] == CA.decode()
    assert (facts["expires"], facts["swept"]) == ("2026-01-01T00:30:00Z", [])
    assert not {"certificate_key", "certificates_secret"} & set(facts)
    assert len(api.objects) == 2
    assert outcome.changed


def test_certificates_for_control_planes(root: Path) -> None:
    api = cluster()
    facts = secrets(root, api, certificates=True, ttl=timedelta(minutes=10)).facts
    run = facts["run"]
    assert set(api.objects) == named(run) | {CLUSTER_INFO}
    carrier = api.objects[ObjectKey("v1", "Secret", "kube-system", facts["certificates_secret"])]
    assert opened(carrier["data"], facts["certificate_key"]) == {
        name.replace("/", "-"): f"canary content of {name}\n".encode() for name in NAMES
    }
    role = api.objects[ObjectKey(RBAC, "Role", "kube-system", f"kubephase:join-{run}")]
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [f"kubephase-certs-{run}"], "verbs": ["get"]}
    assert role["rules"] == [rule]
    binding = api.objects[ObjectKey(RBAC, "RoleBinding", "kube-system", f"kubephase:join-{run}")]
    assert binding["roleRef"]["name"] == f"kubephase:join-{run}"
    assert [subject["name"] for subject in binding["subjects"]] == [GROUP]
    token = api.objects[ObjectKey("v1", "Secret", "kube-system", f"bootstrap-token-{run}")]
    for owned in (carrier, role, binding):
        assert [(each["name"], each["uid"]) for each in owned["metadata"]["ownerReferences"]] == [
            (f"bootstrap-token-{run}", token["metadata"]["uid"])
        ]
    assert secret_texts(api, f"bootstrap-token-{run}")["expiration"] == "2026-01-01T00:10:00Z"


def test_every_authority_of_a_bundle_is_pinned(root: Path) -> None:
    write_admin(root, **{"certificate-authority-data": base64.b64encode(CA + b"\n# a comment\n" + SECOND_CA + CA).decode()})
    assert secrets(root, cluster(), check=True).facts["ca_cert_hashes"] == [PIN, SECOND_PIN]


@pytest.mark.parametrize(
    ("server", "endpoint"),
    [
        ("https://api.test:6443", "api.test:6443"),
        ("https://api.test", "api.test:443"),
        ("https://192.0.2.1:8443/", "192.0.2.1:8443"),
        ("https://[2001:db8::1]:6443", "[2001:db8::1]:6443"),
    ],
)
def test_the_endpoint_has_a_port(root: Path, server: str, endpoint: str) -> None:
    write_admin(root, **{"server": server, "certificate-authority-data": base64.b64encode(CA).decode()})
    assert secrets(root, cluster(), check=True).facts["api_server_endpoint"] == endpoint


def test_two_runs_at_once_do_not_meet(root: Path) -> None:
    api = cluster()
    api.objects[SECRET] = {"metadata": {"resourceVersion": "7"}, "data": {"ca.key": "of a kubeadm that joins"}}
    one = secrets(root, api, certificates=True).facts
    two = secrets(root, api, certificates=True, after=timedelta(minutes=1)).facts
    assert one["run"] != two["run"]
    assert two["swept"] == []
    for facts in (one, two):
        carrier = api.objects[ObjectKey("v1", "Secret", "kube-system", facts["certificates_secret"])]
        assert opened(carrier["data"], facts["certificate_key"]) is not None
    assert absent(root, api, one["run"]).changed
    assert set(api.objects) == named(two["run"]) | {CLUSTER_INFO, SECRET}
    assert absent(root, api, two["run"]).changed
    assert set(api.objects) == {CLUSTER_INFO, SECRET}
    assert api.objects[SECRET]["metadata"] == {"resourceVersion": "7"}


def test_removing_twice_changes_nothing(root: Path) -> None:
    api = cluster()
    run = secrets(root, api, certificates=True).facts["run"]
    removed = absent(root, api, run)
    assert next(change.target for change in removed.plan.changes) == f"Secret kube-system/bootstrap-token-{run}"
    writes = api.writes
    assert not absent(root, api, run).changed
    assert api.writes == writes


def test_what_the_cluster_removed_of_it_is_not_missed(root: Path) -> None:
    api = cluster()
    run = secrets(root, api, certificates=True).facts["run"]
    del api.objects[ObjectKey("v1", "Secret", "kube-system", f"bootstrap-token-{run}")]
    assert len(absent(root, api, run).plan.changes) == 3
    assert set(api.objects) == {CLUSTER_INFO}


FOREIGN = Token("foreig", "canary0000000001", "somebody's", "2026-01-01T00:00:00Z", ("signing",))


def test_nobody_elses_token_is_removed(root: Path) -> None:
    api = cluster(FOREIGN)
    outcome = absent(root, api, "foreig", after=timedelta(days=1))
    assert not outcome.changed
    assert outcome.warnings == ("Secret kube-system/bootstrap-token-foreig was left alone: no join made it",)
    assert secrets(root, api, after=timedelta(days=1)).facts["swept"] == []
    assert FOREIGN.key in api.objects


def test_a_namesake_of_the_carrier_is_not_removed(root: Path) -> None:
    api = cluster()
    namesake = ObjectKey("v1", "Secret", "kube-system", "kubephase-certs-abcdef")
    api.objects[namesake] = {"metadata": {"ownerReferences": [{"kind": "Secret", "name": "somebody"}]}}
    assert not absent(root, api, "abcdef").changed
    assert namesake in api.objects


# A token, how long after the start somebody else begins to join, and whether that sweeps it.
LEFTOVERS: list[tuple[dict[str, str], int, bool]] = [
    ({}, 29, False),
    ({}, 31, False),
    ({}, 34, False),
    ({}, 35, True),
    ({}, 600, True),
    ({"description": "kubephase join"}, 600, False),
    ({"description": DESCRIPTION + "s"}, 600, False),
    ({"expires": ""}, 600, False),
    ({"expires": "2026-01-02T00:00:00Z"}, 600, False),
]


@pytest.mark.parametrize(("other", "minutes", "swept"), LEFTOVERS)
def test_only_runs_that_are_over_are_swept(root: Path, other: dict[str, str], minutes: int, swept: bool) -> None:
    left = Token(**{"identifier": "leftov", "secret": "x" * 16, "description": DESCRIPTION, "expires": "2026-01-01T00:30:00Z", **other})  # type: ignore[arg-type]
    api = cluster(left)
    facts = secrets(root, api, after=timedelta(minutes=minutes)).facts
    assert facts["swept"] == (["leftov"] if swept else [])
    assert (left.key not in api.objects) == swept


def test_all_of_a_run_that_was_killed_is_swept(root: Path) -> None:
    api = cluster()
    run = secrets(root, api, certificates=True).facts["run"]
    checked = secrets(root, api, check=True, after=EXPIRED)
    assert named(run) < set(api.objects)
    outcome = secrets(root, api, after=EXPIRED)
    assert not named(run) & set(api.objects)
    assert [change.reason for change in outcome.plan.changes] == ["the run that made it is over"] * 4 + ["hosts are to join"]
    assert [change.target for change in checked.plan.changes] == [change.target for change in outcome.plan.changes]


def test_a_run_that_is_killed_anywhere_is_gone_with_its_token(root: Path) -> None:
    for writes in range(1, 4):
        api = cluster()
        api.patience = writes
        with pytest.raises(StoppedInBetween):
            secrets(root, api, certificates=True)
        api.patience = 10**6
        made = set(api.objects) - {CLUSTER_INFO}
        (token,) = [key for key in made if key.name.startswith("bootstrap-token-")]
        owners = [api.objects[key]["metadata"]["ownerReferences"][0]["name"] for key in made - {token}]
        assert owners == [token.name] * (writes - 1)
        secrets(root, api, after=EXPIRED)
        assert not made & set(api.objects)


class Refusing(Cluster):
    """A cluster that takes no roles."""

    def apply(self, action: Action) -> None:
        if isinstance(action, CreateObject) and action.manifest["kind"] == "Role":
            raise Unusable("Role", "it could not be created", "")
        super().apply(action)


def test_a_refusal_takes_back_what_was_made(root: Path) -> None:
    api = Refusing()
    api.objects[CLUSTER_INFO] = {"metadata": {}}
    with pytest.raises(Unusable, match="it could not be created"):
        secrets(root, api, certificates=True)
    assert set(api.objects) == {CLUSTER_INFO}


@pytest.mark.parametrize(("ttl", "fits"), [(0, False), (1, True), (30, True), (31, False), (1440, False)])
def test_nothing_lives_longer_than_half_an_hour(root: Path, ttl: int, fits: bool) -> None:
    api = cluster()
    try:
        assert secrets(root, api, ttl=timedelta(minutes=ttl)).changed == fits
    except ManyUnusable as refusal:
        assert not fits
        assert refusal.findings[0].where == "ttl"
        assert api.writes == 0


def test_what_a_run_cannot_do_without_is_told_at_once(root: Path) -> None:
    (root / "etc/kubernetes/pki/ca.key").unlink()
    api = Cluster()
    with pytest.raises(ManyUnusable) as refusal:
        secrets(root, api, certificates=True, ttl=timedelta(0))
    assert [finding.where for finding in refusal.value.findings] == [
        "ttl",
        "ConfigMap kube-public/cluster-info",
        "/etc/kubernetes/pki/ca.key",
    ]
    assert api.writes == 0


def test_without_certificates_an_external_authority_is_no_matter(root: Path) -> None:
    (root / "etc/kubernetes/pki/ca.key").unlink()
    assert secrets(root, cluster()).changed


def test_a_missing_file_is_spoken_of(root: Path) -> None:
    (root / "etc/kubernetes/pki/etcd/ca.key").unlink()
    outcome = secrets(root, cluster(), certificates=True)
    assert outcome.warnings == ("/etc/kubernetes/pki/etcd/ca.key is not on this host: etcd-ca.key is stored empty",)


@pytest.mark.parametrize("run", ["", "short", "ABCDEF", "abcdef.0123456789abcdef", "../../x"])
def test_a_text_that_is_no_run_is_refused_unseen(root: Path, run: str) -> None:
    with pytest.raises(Unusable, match=f"^run: a text of {len(run)} characters is not the id of a run") as refusal:
        absent(root, cluster(), run)
    assert not run or run not in str(refusal.value)


@pytest.mark.parametrize("certificates", [False, True])
def test_a_check_makes_and_returns_no_secret(root: Path, certificates: bool) -> None:
    api = cluster()
    checked = secrets(root, api, check=True, certificates=certificates)
    assert api.writes == 0
    assert not {"run", "token", "certificate_key", "certificates_secret"} & set(checked.facts)
    assert checked.changed
    real = secrets(root, api, certificates=certificates)
    assert [(each.target, each.after) for each in checked.plan.changes] == [(each.target, each.after) for each in real.plan.changes]


def test_on_a_host_without_a_cluster_a_check_goes_on(tmp_path: Path) -> None:
    outcome = secrets(tmp_path, Cluster(), check=True, certificates=True, configuration={"controlPlaneEndpoint": "api.test:6443"})
    assert outcome.changed
    assert (outcome.facts["api_server_endpoint"], outcome.facts["ca_cert"], outcome.facts["ca_cert_hashes"]) == ("api.test:6443", "", [])
    assert not absent(tmp_path, Cluster(), "abcdef").changed


def test_an_authority_that_is_none(root: Path) -> None:
    write_admin(root)
    with pytest.raises(Unusable, match=r"^/etc/kubernetes/admin.conf: its certificate authority is no certificate in PEM"):
        secrets(root, cluster())


def test_nothing_secret_is_shown(root: Path) -> None:
    api = cluster()
    made = secrets(root, api, certificates=True)
    said = (
        everything_said(made) + everything_said(secrets(root, api, after=EXPIRED)) + everything_said(absent(root, api, made.facts["run"]))
    )
    for secret in (made.facts["token"].partition(".")[2], made.facts["certificate_key"], "canary"):
        assert str(secret) not in said
    assert "(secret)" in repr(made.facts["token"])
