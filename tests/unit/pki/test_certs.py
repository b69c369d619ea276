# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certs phase: what is made, what is kept, what is refused, and that nothing moves without need."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from unit.world import Host, changes, issue_by_hand, run, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

PKI = "etc/kubernetes/pki"
ALL = [
    "ca",
    "apiserver",
    "apiserver-kubelet-client",
    "front-proxy-ca",
    "front-proxy-client",
    "etcd/ca",
    "etcd/server",
    "etcd/peer",
    "etcd/healthcheck-client",
    "apiserver-etcd-client",
    "sa",
]

# Elliptic keys keep the tests quick; the parity suite covers the others.
QUICK = {"encryptionAlgorithm": "ECDSA-P256"}


def certs(root: Path, check: bool = False, now: datetime | None = None, cluster: dict[str, Any] | None = None, **options: Any) -> Any:
    return run(CertsPhase(), root, {**QUICK, **(cluster or {})}, options, check=check, now=now)


def facts(outcome: Any) -> dict[str, dict[str, Any]]:
    return {fact["name"]: fact for fact in outcome.plan.facts["certificates"]}


def test_a_virgin_host_gets_the_whole_table(tmp_path: Path) -> None:
    outcome = certs(tmp_path)
    assert [fact["name"] for fact in outcome.plan.facts["certificates"]] == ALL
    assert {fact["done"] for fact in facts(outcome).values()} == {"issued"}
    files = {str(path.relative_to(tmp_path / PKI)) for path in (tmp_path / PKI).rglob("*") if path.is_file()}
    assert files == {f"{name}.{kind}" for name in ALL[:-1] for kind in ("crt", "key")} | {"sa.key", "sa.pub"}


def test_nothing_moves_when_run_again(tmp_path: Path) -> None:
    certs(tmp_path)
    before = snapshot(tmp_path)
    outcome = certs(tmp_path)
    assert not outcome.changed
    assert {fact["done"] for fact in facts(outcome).values()} == {"kept"}
    assert snapshot(tmp_path) == before


def test_check_mode_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    checked = certs(tmp_path, check=True)
    assert snapshot(tmp_path) == {}
    real = certs(tmp_path)
    assert changes(checked) == changes(real)
    assert checked.plan.facts == real.plan.facts


@pytest.mark.parametrize("name", ALL)
def test_each_can_be_had_alone(tmp_path: Path, name: str) -> None:
    authorities = ["ca", "front-proxy-ca", "etcd/ca"]
    certs(tmp_path, names=authorities)
    outcome = certs(tmp_path, names=[name])
    assert [fact["name"] for fact in outcome.plan.facts["certificates"]] == [name]
    assert outcome.changed == (name not in authorities)


def test_a_leaf_without_its_authority_is_refused_alone(tmp_path: Path) -> None:
    with pytest.raises(ManyUnusable, match=r"ca\.crt: the certificate authority that signs apiserver is missing\. Issue ca too"):
        certs(tmp_path, names=["apiserver"])


Deed = Callable[[Path], object]


def drop(name: str) -> Deed:
    return lambda pki: (pki / name).unlink()


def swap(name: str, other: str) -> Deed:
    return lambda pki: (pki / name).write_bytes((pki / other).read_bytes())


def spoil(name: str, text: str = "no PEM at all") -> Deed:
    return lambda pki: (pki / name).write_text(text)


def widen(name: str, mode: int) -> Deed:
    return lambda pki: (pki / name).chmod(mode)


@pytest.mark.parametrize(
    ("deed", "name", "done", "reason"),
    [
        (drop("apiserver.crt"), "apiserver", "issued", "the certificate is missing; its key is kept"),
        (drop("apiserver.key"), "apiserver", "reissued", "its private key is missing"),
        (swap("apiserver.key", "etcd/peer.key"), "apiserver", "reissued", "it does not match its private key"),
        (swap("etcd/peer.crt", "apiserver.crt"), "etcd/peer", "reissued", "it does not chain to etcd/ca.crt (CN=etcd-ca)"),
        (drop("sa.pub"), "sa", "completed", "sa.pub is missing"),
        (widen("apiserver.key", 0o644), "apiserver", "mode", "apiserver.key: its mode 0644 allows more than 0600"),
        (widen("sa.key", 0o640), "sa", "mode", "sa.key: its mode 0640 allows more than 0600"),
        (widen("ca.crt", 0o666), "ca", "mode", "ca.crt: its mode 0666 allows more than 0644"),
        (drop("ca.crt"), "ca", "issued", "the certificate is missing; its key is kept"),
    ],
)
def test_a_deviation_is_mended_once_with_its_reason(tmp_path: Path, deed: Deed, name: str, done: str, reason: str) -> None:
    certs(tmp_path)
    before = snapshot(tmp_path)
    deed(tmp_path / PKI)
    outcome = certs(tmp_path)
    touched = {key: fact for key, fact in facts(outcome).items() if fact["done"] != "kept"}
    # A CA certificate that was signed anew for the same key leaves its leaves without a chain to the old one.
    assert touched[name]["done"] == done
    assert touched[name]["reason"] == reason
    assert set(touched) == {name} or name == "ca"
    assert reason.partition(": ")[2] in outcome.plan.changes[0].reason or outcome.plan.changes[0].reason == reason
    assert not certs(tmp_path).changed
    after = snapshot(tmp_path)
    untouched = {path for path in before if not path.startswith(f"{PKI}/{name}.")} if name != "ca" else {f"{PKI}/ca.key", f"{PKI}/sa.key"}
    assert {path: after[path] for path in untouched} == {path: before[path] for path in untouched}


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        (spoil("ca.crt"), r"pki/ca\.crt: it holds no PEM certificate"),
        (spoil("ca.crt", ""), r"pki/ca\.crt: it holds no PEM certificate"),
        (spoil("ca.key"), r"pki/ca\.key: it holds no PEM private key"),
        (swap("ca.key", "front-proxy-ca.key"), r"pki/ca\.crt: the key beside it belongs to another certificate.*never overwritten"),
        (swap("ca.crt", "apiserver.crt"), r"pki/ca\.crt: CN=kube-apiserver is not a certificate authority"),
        (
            spoil("apiserver.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
            r"apiserver\.crt: its PEM certificate is corrupt",
        ),
        (
            spoil("etcd/peer.key", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"),
            r"etcd/peer\.key: it holds no PEM private",
        ),
        (drop("sa.key"), r"sa\.key: the service account key is missing, but its public half"),
        (swap("sa.pub", "apiserver.crt"), r"sa\.pub: it does not hold the public half of sa\.key"),
        (spoil("sa.key"), r"sa\.key: it holds no PEM private key"),
    ],
)
def test_what_must_not_be_overwritten_is_refused_and_nothing_is_written(tmp_path: Path, deed: Deed, error: str) -> None:
    certs(tmp_path)
    deed(tmp_path / PKI)
    before = snapshot(tmp_path)
    with pytest.raises(ManyUnusable, match=error):
        certs(tmp_path)
    assert snapshot(tmp_path) == before


def test_every_finding_is_reported_at_once(tmp_path: Path) -> None:
    certs(tmp_path)
    for name in ("ca.crt", "etcd/server.crt", "sa.key"):
        spoil(name)(tmp_path / PKI)
    with pytest.raises(ManyUnusable) as report:
        certs(tmp_path)
    assert len(report.value.findings) == 3


def test_a_changed_document_reissues_just_the_certificate_it_concerns(tmp_path: Path) -> None:
    certs(tmp_path)
    outcome = certs(tmp_path, cluster={"apiServer": {"certSANs": ["api.example.test", "192.0.2.7"]}})
    touched = [(fact["name"], fact["reason"]) for fact in facts(outcome).values() if fact["done"] != "kept"]
    assert touched == [("apiserver", "it lacks the names api.example.test, 192.0.2.7")]
    assert outcome.plan.changes[0].before != outcome.plan.changes[0].after
    assert "api.example.test" in outcome.plan.changes[0].after


def test_names_that_are_wanted_no_longer_do_not_reissue(tmp_path: Path) -> None:
    certs(tmp_path, cluster={"apiServer": {"certSANs": ["api.example.test"]}})
    assert not certs(tmp_path).changed


@pytest.mark.parametrize(
    ("days", "renew_before", "renewed"),
    [(0, None, False), (364, None, False), (366, None, True), (300, "720h", False), (340, "720h", True)],
)
def test_leaves_are_renewed_when_expired_or_when_asked(tmp_path: Path, days: int, renew_before: str | None, renewed: bool) -> None:
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    certs(tmp_path, now=start)
    period = timedelta(hours=720) if renew_before else None
    outcome = certs(tmp_path, now=start + timedelta(days=days), renew_before=period)
    done = {fact["name"]: fact["done"] for fact in facts(outcome).values()}
    leaves = {name for name in ALL if not name.endswith("ca") and name != "sa"}
    assert {name for name, what in done.items() if what == "reissued"} == (leaves if renewed else set())
    assert done["ca"] == done["sa"] == "kept"


def test_an_expired_authority_is_refused(tmp_path: Path) -> None:
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    certs(tmp_path, now=start)
    with pytest.raises(ManyUnusable, match=r"the certificate authority expired on 2035-12-30"):
        certs(tmp_path, now=start + timedelta(days=3651))
    with pytest.raises(ManyUnusable, match=r"valid only from .* Check the host's clock"):
        certs(tmp_path, now=start - timedelta(days=1))


def test_an_external_authority_signs_nothing_here_but_its_leaves_are_kept(tmp_path: Path) -> None:
    certs(tmp_path)
    (tmp_path / PKI / "ca.key").unlink()
    outcome = certs(tmp_path)
    assert not outcome.changed
    assert facts(outcome)["ca"]["external"]
    assert facts(outcome)["apiserver"]["external"]
    assert not facts(outcome)["etcd/server"]["external"]


def test_an_external_authority_lists_all_that_it_must_sign(tmp_path: Path) -> None:
    certs(tmp_path)
    for name in ("ca.key", "apiserver.crt", "apiserver.key", "apiserver-kubelet-client.crt", "apiserver-kubelet-client.key"):
        (tmp_path / PKI / name).unlink()
    with pytest.raises(ManyUnusable) as report:
        certs(tmp_path)
    text = str(report.value)
    assert len(report.value.findings) == 2
    assert "subject CN=kube-apiserver; usage server auth; names" in text
    assert "kubernetes.default.svc.cluster.local" in text
    assert not (tmp_path / PKI / "apiserver.key").exists()


def test_an_external_authority_is_not_asked_to_renew_early(tmp_path: Path) -> None:
    certs(tmp_path)
    (tmp_path / PKI / "ca.key").unlink()
    outcome = certs(tmp_path, renew_before=timedelta(days=400), names=["apiserver"])
    assert not outcome.changed
    assert "only your external CA can renew it" in outcome.warnings[0]


def test_external_etcd_brings_its_own_certificates(tmp_path: Path) -> None:
    external = {"endpoints": ["https://192.0.2.9:2379"], "caFile": "/e/ca", "certFile": "/e/crt", "keyFile": "/e/key"}
    outcome = certs(tmp_path, cluster={"etcd": {"external": external}})
    assert [fact["name"] for fact in outcome.plan.facts["certificates"]] == [*ALL[:5], "sa"]
    assert not (tmp_path / PKI / "etcd").exists()


def test_a_chain_through_an_intermediate_is_accepted(tmp_path: Path) -> None:
    certs(tmp_path)
    issue_by_hand(tmp_path / PKI, "apiserver", through_intermediate=True)
    assert not certs(tmp_path, names=["apiserver"]).changed


def test_a_foreign_intermediate_is_not_accepted(tmp_path: Path) -> None:
    certs(tmp_path)
    issue_by_hand(tmp_path / PKI, "apiserver", through_intermediate=True, signed_by="front-proxy-ca")
    outcome = certs(tmp_path, names=["apiserver"])
    assert "does not chain" in outcome.plan.changes[0].reason


def test_no_key_material_in_diffs_facts_or_errors(tmp_path: Path) -> None:
    outcome = certs(tmp_path)
    shown = repr(outcome.plan) + str(outcome.plan.facts)
    assert "PRIVATE KEY" not in shown
    secret = (tmp_path / PKI / "ca.key").read_text()
    (tmp_path / PKI / "ca.crt").write_text(secret)
    with pytest.raises(ManyUnusable) as report:
        certs(tmp_path)
    assert secret.splitlines()[1] not in str(report.value)


def test_the_host_is_named_in_the_certificates(tmp_path: Path) -> None:
    outcome = run(CertsPhase(), tmp_path, QUICK, {"names": ["ca", "apiserver"]}, host=Host("Node-7".lower(), "192.0.2.70"))
    fact = facts(outcome)["apiserver"]
    assert "node-7" in fact["dns_names"]
    assert fact["ip_addresses"] == ["10.96.0.1", "192.0.2.70"]


def test_who_joins_makes_leaves_and_never_what_is_shared(tmp_path: Path) -> None:
    shared = {"ca", "front-proxy-ca", "etcd/ca", "sa"}
    foreseen = certs(tmp_path, check=True, cluster={"kubernetesVersion": "v1.37.1"}, becomes="control_plane")
    with pytest.raises(Unusable, match=r"pki/ca\.crt: it does not exist\. All control planes share it"):
        certs(tmp_path, cluster={"kubernetesVersion": "v1.37.1"}, becomes="control_plane")
    assert snapshot(tmp_path) == {}
    certs(tmp_path, names=sorted(shared))
    made = certs(tmp_path, cluster={"kubernetesVersion": "v1.37.1"}, becomes="control_plane")
    assert {name for name, fact in facts(made).items() if fact["done"] == "issued"} == set(ALL) - shared
    assert [change.target for change in foreseen.plan.real_changes] == [change.target for change in made.plan.real_changes]


def test_keys_that_are_made_ahead_go_each_to_its_own_file(tmp_path: Path) -> None:
    certs(tmp_path)
    keys = [path.read_bytes() for path in (tmp_path / PKI).rglob("*.key")]
    assert len(keys) == len(set(keys)) == len(ALL)
