# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels and taints of the inventory on a real API server: who owns what is for it to say."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bootstrap import NodeApi
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.node_settings import NodeSettingsApi
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.phase import NodeSettingsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.node_settings import OWN_TAINTS, SettleNode
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey, PatchNode
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, ApiServer, LoopbackApi, our_api

__all__ = ["our_api"]
pytestmark = ONE_WORKER

NODE = ObjectKey("v1", "Node", "", "worker1")
GPU = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
FOREIGN = {"key": "example.test/theirs", "value": "yes", "effect": "NoExecute"}
NEW = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
CONTROL_PLANE = PatchNode("worker1", labels={"node-role.kubernetes.io/control-plane": ""}, taints=(FOREIGN,))
DOCUMENTS = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}


class LoopbackSettings(NodeSettingsApi):
    """Our adapter, held to the server that the kubeconfig names."""

    def talk_to(self, server: str) -> None:
        """Stay."""


@pytest.fixture
def server(our_api: ApiServer) -> ApiServer:
    """A cluster with one Node, marked by others."""
    our_api.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker1", "labels": {"kubernetes.io/os": "linux"}}})
    our_api.api().apply(CONTROL_PLANE)
    return our_api


def settle(server: ApiServer, labels: dict[str, Any], taints: list[dict[str, Any]], check: bool = False) -> Outcome:
    files = Files(str(server.root))
    world = server.world(api=LoopbackSettings(files, deadline=3), node_api=NodeApi(files))
    options = {"node": "worker1", "node_labels": labels, "node_taints": taints}
    return execute(NodeSettingsPhase(), world, DOCUMENTS, options, check)


def seen(server: ApiServer) -> tuple[dict[str, str], list[Any], str]:
    """Labels, taints and the note of ours; without the taint that the server itself gives to every new Node, and which must be there."""
    found: Manifest = server.object(NODE)
    metadata, taints = found["metadata"], found["spec"].get("taints", [])
    assert NEW in taints
    return metadata.get("labels", {}), [each for each in taints if each != NEW], metadata.get("annotations", {}).get(OWN_TAINTS, "")


OTHERS = {"kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": ""}


def test_they_come_stay_and_go(server: ApiServer) -> None:
    assert settle(server, {"zone": "a", "tier": "front"}, [GPU], check=True).changed
    assert seen(server) == (OTHERS, [FOREIGN], "")
    assert settle(server, {"zone": "a", "tier": "front"}, [GPU]).changed
    assert seen(server) == ({**OTHERS, "zone": "a", "tier": "front"}, [FOREIGN, GPU], "dedicated=gpu:NoSchedule")
    before = server.versions()
    assert not settle(server, {"zone": "a", "tier": "front"}, [GPU]).changed
    assert server.versions() == before
    assert settle(server, {"zone": "b"}, []).changed
    assert seen(server) == ({**OTHERS, "zone": "b"}, [FOREIGN], "")
    assert settle(server, {}, []).changed
    assert seen(server) == (OTHERS, [FOREIGN], "")
    assert not settle(server, {}, []).changed


def test_what_was_changed_by_hand_is_put_right(server: ApiServer) -> None:
    settle(server, {"zone": "a"}, [GPU])
    server.api().apply(PatchNode("worker1", labels={"zone": "moved", "mine": "too"}, taints=({**GPU, "value": "other"},)))
    outcome = settle(server, {"zone": "a"}, [GPU])
    assert outcome.plan.changes[0].reason.startswith("it lacks the label zone, the taint dedicated=gpu:NoSchedule")
    labels, taints, _note = seen(server)
    assert (labels["zone"], labels["mine"]) == ("a", "too")
    assert GPU in taints and FOREIGN in taints and len(taints) == 2


def test_what_others_have_set_alike_stays_when_the_inventory_lets_go_of_it(server: ApiServer) -> None:
    settle(server, {"node-role.kubernetes.io/control-plane": ""}, [FOREIGN])
    settle(server, {}, [])
    assert seen(server) == (OTHERS, [FOREIGN], "")


def test_marking_a_control_plane_and_the_inventory_leave_each_other_alone(server: ApiServer) -> None:
    settle(server, {"zone": "a"}, [GPU])
    before = seen(server)
    server.api().apply(CONTROL_PLANE)
    assert not settle(server, {"zone": "a"}, [GPU]).changed
    assert seen(server) == before


def test_a_node_that_is_gone_is_not_made_and_is_waited_for(server: ApiServer) -> None:
    server.reset()
    with pytest.raises(Unusable, match="it did not register"):
        settle(server, {"zone": "a"}, [])
    assert server.object(NODE) is None


def test_a_host_without_admin_conf_says_what_to_do(server: ApiServer, tmp_path: Any) -> None:
    with pytest.raises(Unusable, match="Delegate the task to a control plane"):
        NodeSettingsApi(Files(str(tmp_path))).apply(SettleNode("worker1", {"zone": "a"}))


def test_a_write_in_between_is_not_lost(server: ApiServer) -> None:
    """Somebody adds a taint after we have read the node: our list must not put it away."""

    class Overtaken(LoopbackSettings):
        done = False

        def _write_taints(self, key: ObjectKey, node: Manifest, found: Any) -> bool:
            if not self.done:
                self.done = True
                LoopbackApi(self._files).apply(PatchNode("worker1", taints=({"key": "late", "effect": "NoSchedule"},)))
            return super()._write_taints(key, node, found)

    Overtaken(Files(str(server.root)), deadline=3).apply(SettleNode("worker1", taints=(GPU,)))
    assert {taint["key"] for taint in seen(server)[1]} == {"dedicated", "late", "example.test/theirs"}
