# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Examples and the commands of the documentation on bare nodes, as a newcomer would follow them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from live.examples import FOLLOWED, changes, stage
from live.node import remove

_OURS = ("kubephase_package_source", "kubephase_package_repository", "kubephase_package_key", "kubephase_bundle")


@pytest.fixture
def instance(place: str) -> Iterator[str]:
    """The name of an instance that goes with the test."""
    name = f"live-{place}-x"
    remove(name)
    try:
        yield name
    finally:
        remove(name)


def test_getting_started(instance: str, tmp_path: Path) -> None:
    """Three machines with nothing on them; every command of the page, then the same run again."""
    staged = stage(FOLLOWED["docs/getting-started.md"], instance, tmp_path)
    printed = staged.follow("docs/getting-started.md")
    assert [each.count(" Ready ") for each in printed if each.startswith("NAME ")] == [3]
    assert (staged.place / "admin.conf").stat().st_mode & 0o777 == 0o600
    again = staged.run(["ansible-playbook", "kubephase.cluster.site", "-i", "inventory.ini"])
    assert changes(again) == {"cp1": 0, "w1": 0, "w2": 0}


@pytest.mark.long
def test_single_node(instance: str, tmp_path: Path) -> None:
    """Ordinary pods run on the only node, because the documents take its taint away."""
    staged = stage(FOLLOWED["examples/README.md"], instance, tmp_path)
    staged.follow("examples/README.md")
    staged.run(["ansible-playbook", "kubephase.cluster.verify", "-i", "inventory.ini"])
    staged.first.kubectl("wait --for=condition=Available deployment/coredns -n kube-system --timeout=60s")
    assert staged.first.kubectl("get nodes -o jsonpath='{.items[*].spec.taints}'").strip() == ""


@pytest.mark.long
def test_air_gap(instance: str, tmp_path: Path) -> None:
    """Everything comes from the bundle: the nodes have not even a repository in their variables."""
    staged = stage(FOLLOWED["examples/air-gap/README.md"], instance, tmp_path, without=_OURS)
    group = staged.place / "group_vars/all.yml"
    group.write_text(group.read_text().replace("/srv/bundle.tar", staged.given["/srv/bundle.tar"]))
    staged.first.run("rm -f /etc/apt/sources.list.d/*")
    printed = staged.follow("examples/air-gap/README.md")
    assert all(changed > 0 for changed in changes(printed[-1]).values())
    staged.run(["ansible-playbook", "kubephase.cluster.verify", "-i", "inventory.ini"])
    again = staged.run(["ansible-playbook", "kubephase.cluster.site", "-i", "inventory.ini"])
    assert changes(again) == {"cp1": 0, "w1": 0}
