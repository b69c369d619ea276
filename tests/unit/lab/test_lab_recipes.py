# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is built: versions, go.mod files and command lines."""

from __future__ import annotations

import pytest

from lab import gomod, images, recipes
from lab.errors import LabError

KUBERNETES_GO_MOD = """\
module k8s.io/kubernetes

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.140.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
	k8s.io/gengo/v2 => k8s.io/gengo/v2 v2.0.0
)

replace k8s.io/cri-api => ./staging/src/k8s.io/cri-api
"""


@pytest.mark.parametrize(
    ("asked", "version"),
    [("1.37.1", "1.37.1"), ("v1.28.15", "1.28.15"), ("1.22", "1.22.17"), ("1.37", "1.37.1"), ("1.30.0", "1.30.0")],
)
def test_kubeadm_versions_are_completed(asked: str, version: str) -> None:
    assert recipes.kubeadm_version(asked) == version


@pytest.mark.parametrize("asked", ["", "1", "latest", "1.37.1-rc.1", "2.0.0", "1.99", "1.37.1; rm"])
def test_what_is_no_version_is_refused(asked: str) -> None:
    with pytest.raises(LabError):
        recipes.kubeadm_version(asked)


def test_every_minor_has_a_patch() -> None:
    assert sorted(recipes.KUBEADM_PATCHES) == list(range(22, 38))


def test_staging_modules_are_the_replaced_ones_only() -> None:
    assert gomod.staging_modules(KUBERNETES_GO_MOD) == ["k8s.io/api", "k8s.io/client-go", "k8s.io/cri-api"]


def test_go_mod_replaces_staging_by_the_releases_version() -> None:
    text = gomod.render(recipes.kubernetes("kubelet", "1.37.1"), ["k8s.io/api", "k8s.io/client-go"])
    assert "require k8s.io/kubernetes v1.37.1\n" in text
    assert "\tk8s.io/api => k8s.io/api v0.37.1\n\tk8s.io/client-go => k8s.io/client-go v0.37.1\n" in text


def test_go_mod_without_replacements_has_no_block() -> None:
    assert gomod.render(recipes.crictl(), []).endswith("require sigs.k8s.io/cri-tools v1.36.0\n")


@pytest.mark.parametrize(("version", "old"), [("1.22.17", True), ("1.23.17", True), ("1.24.17", False), ("1.37.1", False)])
def test_only_old_minors_get_the_linker_and_reflection_workarounds(version: str, old: bool) -> None:
    program = recipes.kubernetes("kubeadm", version)
    assert ("-checklinkname=0" in program.link) is old
    assert ("reflect2 => github.com/modern-go/reflect2 v1.0.2" in gomod.render(program, [])) is old


def test_version_is_stamped_into_both_packages() -> None:
    words = " ".join(gomod.build_arguments(recipes.kubernetes("kubeadm", "1.28.15"), "out"))
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {package}.gitVersion=v1.28.15" in words
        assert f"-X {package}.gitMinor=28" in words


@pytest.mark.parametrize("version", sorted(recipes.RELEASES))
def test_every_program_of_a_layout_is_built(version: str) -> None:
    built = {program.name for program in recipes.programs(recipes.release(version))} | {"pause"}
    assert {name for contents, _, _ in images.LAYOUTS.values() for name, _ in contents} <= built
    assert set(images.references(recipes.release(version))) == set(images.LAYOUTS)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.37.1", {"registry.k8s.io/etcd:3.7.0-0", "registry.k8s.io/coredns/coredns:v1.14.6", "registry.k8s.io/pause:3.10.2"}),
        ("1.28.15", {"registry.k8s.io/etcd:3.5.15-0", "registry.k8s.io/coredns/coredns:v1.10.1", "registry.k8s.io/pause:3.9"}),
    ],
)
def test_images_carry_kubeadms_tags(version: str, expected: set[str]) -> None:
    named = set(images.references(recipes.release(version)).values())
    assert expected <= named
    assert f"registry.k8s.io/kube-apiserver:v{version}" in named


def test_an_unknown_release_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LabError, match=r"1\.37\.1 and 1\.28\.15"):
        recipes.release("1.30.0")


@pytest.mark.parametrize(("version", "old"), [("1.10.1", True), ("1.14.6", False)])
def test_old_coredns_gets_a_newer_garbage_collector_check(version: str, old: bool) -> None:
    assert ("assume-no-moving-gc => " in gomod.render(recipes.coredns(version), [])) is old
