# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What users get: the artifact, installed where nothing else is, makes a cluster of one control plane and one worker."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from live.fleet import Fleet, virgin_fleet
from live.node import ROOT, remove

# The line that docs/progress.md gives, and nothing else.
_CONFIGURATION = "[defaults]\nstdout_callback = kubephase.cluster.progress\n"
_RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=0\s+failed=0\b", re.MULTILINE)


@dataclass(frozen=True)
class Elsewhere:
    """A home and a project of somebody who has ansible-core and the artifact, and has never seen a checkout."""

    tools: Path
    home: Path

    @property
    def project(self) -> Path:
        """Where this user's own files are."""
        return self.home / "project"

    def call(self, *command: str) -> str:
        """Run one of the tools; only what is said here is in its environment."""
        surroundings = {"HOME": str(self.home), "PATH": f"{self.tools}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            command, cwd=self.project, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\n{done.stdout[-6000:]}")
        return done.stdout


def artifact(place: Path) -> Path:
    """Build what is released."""
    done = subprocess.run(["bash", str(ROOT / "tests/build.sh"), str(place)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return Path(done.stdout.split()[-1])


@pytest.fixture(params=["clean-2.21", pytest.param("clean-2.20", marks=pytest.mark.long)])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """An environment with nothing but an ansible-core, and the artifact installed into a new home."""
    made = subprocess.run(
        ["bash", str(ROOT / "tests/compat.sh"), "environment", request.param], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if not made:
        pytest.skip(f"this machine lacks the Python of {request.param}")
    # Ansible's sockets are below it, whose names must not be long.
    found = Elsewhere(Path(made), tmp_path_factory.mktemp("home"))
    found.project.mkdir(parents=True)
    found.project.joinpath("ansible.cfg").write_text(_CONFIGURATION)
    found.call("ansible-galaxy", "collection", "install", "--offline", str(artifact(tmp_path)))
    return found


@pytest.fixture
def bare(place: str) -> Iterator[Fleet]:
    """One control plane and one worker on which nothing has been done yet."""
    instance = f"live-{place}-a"
    try:
        yield virgin_fleet(instance, 1, 1)
    finally:
        remove(instance)


def test_the_installed_artifact_makes_a_cluster_and_then_changes_nothing(elsewhere: Elsewhere, bare: Fleet) -> None:
    listed = json.loads(elsewhere.call("ansible-galaxy", "collection", "list", "--format", "json"))
    assert {place: set(found) for place, found in listed.items() if found} == {
        str(elsewhere.home / ".ansible/collections/ansible_collections"): {"kubephase.cluster"}
    }
    first = bare["cp1"]
    given = {
        "kubephase_config_file": str(first.manifests / "kubeadm.yaml"),
        "kubephase_addon_manifest": str(first.manifests / "flannel.yaml"),
    }
    site = ("ansible-playbook", "kubephase.cluster.site", "-i", str(first.inventory), "-e", json.dumps(given))
    hosts = {node.name for node in bare.nodes.values()}

    made = elsewhere.call(*site)
    counts = {host: int(changed) for host, changed in _RECAP.findall(made)}
    assert hosts <= set(counts)
    assert all(counts[host] > 0 for host in hosts)
    # Only the progress callback draws a row a phase at the end.
    assert re.search(r"^\W*certs\b", made, re.MULTILINE), made
    assert "TASK [" not in made
    # Where the carrier of modules does not work with an ansible-core, the usual way would be taken without a word.
    assert {name: len(node.run("ls /run/kubephase").split()) for name, node in bare.nodes.items()} == dict.fromkeys(bare.nodes, 1)
    assert str(ROOT) not in made.replace(os.environ["KUBEPHASE_CACHE"], "")

    bare.until_ready()
    again = elsewhere.call(*site)
    assert {host: changed for host, changed in _RECAP.findall(again) if host in hosts} == dict.fromkeys(hosts, "0")
