# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions as kubeadm reads them, and the range that the tables cover."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._release import (
    NEWEST,
    OLDEST,
    Release,
    UnsupportedVersion,
    Version,
    canonical,
    component_image,
    coredns_image,
    etcd_image,
    image_tag,
    pause_image,
    release_for,
)

READ = [
    ("v1.37.1", Version(1, 37, 1), "v1.37.1", "v1.37.1"),
    ("1.22.0", Version(1, 22, 0), "v1.22.0", "v1.22.0"),
    ("v1.31.0-alpha.1", Version(1, 31, 0), "v1.31.0-alpha.1", "v1.31.0-alpha.1"),
    ("1.30.5-rc.0+0a1b.2", Version(1, 30, 5), "v1.30.5-rc.0+0a1b.2", "v1.30.5-rc.0_0a1b.2"),
    ("v1.28.15+build", Version(1, 28, 15), "v1.28.15+build", "v1.28.15_build"),
]

NO_VERSION = [
    "",
    "v1.37",
    "1",
    "stable-1",
    "latest",
    "ci/v1.37.1",
    "V1.37.1",
    "vv1.37.1",
    "v01.37.1",
    "v1.037.1",
    " v1.37.1",
    "v1.37.1\n",
    "v1.37.1-",
    "v1.37.1+",
    "v1.37.1-a..b",
    "v1.37.1_1",
    "v1.٣٧.1",
]

NOT_COVERED = ["v1.21.14", "v1.38.0", "v1.38.0-alpha.0", "v0.37.1", "v2.30.0"]


@pytest.mark.parametrize(("text", "version", "stored", "tag"), READ)
def test_reads_a_version(text: str, version: Version, stored: str, tag: str) -> None:
    assert Version.parse(text) == version
    assert canonical(text) == stored
    assert image_tag(text) == tag
    assert release_for(text).version == version


def test_writes_a_version_with_its_v() -> None:
    assert str(Version(1, 37, 1)) == "v1.37.1"
    assert Version.parse(str(Version(1, 22, 17))) == (1, 22, 17)


@pytest.mark.parametrize("text", NO_VERSION)
def test_refuses_what_is_no_version(text: str) -> None:
    with pytest.raises(UnsupportedVersion) as refused:
        release_for(text)
    assert repr(text) in str(refused.value)
    assert f"1.{OLDEST} through 1.{NEWEST}" in str(refused.value)


@pytest.mark.parametrize("text", NOT_COVERED)
def test_refuses_a_release_outside_the_tables(text: str) -> None:
    for asked in (text, Version.parse(text)):
        with pytest.raises(UnsupportedVersion) as refused:
            release_for(asked)
        assert str(Version.parse(text)) in str(refused.value)
        assert f"1.{OLDEST} through 1.{NEWEST}" in str(refused.value)


def test_covers_1_22_through_1_37() -> None:
    assert (OLDEST, NEWEST) == (22, 37)


def test_a_release_cannot_be_changed() -> None:
    release = release_for("v1.37.1")
    assert release == Release(Version(1, 37, 1))
    for name in ("version", "etcd_tag", "made_up"):
        with pytest.raises(AttributeError):
            setattr(release, name, "other")


def test_images_have_their_names() -> None:
    assert component_image("registry.k8s.io", "kube-apiserver", "1.37.1+x") == "registry.k8s.io/kube-apiserver:v1.37.1_x"
    assert etcd_image("mirror.example:5000/k8s", "3.7.0-0") == "mirror.example:5000/k8s/etcd:3.7.0-0"
    assert pause_image("registry.k8s.io", "3.10.2") == "registry.k8s.io/pause:3.10.2"


@pytest.mark.parametrize(
    ("version", "repository", "image"),
    [
        ("1.37.1", "registry.k8s.io", "registry.k8s.io/coredns/coredns:v1.14.6"),
        ("1.37.1", "mirror.example/k8s", "mirror.example/k8s/coredns:v1.14.6"),
        ("1.37.1", "k8s.gcr.io", "k8s.gcr.io/coredns:v1.14.6"),
        ("1.22.16", "k8s.gcr.io", "k8s.gcr.io/coredns/coredns:v1.8.4"),
        ("1.22.16", "registry.k8s.io", "registry.k8s.io/coredns:v1.8.4"),
        ("1.22.17", "registry.k8s.io", "registry.k8s.io/coredns/coredns:v1.8.4"),
    ],
)
def test_coredns_has_a_folder_only_in_the_default_repository(version: str, repository: str, image: str) -> None:
    release = release_for(version)
    assert coredns_image(repository, release.coredns_tag, release.image_repository) == image
