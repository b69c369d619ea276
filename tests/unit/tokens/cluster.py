# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster in memory for phases that talk to the API: it stores, lists, merges and gives every write a version."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from unit.world import Host, StandingClock

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import CertsSecret
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    Manifest,
    ObjectKey,
    ObjectState,
    key_of,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute, settle
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

START = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
ADMIN = "etc/kubernetes/admin.conf"
CA = base64.b64encode(b"the authority").decode()


class StoppedInBetween(Exception):
    """Stands for a kill between two writes."""


@dataclass
class Cluster:
    """The objects of an API server; after so many writes as ``patience`` says it is as if the run was killed."""

    objects: dict[ObjectKey, Any] = field(default_factory=dict)
    asked: str = ""
    writes: int = 0
    patience: int = 10**6

    applies = (ApplyObject, CreateObject, DeleteObject)

    def talk_to(self, server: str) -> None:
        self.asked = server

    def get(self, key: ObjectKey) -> Manifest | None:
        return copy.deepcopy(self.objects.get(key))

    def list(self, api_version: str, kind: str, namespace: str = "", label_selector: str = "", field_selector: str = "") -> Any:
        name, _, value = field_selector.partition("=")
        fits = [key for key in self.objects if key[:3] == (api_version, kind, namespace)]
        return tuple(self.get(key) for key in fits if not name or self.objects[key].get(name) == value)

    def observe(self, manifests: Iterable[Manifest]) -> dict[ObjectKey, ObjectState]:
        states = {}
        for manifest in manifests:
            live = self.get(key_of(manifest))
            states[key_of(manifest)] = ObjectState(live, merged(live, manifest) if live is not None else None)
        return states

    def apply(self, action: Action) -> None:
        if self.writes >= self.patience:
            raise StoppedInBetween
        self.writes += 1
        if isinstance(action, DeleteObject):
            self.objects.pop(action.key, None)
        elif isinstance(action, (ApplyObject, CreateObject)):
            key = key_of(action.manifest)
            assert not (isinstance(action, CreateObject) and key in self.objects)
            whole = merged(self.objects.get(key, {}), action.manifest)
            whole["metadata"].setdefault("uid", f"uid-{self.writes}")
            self.objects[key] = whole


def merged(live: Any, manifest: Any) -> Any:
    """What server-side apply makes of an object, but for lists that it merges."""
    if not isinstance(live, Mapping) or not isinstance(manifest, Mapping):
        return copy.deepcopy(manifest)
    return {**copy.deepcopy(dict(live)), **{name: merged(live.get(name), value) for name, value in manifest.items()}}


def write_admin(root: Path, **cluster: Any) -> None:
    """The admin.conf of a host that belongs to a cluster."""
    (root / ADMIN).parent.mkdir(parents=True, exist_ok=True)
    entry = {"server": "https://api.example.test:6443", "certificate-authority-data": CA, **cluster}
    document = {
        "clusters": [{"name": "c", "cluster": {name: value for name, value in entry.items() if value is not None}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    (root / ADMIN).write_text(yaml.safe_dump(document))


def perform(
    phase: Any,
    root: Path,
    cluster: Cluster,
    documents: Mapping[str, Any] | None = None,
    check: bool = False,
    after: timedelta = timedelta(0),
    **options: Any,
) -> Outcome:
    """Run a phase against the cluster, so long after the start."""
    clock = StandingClock(START + after)
    world = World(files=Files(str(root)), api=cluster, certs=CertsSecret(cluster), mint=Mint(cluster), clock=clock, host=Host())
    return execute(phase, world, documents or {}, options, check)


def observed(phase: Any, root: Path, cluster: Cluster) -> Any:
    """What a phase sees."""
    world = World(files=Files(str(root)), api=cluster, clock=StandingClock(START), host=Host())
    return phase.read(settle({}, world, {}), world, {})


def secret_texts(cluster: Cluster, name: str) -> dict[str, str]:
    """The values of a Secret in kube-system, decoded."""
    data = cluster.objects[ObjectKey("v1", "Secret", "kube-system", name)]["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def everything_said(outcome: Outcome) -> str:
    """All that a run shows of itself, which leaves out what it hands back on purpose."""
    return repr(outcome.plan) + repr(interpreter.diff(outcome.plan)) + "".join(outcome.warnings)
