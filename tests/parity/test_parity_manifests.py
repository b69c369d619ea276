# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real kubeadm and ours write the same static pod manifests, to the byte, and take each other's for their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._release import release_for
from ansible_collections.kubephase.cluster.tests.parity.cases import Case
from ansible_collections.kubephase.cluster.tests.parity.manifests import (
    MANIFESTS,
    has_local_etcd,
    prepared,
    render_with_kubeadm,
    render_with_ours,
)
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering
from ansible_collections.kubephase.cluster.tests.parity.test_parity import snapshot


@pytest.fixture(scope="session")
def kubeadms(pair: tuple[Case, str], theirs: Rendering, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root in which kubeadm wrote the manifests."""
    case, release = pair
    root = prepared(case, theirs.root, tmp_path_factory.mktemp("kubeadms") / "root")
    render_with_kubeadm(case, release, root)
    return root


@pytest.fixture
def own(pair: tuple[Case, str], theirs: Rendering, tmp_path: Path) -> Path:
    """A root in which ours wrote them."""
    case, release = pair
    root = prepared(case, theirs.root, tmp_path / "root")
    render_with_ours(case, release, root)
    return root


def texts(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((root / MANIFESTS).iterdir())}


def with_sorted_env(text: str) -> Any:
    """A manifest whose variables kubeadm wrote in random order."""
    pod = yaml.safe_load(text)
    for container in pod["spec"]["containers"]:
        container.get("env", []).sort(key=lambda entry: entry["name"])
    return pod


def modes(root: Path) -> dict[str, int]:
    return {path.relative_to(root).as_posix(): path.stat().st_mode for path in sorted(root.rglob("*"))}


def test_same_manifests(pair: tuple[Case, str], kubeadms: Path, own: Path) -> None:
    case, release = pair
    expected, found = texts(kubeadms), texts(own)
    assert ("etcd.yaml" in expected) is has_local_etcd(case)
    if release_for(release).extra_envs_sorted:
        assert found == expected
    else:
        read = with_sorted_env if any("env:" in text for text in expected.values()) else str
        assert {name: read(text) for name, text in found.items()} == {name: read(text) for name, text in expected.items()}
    assert modes(own) == modes(kubeadms)


def test_ours_takes_kubeadms_manifests_for_its_own(pair: tuple[Case, str], kubeadms: Path) -> None:
    case, release = pair
    before = snapshot(kubeadms)
    assert [(change.target, change.reason) for change in render_with_ours(case, release, kubeadms)] == []
    assert snapshot(kubeadms) == before


def test_ours_again_changes_no_manifest(pair: tuple[Case, str], own: Path) -> None:
    case, release = pair
    before = snapshot(own)
    assert render_with_ours(case, release, own) == ()
    assert snapshot(own) == before
