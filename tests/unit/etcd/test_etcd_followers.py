# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What needs a joining control plane's etcd is written once that votes, and not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.etcd.test_etcd_phases import FIRST, Members, Pods, armed
from unit.world import Host, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import JoinEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.modules import etcd_member

COMPONENTS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]
EXTERNAL = {"external": {"endpoints": ["https://192.0.2.50:2379"], "caFile": "/a", "certFile": "/b", "keyFile": "/c"}}
MANIFESTS = "etc/kubernetes/manifests"


class Membership:
    """Joins as it is told, and notes which manifests were there by then."""

    applies = (JoinEtcd,)

    def __init__(self, root: Path, fails: bool = False) -> None:
        self._root = root
        self._fails = fails
        self.seen: list[str] = []

    def apply(self, action: Action) -> dict[str, Any]:
        self.seen = written(self._root)
        if self._fails:
            raise Unusable("etcd member cp2", "it is still a learner", "Run again")
        return {}


def written(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / MANIFESTS).glob("*.yaml"))


def run(root: Path, membership: Membership | None = None, check: bool = False, etcd: Any = None, **options: Any) -> Outcome:
    phases, _world = etcd_member.make(str(root))
    pods = Pods()
    pods.urls = ["https://192.0.2.10:2379"]
    world = World(
        files=Files(str(root)), api=pods, etcd=Members(FIRST), membership=membership or Membership(root), host=Host("cp2", "192.0.2.11")
    )
    documents = {
        "ClusterConfiguration": {"kubernetesVersion": "v1.37.1", "controlPlaneEndpoint": "192.0.2.1:6443", "etcd": etcd or {}},
        "JoinConfiguration": {"controlPlane": {}},
    }
    return execute(phases, world, documents, {"becomes": "control_plane", "followed_by": COMPONENTS, **options}, check)


def test_they_come_after_the_member(tmp_path: Path) -> None:
    membership = Membership(armed(tmp_path))
    outcome = run(tmp_path, membership)
    assert (membership.seen, written(tmp_path)) == ([], COMPONENTS)
    assert [fact["component"] for fact in outcome.facts["manifests"]] == COMPONENTS
    assert [change.target.rpartition("/")[2] for change in outcome.plan.changes[-3:]] == [f"{name}.yaml" for name in COMPONENTS]


def test_without_the_member_there_is_none_of_them(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="it is still a learner"):
        run(tmp_path, Membership(armed(tmp_path), fails=True))
    assert written(tmp_path) == []


def test_a_check_tells_of_them_and_writes_nothing(tmp_path: Path) -> None:
    before = snapshot(armed(tmp_path))
    checked = run(tmp_path, check=True)
    assert snapshot(tmp_path) == before
    targets = [change.target for change in checked.plan.changes]
    assert targets == [change.target for change in run(tmp_path).plan.changes]


def test_with_an_external_etcd_they_wait_for_nobody(tmp_path: Path) -> None:
    run(armed(tmp_path), etcd=EXTERNAL)
    assert written(tmp_path) == COMPONENTS


def test_nobody_follows_unless_told(tmp_path: Path) -> None:
    outcome = run(armed(tmp_path), followed_by=None)
    assert (written(tmp_path), "manifests" in outcome.facts) == ([], False)
