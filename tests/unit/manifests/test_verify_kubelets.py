# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The flag by which the API server verifies kubelets: put there, kept, removed, and the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.manifests.test_static_pod_phase import command, done, static_pods

API_SERVER = "kube-apiserver"
FLAG = "--kubelet-certificate-authority="


def flags(root: Path) -> list[str]:
    return [word for word in command(root, API_SERVER) if word.startswith(FLAG)]


@pytest.mark.parametrize(
    ("before", "now", "there"),
    [
        ("never", "never", False),
        ("never", "keep", False),
        ("never", "always", True),
        ("always", "keep", True),
        ("always", "always", True),
        ("always", "never", False),
    ],
)
def test_the_flag_comes_stays_and_goes(tmp_path: Path, before: str, now: str, there: bool) -> None:
    static_pods(tmp_path, verify_kubelets=before)
    outcome = static_pods(tmp_path, verify_kubelets=now)
    assert flags(tmp_path) == ([f"{FLAG}/etc/kubernetes/pki/ca.crt"] if there else [])
    was = before == "always"
    assert done(outcome) == {
        **dict.fromkeys(("etcd", "kube-controller-manager", "kube-scheduler"), "kept"),
        API_SERVER: "kept" if was is there else "rewritten",
    }


def test_without_the_option_a_manifest_is_as_kubeadm_writes_it(tmp_path: Path) -> None:
    static_pods(tmp_path)
    assert flags(tmp_path) == []


@pytest.mark.parametrize("option", ["never", "keep", "always"])
def test_what_the_user_says_wins(tmp_path: Path, option: str) -> None:
    own: dict[str, Any] = {"apiServer": {"extraArgs": [{"name": "kubelet-certificate-authority", "value": "/etc/ssl/kubelets.crt"}]}}
    static_pods(tmp_path, own, verify_kubelets=option)
    assert flags(tmp_path) == [f"{FLAG}/etc/ssl/kubelets.crt"]
    assert not static_pods(tmp_path, own, verify_kubelets=option).changed


def test_the_flag_follows_the_directory_of_certificates(tmp_path: Path) -> None:
    static_pods(tmp_path, {"certificatesDir": "/etc/kubernetes/other"}, verify_kubelets="always")
    assert flags(tmp_path) == [f"{FLAG}/etc/kubernetes/other/ca.crt"]


def test_another_value_is_not_taken_for_ours(tmp_path: Path) -> None:
    static_pods(tmp_path, verify_kubelets="always")
    path = tmp_path / "etc/kubernetes/manifests/kube-apiserver.yaml"
    path.write_text(path.read_text().replace(f"{FLAG}/etc/kubernetes/pki/ca.crt", f"{FLAG}/somebody/elses.crt"))
    static_pods(tmp_path, verify_kubelets="keep")
    assert flags(tmp_path) == []
