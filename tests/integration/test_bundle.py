# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The listing command through real Ansible: the list, a bundle's own list written, faults found."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml
from integration.play import ROOT, Played
from unit.bundle.bundles import FILES, IMAGES, contents, lay


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A controller's directory, with documents and an inventory whose hosts nobody can reach."""
    (tmp_path / "kubeadm.yaml").write_text("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.37.1\n")
    hosts = {"all": {"children": {"control_plane": {"hosts": {"cp1": {"ansible_host": "192.0.2.1"}}}}}}
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump(hosts))
    (tmp_path / "ansible.cfg").touch()
    lay(tmp_path / "bundle", contents(), None)
    return tmp_path


def run(place: Path, *arguments: str, **variables: str) -> Played:
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [
            "ansible-playbook",
            "-i",
            "inventory.yml",
            "kubephase.cluster.bundle",
            "-e",
            "kubephase_config_file=kubeadm.yaml",
            *given,
            *arguments,
        ],
        cwd=place,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "collections"),
            "ANSIBLE_CONFIG": str(place / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_REMOTE_TMP": str(place / "remote-tmp"),
            "ANSIBLE_LOCAL_TEMP": str(place / "local-tmp"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Played(done.returncode, done.stdout)


def test_the_list_names_every_file_and_image(place: Path) -> None:
    played = run(place)
    assert played.code == 0, played.output
    assert played.recap("localhost")["changed"] == 0
    for name in (*FILES, *IMAGES):
        assert name in played.output
    assert "UNREACHABLE" not in played.output


def test_a_bundle_is_listed_then_checked_and_a_fault_is_found(place: Path) -> None:
    unlisted = run(place, kubephase_bundle="bundle")
    assert unlisted.code != 0
    assert "bundle/bundle.json: it is not there. Make it" in unlisted.output
    foreseen = run(place, "--check", kubephase_bundle="bundle", kubephase_bundle_write="true")
    assert foreseen.recap("localhost")["changed"] == 1, foreseen.output
    assert not (place / "bundle/bundle.json").exists()
    written = run(place, kubephase_bundle="bundle", kubephase_bundle_write="true")
    assert written.recap("localhost")["changed"] == 1, written.output
    assert json.loads((place / "bundle/bundle.json").read_text())["kubernetes"] == "1.37.1"
    assert run(place, kubephase_bundle="bundle").recap("localhost")["changed"] == 0
    (place / "bundle/bin/kubelet").write_text("another")
    (place / "bundle/cni/loopback").unlink()
    broken = run(place, kubephase_bundle="bundle")
    assert broken.code != 0
    assert "bundle/bin/kubelet: its SHA-256 is" in broken.output
    assert "bundle/cni/loopback: bundle.json lists it, and it is not there" in broken.output
    assert "Traceback" not in broken.output
