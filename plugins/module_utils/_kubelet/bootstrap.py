# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-wait-bootstrap phase: the kubelet gets its certificate, and what it asked with goes away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE, WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.table import kubelet_talks_locally
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.healthz import healthz_url_on_disk
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import BOOTSTRAP, CONFIG, KUBECONFIG, runtime_annotation
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_change, node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.bootstrap import AwaitBootstrap
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, RemoveFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

_UNFINISHED = "the kubelet's TLS bootstrap is not finished"


@dataclass(frozen=True)
class Observed:
    """Whether the kubelet has its certificate and what is left of the bootstrap; None where all this is no concern."""

    admitted: bool
    bootstrap: bool = False
    config: FileState | None = None
    node: Manifest | None = None


class KubeletWaitBootstrapPhase:
    """The end of kubeadm's kubelet-start for those who become one of these; for others there is nothing to do."""

    name = "kubelet-wait-bootstrap"

    def __init__(self, becomes: tuple[str, ...] = (WORKER, CONTROL_PLANE)) -> None:
        self._becomes = becomes

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed | None:
        """Look for the credentials; as the kubelet itself, ask for the Node where it is to be annotated."""
        if docs.becomes not in self._becomes:
            return None
        admitted = world.node_api.admitted()
        asks = admitted and runtime_annotation(docs) is not None
        return Observed(
            admitted=admitted,
            bootstrap=world.files.exists(BOOTSTRAP),
            config=world.files.read(CONFIG),
            node=world.node_api.get(node_key(docs.node.name)) if asks else None,
        )

    def plan(self, docs: Documents, seen: Observed | None, options: Mapping[str, Any]) -> Plan:
        """Wait while there is something to wait for, then tidy up and annotate the Node where the release does."""
        if seen is None:
            return Plan()
        # The same for a host that is let in between a check and a run, because a check is to tell what a run does.
        reason = _UNFINISHED if seen.bootstrap or not seen.admitted else ""
        changes = [_wait(docs, seen, reason)] if reason else []
        if seen.bootstrap:
            changes.append(
                Change(BOOTSTRAP, "the kubelet then has credentials of its own", "bootstrap credentials\n", "", RemoveFile(BOOTSTRAP))
            )
        annotation = runtime_annotation(docs)
        change = node_change(seen.node, annotation) if annotation is not None else None
        return Plan((*changes, *([change] if change else [])), {"bootstrap_wait": reason})


def _wait(docs: Documents, seen: Observed, reason: str) -> Change:
    timeouts = docs.timeouts
    action = AwaitBootstrap(
        node=docs.node.name,
        kubeconfig=KUBECONFIG,
        bootstrap_kubeconfig=BOOTSTRAP,
        seconds=timeouts.tls_bootstrap.total_seconds(),
        # Where both were waited for side by side, a certificate was enough.
        health_url="" if docs.known_release.kubelet_waits_parallel else healthz_url_on_disk(docs, seen.config),
        health_seconds=timeouts.kubelet_health_check.total_seconds(),
        late_server_url=f"{local_url(docs)}/readyz" if docs.becomes == CONTROL_PLANE and kubelet_talks_locally(docs) else "",
    )
    return Change(KUBECONFIG, reason, "", "the kubelet's own credentials\n", action)
