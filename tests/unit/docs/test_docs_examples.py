# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every example is an inventory that Ansible and the collection take as it is."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from tools.documentation.markdown import ROOT, blocks, rows

EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
# Parts of other playbooks, which cannot be played alone.
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml") if not path.stem.endswith("_planned"))
DOCUMENTS = Path(__file__).with_name("documents.yml")
_DOCUMENTATION = re.compile(r"192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|2001:db8:|10\.(?:96|244)\.|127\.0\.0\.1")
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b[0-9a-f]{4}:[0-9a-f:]+\b")


def ansible(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook as somebody would who works in the checkout."""
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_NOCOLOR": "1",
        # Groups that plays make on their way are not there before.
        "ANSIBLE_HOST_PATTERN_MISMATCH": "ignore",
    }
    return subprocess.run(["ansible-playbook", *words], env=environment, capture_output=True, text=True, check=False)


def checked(inventory: Path, *playbooks: str) -> None:
    """Insist that Ansible takes playbooks with an inventory, without a word."""
    done = ansible(*playbooks, "--syntax-check", "-i", str(inventory))
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert done.stdout.count("playbook: ") == len(playbooks)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_site_takes_the_inventory(example: Path) -> None:
    checked(example / "inventory.ini", "kubephase.cluster.site", *(str(path) for path in example.glob("*.yml")))


def test_every_playbook_takes_an_inventory() -> None:
    checked(EXAMPLES[0] / "inventory.ini", *(f"kubephase.cluster.{name}" for name in PLAYBOOKS))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_documents_are_valid_for_every_host(example: Path) -> None:
    done = ansible(str(DOCUMENTS), "-i", str(example / "inventory.ini"))
    assert done.returncode == 0, done.stdout + done.stderr
    hosts = set(re.findall(r"^(\w+) ansible_host=", (example / "inventory.ini").read_text(), re.MULTILINE))
    assert set(re.findall(r"^(\w+) +: ok=1 ", done.stdout, re.MULTILINE)) == hosts != set()


def test_a_mistake_in_the_documents_is_seen(tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.ini"
    inventory.write_text((EXAMPLES[0] / "inventory.ini").read_text())
    (tmp_path / "kubeadm.yaml").write_text((EXAMPLES[0] / "kubeadm.yaml").read_text().replace("podSubnet", "podSubnets"))
    done = ansible(str(DOCUMENTS), "-i", str(inventory), "-e", "kubephase_config_file=kubeadm.yaml")
    assert done.returncode != 0
    assert "Did you mean podSubnet?" in done.stdout + done.stderr


@pytest.mark.parametrize("path", [path for path in (ROOT / "examples").rglob("*") if path.is_file()], ids=lambda path: path.name)
def test_addresses_are_nobodys(path: Path) -> None:
    assert [found for found in _ADDRESS.findall(path.read_text()) if not _DOCUMENTATION.match(found)] == []


def test_every_example_is_listed() -> None:
    listed = {row[0].partition("]")[0].lstrip("[") for row in rows(ROOT / "examples/README.md", "# Examples")}
    assert listed == {path.name for path in EXAMPLES}


def laid_out(page: str, target: Path, *sections: str) -> list[Path]:
    """Write the files that a page shows, each named by the comment in its first line."""
    found = []
    for block in blocks(ROOT / page):
        name = re.match(r"# ([\w./-]+\.(?:ini|ya?ml))", block.body)
        if name and block.section in sections:
            found.append(target / name[1])
            found[-1].parent.mkdir(parents=True, exist_ok=True)
            found[-1].write_text(block.body)
    return found


def test_the_files_of_the_readme_are_a_whole_inventory(tmp_path: Path) -> None:
    assert len(laid_out("README.md", tmp_path, "To a cluster")) == 2
    done = ansible(str(DOCUMENTS), "-i", str(tmp_path / "inventory.ini"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": ok=1 ") == 3


def test_the_files_of_getting_started_are_those_of_the_example(tmp_path: Path) -> None:
    written = laid_out("docs/getting-started.md", tmp_path, "Describe the cluster")
    assert [str(path.relative_to(tmp_path)) for path in written] == ["inventory.ini", "kubeadm.yaml", "group_vars/all.yml"]
    for path in written:
        example = ROOT / "examples/one-plus-two" / path.relative_to(tmp_path)
        if path.suffix == ".ini":
            assert path.read_text().partition("\n")[2].strip() == example.read_text().strip()
        else:
            assert list(yaml.safe_load_all(path.read_text())) == list(yaml.safe_load_all(example.read_text()))
