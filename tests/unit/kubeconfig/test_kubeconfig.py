# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubeconfig phase: what is written, what is kept, what is refused, what is renewed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.world import Host, changes, run, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import Certificate, load_certificates
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
QUICK = {"encryptionAlgorithm": "ECDSA-P256"}
ENDPOINT = {"controlPlaneEndpoint": "api.example.test:8443"}
FILES = ["admin", "super-admin", "kubelet", "controller-manager", "scheduler"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose certificate authority is there."""
    run(CertsPhase(), tmp_path, QUICK, {"names": ["ca"]}, now=START)
    return tmp_path


def kubeconfig(root: Path, cluster: dict[str, Any] | None = None, check: bool = False, days: int = 0, **options: Any) -> Any:
    now = START + timedelta(days=days)
    old = (cluster or {}).get("kubernetesVersion", "v1.37.1") < "v1.31"  # before it there is no such field
    return run(KubeconfigPhase(), root, {**({} if old else QUICK), **(cluster or {})}, options, check=check, now=now)


def load(root: Path, name: str) -> Any:
    return yaml.safe_load((root / f"etc/kubernetes/{name}.conf").read_text())


def client(root: Path, name: str) -> Certificate:
    data = load(root, name)["users"][0]["user"]["client-certificate-data"]
    return load_certificates(name, base64.b64decode(data))[0]


def done(outcome: Any) -> dict[str, str]:
    return {fact["name"]: fact["done"] for fact in outcome.plan.facts["kubeconfigs"]}


def test_all_files_with_their_users_and_servers(root: Path) -> None:
    outcome = kubeconfig(root, ENDPOINT)
    assert done(outcome) == dict.fromkeys(FILES, "issued")
    seen = {name: (client(root, name).subject, load(root, name)["clusters"][0]["cluster"]["server"]) for name in FILES}
    endpoint, local = "https://api.example.test:8443", "https://192.0.2.10:6443"
    assert seen == {
        "admin": ("O=kubeadm:cluster-admins, CN=kubernetes-admin", endpoint),
        "super-admin": ("O=system:masters, CN=kubernetes-super-admin", endpoint),
        "kubelet": ("O=system:nodes, CN=system:node:cp1", local),
        "controller-manager": ("CN=system:kube-controller-manager", local),
        "scheduler": ("CN=system:kube-scheduler", local),
    }
    assert {(root / f"etc/kubernetes/{name}.conf").stat().st_mode & 0o777 for name in FILES} == {0o600}


@pytest.mark.parametrize(
    ("version", "gates", "files", "kubelet_server"),
    [
        ("v1.28.15", {}, ["admin", "kubelet", "controller-manager", "scheduler"], "https://api.example.test:8443"),
        ("v1.30.5", {}, FILES, "https://api.example.test:8443"),
        ("v1.32.5", {}, FILES, "https://api.example.test:8443"),
        ("v1.32.5", {"ControlPlaneKubeletLocalMode": True}, FILES, "https://192.0.2.10:6443"),
        ("v1.33.1", {}, FILES, "https://192.0.2.10:6443"),
        ("v1.33.1", {"ControlPlaneKubeletLocalMode": False}, FILES, "https://api.example.test:8443"),
        ("v1.36.1", {}, FILES, "https://192.0.2.10:6443"),
    ],
)
def test_releases_differ(root: Path, version: str, gates: dict[str, bool], files: list[str], kubelet_server: str) -> None:
    outcome = kubeconfig(root, {**ENDPOINT, "kubernetesVersion": version, "featureGates": gates})
    assert list(done(outcome)) == files
    assert load(root, "kubelet")["clusters"][0]["cluster"]["server"] == kubelet_server


def test_nothing_moves_when_run_again(root: Path) -> None:
    kubeconfig(root)
    before = snapshot(root)
    outcome = kubeconfig(root)
    assert not outcome.changed
    assert snapshot(root) == before


def test_check_mode_reports_the_same_and_writes_nothing(root: Path) -> None:
    before = snapshot(root)
    checked = kubeconfig(root, check=True)
    assert snapshot(root) == before
    real = kubeconfig(root)
    assert (changes(checked), checked.plan.facts) == (changes(real), real.plan.facts)


def test_on_a_virgin_host_check_mode_tells_what_the_certs_phase_must_make_first(tmp_path: Path) -> None:
    outcome = kubeconfig(tmp_path, check=True)
    assert done(outcome) == dict.fromkeys(FILES, "issued")
    assert "the certs phase has to make it first" in outcome.warnings[0]
    with pytest.raises(Unusable, match=r"the certificate authority is missing\. Run the certs phase"):
        kubeconfig(tmp_path)
    assert snapshot(tmp_path) == {}


def edit(name: str, change: Callable[[Any], None]) -> Callable[[Path], None]:
    def deed(root: Path) -> None:
        document = load(root, name)
        change(document)
        (root / f"etc/kubernetes/{name}.conf").write_text(yaml.safe_dump(document))

    return deed


def spoil(text: str) -> Callable[[Path], object]:
    return lambda root: (root / "etc/kubernetes/admin.conf").write_text(text)


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        (spoil("a: b: c"), "it is not valid YAML"),
        (spoil("just text"), "it is not a kubeconfig"),
        (spoil(""), "it is not a kubeconfig"),
        (edit("admin", lambda it: it.update({"current-context": "none"})), "its current context leads to no context named 'none'"),
        (edit("admin", lambda it: it.update({"clusters": []})), "its current context leads to no cluster"),
        (edit("admin", lambda it: it.update({"users": None})), "its current context leads to no user"),
        (
            edit("admin", lambda it: it["clusters"][0]["cluster"].update({"certificate-authority-data": "%%%"})),
            "its certificate-authority-data is not valid base64",
        ),
        (
            edit("admin", lambda it: it["users"][0]["user"].update({"client-certificate-data": "AAAA"})),
            "it holds no PEM certificate",
        ),
    ],
)
def test_a_file_that_cannot_be_understood_is_one_error_and_stays(root: Path, deed: Callable[[Path], object], error: str) -> None:
    kubeconfig(root)
    deed(root)
    before = snapshot(root)
    with pytest.raises(ManyUnusable, match=rf"admin\.conf: {error}"):
        kubeconfig(root)
    assert snapshot(root) == before


def test_another_clusters_file_is_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    run(CertsPhase(), other, QUICK, {"names": ["ca"]}, now=START)
    kubeconfig(other)
    (root / "etc/kubernetes/admin.conf").write_bytes((other / "etc/kubernetes/admin.conf").read_bytes())
    with pytest.raises(ManyUnusable, match=r"admin\.conf: it trusts another certificate authority than /etc/kubernetes/pki/ca\.crt"):
        kubeconfig(root)
    assert not (root / "etc/kubernetes/kubelet.conf").exists()


@pytest.mark.parametrize(("version", "kept"), [("v1.30.5", False), ("v1.31.4", True)])
def test_a_bundle_whose_first_authority_fits(root: Path, tmp_path_factory: pytest.TempPathFactory, version: str, kept: bool) -> None:
    other = tmp_path_factory.mktemp("other")
    run(CertsPhase(), other, QUICK, {"names": ["ca"]}, now=START)
    cluster = {"kubernetesVersion": version}
    kubeconfig(root, cluster)
    bundle = b"".join((place / "etc/kubernetes/pki/ca.crt").read_bytes() for place in (root, other))
    edit(
        "admin",
        lambda it: it["clusters"][0]["cluster"].update({"certificate-authority-data": base64.b64encode(bundle).decode()}),
    )(root)
    if kept:
        assert not kubeconfig(root, cluster).changed
    else:
        with pytest.raises(ManyUnusable, match="trusts another certificate authority"):
            kubeconfig(root, cluster)


def test_an_authority_named_by_path_counts(root: Path) -> None:
    kubeconfig(root)

    def by_path(document: Any) -> None:
        cluster = document["clusters"][0]["cluster"]
        del cluster["certificate-authority-data"]
        cluster["certificate-authority"] = "/etc/kubernetes/pki/ca.crt"

    edit("admin", by_path)(root)
    assert not kubeconfig(root).changed


def test_another_server_is_kept_with_a_warning(root: Path) -> None:
    kubeconfig(root)
    outcome = kubeconfig(root, ENDPOINT)
    assert not outcome.changed
    assert any("admin.conf names the server https://192.0.2.10:6443, the documents say https://api" in line for line in outcome.warnings)


@pytest.mark.parametrize(
    ("days", "renew_before", "what"), [(364, None, "kept"), (366, None, "renewed"), (300, 30, "kept"), (340, 30, "renewed")]
)
def test_client_certificates_are_renewed_when_expired_or_when_asked(root: Path, days: int, renew_before: int | None, what: str) -> None:
    kubeconfig(root, ENDPOINT)
    serial = client(root, "admin").parsed.serial_number
    outcome = kubeconfig(root, days=days, renew_before=timedelta(days=renew_before) if renew_before else None)
    assert set(done(outcome).values()) == {what}
    assert (client(root, "admin").parsed.serial_number != serial) == (what == "renewed")
    # All but the credentials stays, the server too.
    assert load(root, "admin")["clusters"][0]["cluster"]["server"] == "https://api.example.test:8443"
    assert not kubeconfig(root, days=days).changed


def test_a_rotated_kubelet_certificate_is_the_kubelets_business(root: Path) -> None:
    kubeconfig(root)
    pem = "/var/lib/kubelet/pki/kubelet-client-current.pem"
    edit("kubelet", lambda it: it["users"][0].update({"user": {"client-certificate": pem, "client-key": pem}}))(root)
    outcome = kubeconfig(root, days=400, names=["kubelet"])
    assert done(outcome) == {"kubelet": "kept"}


def test_a_wide_mode_is_narrowed_and_a_strict_one_left(root: Path) -> None:
    kubeconfig(root)
    (root / "etc/kubernetes/admin.conf").chmod(0o644)
    (root / "etc/kubernetes/kubelet.conf").chmod(0o400)
    outcome = kubeconfig(root)
    assert {name for name, what in done(outcome).items() if what == "mode"} == {"admin"}
    assert (root / "etc/kubernetes/admin.conf").stat().st_mode & 0o777 == 0o600


def test_an_external_authority_lists_all_files_it_must_provide(root: Path) -> None:
    (root / "etc/kubernetes/pki/ca.key").unlink()
    with pytest.raises(ManyUnusable) as report:
        kubeconfig(root)
    assert len(report.value.findings) == len(FILES)
    assert "external CA" in str(report.value)
    assert "O=system:nodes, CN=system:node:cp1 and the server https://192.0.2.10:6443" in str(report.value)


def test_an_external_authority_keeps_what_is_there(root: Path) -> None:
    kubeconfig(root)
    (root / "etc/kubernetes/pki/ca.key").unlink()
    assert not kubeconfig(root).changed
    outcome = kubeconfig(root, days=340, renew_before=timedelta(days=30))
    assert not outcome.changed
    assert any("only your external CA can renew it" in line for line in outcome.warnings)
    with pytest.raises(ManyUnusable, match="expired on"):
        kubeconfig(root, days=366)


def test_an_additional_user(root: Path) -> None:
    user: dict[str, Any] = {"client_name": "jane", "organizations": ["developers", "testers"], "path": "/home/jane.conf"}
    outcome = kubeconfig(root, validity_period=timedelta(hours=48), **user)
    found = yaml.safe_load((root / "home/jane.conf").read_text())
    certificate = load_certificates("jane", base64.b64decode(found["users"][0]["user"]["client-certificate-data"]))[0]
    assert (certificate.common_name, set(certificate.organizations)) == ("jane", {"developers", "testers"})
    assert certificate.not_after == START + timedelta(hours=48)
    assert done(outcome) == {"jane": "issued"}
    assert not kubeconfig(root, validity_period=timedelta(hours=48), **user).changed
    assert not (root / "etc/kubernetes/admin.conf").exists()
    again = kubeconfig(root, **{**user, "organizations": ["developers"]})
    orders = ("O=testers, O=developers", "O=developers, O=testers")  # of the certificate or of the library
    assert again.plan.changes[0].reason in {f"its client certificate is for {order}, CN=jane" for order in orders}


def test_keys_before_1_31_stay_rsa_whatever_the_gate_says(root: Path) -> None:
    cluster = {"kubernetesVersion": "v1.28.15", "featureGates": {"PublicKeysECDSA": True}}
    kubeconfig(root, cluster, names=["scheduler"])
    assert "RSA" in type(client(root, "scheduler").parsed.public_key()).__name__


def test_no_key_material_in_diffs_or_facts(root: Path) -> None:
    outcome = kubeconfig(root)
    key = load(root, "admin")["users"][0]["user"]["client-key-data"]
    assert key[:40] not in repr(outcome.plan)


def test_the_node_name_decides_the_kubelets_user(root: Path) -> None:
    run(KubeconfigPhase(), root, QUICK, {"names": ["kubelet"]}, now=START, host=Host("other-node"))
    assert client(root, "kubelet").common_name == "system:node:other-node"
