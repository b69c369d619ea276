# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The corpus covers what it must, and its directives mean what they say."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.tests.parity.cases import EVERY_RELEASE, USUAL_RELEASES, case_named, corpus, minor_of, pairs
from ansible_collections.kubephase.cluster.tests.parity.given import PREPARATIONS, certificates_dir
from ansible_collections.kubephase.cluster.tests.parity.workers import unit_of

NEEDED = {
    "defaults", "cert-sans", "ecdsa-gate", "ecdsa-p256", "rsa-4096", "certificates-dir", "external-ca", "external-etcd", "ipv6",
    "dual-stack", "endpoint-dns", "endpoint-ip", "networking", "node-name",
}  # fmt: skip


def test_corpus_holds_the_needed_cases() -> None:
    assert {case.name for case in corpus()} >= NEEDED


def test_every_case_meets_a_release() -> None:
    assert {case.name for case, _release in pairs(EVERY_RELEASE)} == {case.name for case in corpus()}


def test_every_usual_release_meets_a_dozen_cases() -> None:
    met = {release: sum(1 for _case, each in pairs(USUAL_RELEASES) if each == release) for release in USUAL_RELEASES}
    assert all(count >= 12 for count in met.values()), met


def test_every_preparation_is_known_and_used() -> None:
    assert {case.given for case in corpus()} == set(PREPARATIONS)


def test_every_minor_is_there_once() -> None:
    assert [minor_of(release) for release in EVERY_RELEASE] == list(range(22, 38))


@pytest.mark.parametrize(
    ("name", "release", "applies"),
    [
        ("defaults", "1.22.17", True),
        ("ecdsa-p256", "1.30.5", False),
        ("ecdsa-p256", "1.31.4", True),
        ("ecdsa-gate", "1.36.4", True),
        ("ecdsa-gate", "1.37.1", False),
    ],
)
def test_directives(name: str, release: str, applies: bool) -> None:
    assert case_named(name).applies_to(release) is applies


@pytest.mark.parametrize(
    ("name", "release", "api"),
    [("defaults", "1.30.5", "v1beta3"), ("defaults", "1.31.4", "v1beta4"), ("v1beta3", "1.36.4", "v1beta3")],
)
def test_document_is_in_the_schema_of_its_release(name: str, release: str, api: str) -> None:
    document = case_named(name).document(release)
    assert document.count(f"apiVersion: kubeadm.k8s.io/{api}\n") == 2
    assert document.count("apiVersion: ") == 2
    assert document.count(f"kubernetesVersion: v{release}\n") == 1


@pytest.mark.parametrize(("name", "directory"), [("defaults", "etc/kubernetes/pki"), ("certificates-dir", "srv/kubernetes/tls")])
def test_certificates_directory(name: str, directory: str) -> None:
    assert certificates_dir(case_named(name).document("1.37.1")) == directory


@pytest.mark.parametrize(
    ("nodeid", "unit"),
    [
        ("tests/parity/test_parity.py::test_same_tree[defaults-1.37.1]", "defaults-1.37.1"),
        ("tests/parity/test_parity_manifests.py::test_same_manifests[defaults-1.37.1]", "defaults-1.37.1"),
        ("tests/parity/test_parity_addons.py::test_the_same_objects[defaults-1.37.1]", "tests/parity/test_parity_addons.py"),
        ("tests/parity/test_corpus.py::test_every_minor_is_there_once", "tests/parity/test_corpus.py"),
    ],
)
def test_tests_that_share_a_rendering_share_a_worker(nodeid: str, unit: str) -> None:
    assert unit_of(nodeid) == unit
