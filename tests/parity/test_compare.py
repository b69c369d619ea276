# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The comparison can fail: it notices every planted change, and nothing in two renderings of the same document."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ansible_collections.kubephase.cluster.tests.parity import planted
from ansible_collections.kubephase.cluster.tests.parity.cases import case_named
from ansible_collections.kubephase.cluster.tests.parity.compare import Difference, compare
from ansible_collections.kubephase.cluster.tests.parity.meant import MEANT, explanation, stale
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering, kubeadm, render_into, rendered, stored
from ansible_collections.kubephase.cluster.tests.parity.planted import ADMIN, PKI, certificate
from ansible_collections.kubephase.cluster.tests.parity.x509_facts import Window

RELEASE = "1.37.1"
ETC = Path("etc/kubernetes")
ONE_HOUR = timedelta(hours=1)

PLANTED = [
    ("a name more", certificate("apiserver.crt", extension=planted.alternative_names("a", "cp1")), "pki/apiserver.crt", "DNS names"),
    ("addresses gone", certificate("apiserver.crt", extension=planted.alternative_names("a")), "pki/apiserver.crt", "IP addresses"),
    ("no names at all", certificate("apiserver.crt", drop=x509.SubjectAlternativeName), "pki/apiserver.crt", "extensions"),
    ("a usage more", certificate("apiserver.crt", extension=planted.usage(crl_sign=True), critical=True), "pki/apiserver.crt", "key usage"),
    ("usage not critical", certificate("apiserver.crt", extension=planted.usage()), "pki/apiserver.crt", "key usage critical"),
    ("client auth too", certificate("apiserver.crt", extension=planted.SERVER_AND_CLIENT), "pki/apiserver.crt", "extended key usage"),
    ("constraints", certificate("apiserver.crt", extension=x509.BasicConstraints(True, 0)), "pki/apiserver.crt", "basic constraints"),
    ("constraints gone", certificate("apiserver.crt", drop=x509.BasicConstraints), "pki/apiserver.crt", "basic constraints critical"),
    ("no authority id", certificate("apiserver.crt", drop=x509.AuthorityKeyIdentifier), "pki/apiserver.crt", "authority key identifier"),
    ("another subject", certificate("apiserver.crt", subject=planted.subject("apiserver")), "pki/apiserver.crt", "subject"),
    ("a group more", certificate("apiserver.crt", subject=planted.subject("kube-apiserver", "masters")), "pki/apiserver.crt", "subject"),
    ("a longer serial", certificate("apiserver.crt", serial=1 << 100), "pki/apiserver.crt", "serial"),
    ("another digest", certificate("apiserver.crt", hash=hashes.SHA512()), "pki/apiserver.crt", "signature algorithm"),
    ("another issuer", certificate("etcd/server.crt"), "pki/etcd/server.crt", "issued by"),
    ("ends an hour later", planted.moved("apiserver.crt", end=ONE_HOUR), "pki/apiserver.crt", "not after"),
    ("ends a minute later", planted.moved("apiserver.crt", end=timedelta(minutes=1)), "pki/apiserver.crt", "not after"),
    ("starts an hour before", planted.moved("apiserver.crt", start=-ONE_HOUR), "pki/apiserver.crt", "not before"),
    ("another kind of key", planted.new_pair("apiserver", ec.generate_private_key(ec.SECP256R1())), "pki/apiserver.crt", "public key"),
    ("another size of key", planted.new_pair("apiserver", rsa.generate_private_key(65537, 3072)), "pki/apiserver.key", "key"),
    ("a key that does not fit", planted.other_key("apiserver"), "pki/apiserver.key", "belongs to its partner"),
    ("the other PEM form", planted.pkcs8("apiserver.key"), "pki/apiserver.key", "PEM types"),
    ("sa.pub of another key", planted.other_public_half(), "pki/sa.pub", "belongs to its partner"),
    ("a key for all to read", planted.mode(PKI / "ca.key", 0o644), "pki/ca.key", "mode"),
    ("a certificate for root only", planted.mode(PKI / "ca.crt", 0o600), "pki/ca.crt", "mode"),
    ("a closed directory", planted.mode(PKI, 0o700), "pki", "mode"),
    ("a kubeconfig for all", planted.mode(ADMIN, 0o644), "admin.conf", "mode"),
    ("a file missing", planted.missing(PKI / "sa.pub"), "pki/sa.pub", "exists"),
    ("a file more", planted.extra(PKI / "ca.srl"), "pki/ca.srl", "exists"),
    ("half a certificate", planted.garbled(PKI / "front-proxy-client.crt"), "pki/front-proxy-client.crt", "unreadable"),
    ("half a kubeconfig", planted.garbled(ADMIN), "admin.conf", "unreadable"),
    ("another server", planted.text(ADMIN, "192.0.2.10:6443", "192.0.2.11:6443"), "admin.conf", "server"),
    ("another user", planted.text(ADMIN, "kubernetes-admin", "admin"), "admin.conf", "user"),
    ("another cluster", planted.text(ADMIN, "cluster: kubernetes\n", "cluster: other\n"), "admin.conf", "context cluster"),
    ("another context", planted.text(ADMIN, "context: kubernetes-admin@", "context: admin@"), "admin.conf", "current context"),
    ("preferences", planted.text(ADMIN, "kind: Config\n", "kind: Config\npreferences: {}\n"), "admin.conf", "preferences"),
    ("quotes", planted.text(ADMIN, "kind: Config", 'kind: "Config"'), "admin.conf", "layout"),
    ("another CA", planted.other_authority(ADMIN), "admin.conf", "authority"),
    ("another client", planted.embedded(ADMIN, subject=planted.subject("admin")), "admin.conf", "client certificate: subject"),
]  # fmt: skip


@pytest.fixture(scope="module")
def original() -> Rendering:
    """kubeadm's rendering of the defaults."""
    return rendered(case_named("defaults"), RELEASE)


@pytest.fixture
def copy(original: Rendering, tmp_path: Path) -> Rendering:
    """The same tree, to be spoiled."""
    shutil.copytree(original.root, tmp_path / "tree")
    return replace(original, root=tmp_path / "tree")


def test_copy_is_the_same(original: Rendering, copy: Rendering) -> None:
    comparison = compare(original, copy)
    assert comparison.differences == ()
    assert comparison.fields > 500


@pytest.mark.parametrize("release", ["1.22.17", "1.28.15", "1.37.1"])
def test_kubeadm_agrees_with_itself(release: str, tmp_path: Path) -> None:
    case = case_named("cert-sans")
    render_into(tmp_path, kubeadm(release), case, release)
    fresh = stored(tmp_path)
    assert fresh is not None
    assert compare(rendered(case, release), fresh).differences == ()


@pytest.mark.parametrize(("plant", "path", "field"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED])
def test_planted_change_is_noticed(original: Rendering, copy: Rendering, plant: planted.Plant, path: str, field: str) -> None:
    plant(copy.root)
    found = {(difference.path, difference.field) for difference in compare(original, copy).differences}
    assert (str(ETC / path), field) in found


@pytest.mark.parametrize(
    ("plant", "others"),
    [
        (planted.mode(PKI / "ca.key", 0o640), 0),
        (certificate("apiserver.crt", extension=planted.SERVER_AND_CLIENT), 0),
        (planted.text(ADMIN, "192.0.2.10", "192.0.2.99"), 1),
    ],
    ids=["a mode", "a usage", "a server and so the layout"],
)
def test_nothing_else_is_reported(original: Rendering, copy: Rendering, plant: planted.Plant, others: int) -> None:
    plant(copy.root)
    assert len(compare(original, copy).differences) == 1 + others


def test_given_file_that_changed_is_noticed(tmp_path: Path) -> None:
    aged = rendered(case_named("existing-ca"), RELEASE)
    shutil.copytree(aged.root, tmp_path / "tree")
    (tmp_path / "tree" / PKI / "sa.key").write_bytes((tmp_path / "tree" / PKI / "ca.key").read_bytes())
    found = compare(aged, replace(aged, root=tmp_path / "tree")).differences
    assert (str(PKI / "sa.key"), "given", "kept", "changed") in {(each.path, each.field, each.kubeadm, each.ours) for each in found}


@pytest.mark.parametrize(
    ("offset", "took", "told"),
    [
        (-300.0, 2.0, "-5 min from the rendering"),
        (-299.0, 2.0, "-5 min from the rendering"),
        (0.0, 0.1, "+0 min from the rendering"),
        (3600.0, 2.0, "+60 min from the rendering"),
        (3660.0, 2.0, "3661 s from the rendering, which is no whole number of minutes"),
        (3660.0, 200.0, "+60 min from the rendering"),
    ],
)
def test_moments_are_told_from_the_rendering(offset: float, took: float, told: str) -> None:
    started = 1_800_000_000.0
    assert Window(started, started + took).tell(datetime.fromtimestamp(started + offset, timezone.utc)) == told


def test_rendering_that_takes_too_long_is_refused() -> None:
    now = time.time()
    with pytest.raises(ValueError, match="too long"):
        Window(now, now + 300)


SERIAL = Difference("etc/kubernetes/pki/ca.crt", "serial", "0", "1 to 63 bits")


@pytest.mark.parametrize(
    ("difference", "release", "explained"),
    [
        (SERIAL, "1.22.17", True),
        (SERIAL, "1.28.15", False),
        (replace(SERIAL, ours="longer than 63 bits"), "1.22.17", False),
        (replace(SERIAL, field="subject"), "1.22.17", False),
        (replace(SERIAL, path="etc/kubernetes/pki/ca.key"), "1.22.17", False),
    ],
)
def test_only_the_meant_difference_is_explained(difference: Difference, release: str, explained: bool) -> None:
    assert (explanation(difference, "defaults", release) is not None) is explained


def test_entry_that_never_shows_up_is_stale() -> None:
    everything = [("defaults", "1.22.17"), ("sa-key-only", "1.22.17")]
    names = {meant.name for meant in MEANT}
    assert stale(names, everything) == []
    assert stale(names - {"CA serial"}, everything) == ["CA serial"]
    assert stale(names - {"CA serial"}, [("defaults", "1.37.1")]) == []
