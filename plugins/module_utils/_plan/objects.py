# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects of the Kubernetes API as phases see them, and what a plan may ask to be done to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

Manifest = Mapping[str, Any]


class ObjectKey(NamedTuple):
    """What tells one object from another; cluster-wide ones have no namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True)
class ObjectState:
    """An object as it is, and as the API server says that it would be after our manifest was applied."""

    live: Manifest | None = field(repr=False)
    applied: Manifest | None = field(repr=False)


@dataclass(frozen=True)
class ApplyObject(Action):
    """Apply a manifest on the server's side, forcing only the fields that it names."""

    manifest: Manifest = field(repr=False)


@dataclass(frozen=True)
class CreateObject(Action):
    """Create an object that must not be there yet; somebody else's of the same name is never touched."""

    manifest: Manifest = field(repr=False)


@dataclass(frozen=True)
class DeleteObject(Action):
    """Delete an object; one that is gone already is as good."""

    key: ObjectKey


@dataclass(frozen=True)
class PatchNode(Action):
    """Add labels, annotations and taints to a Node, and leave what others put there."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()


def key_of(manifest: Manifest) -> ObjectKey:
    """Read an object's key."""
    metadata = manifest.get("metadata", {})
    return ObjectKey(manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""), metadata["name"])
