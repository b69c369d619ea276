# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What differs between an object and what would become of it, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

# Kept by the server, and no part of what anybody wants of an object.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "deletionTimestamp", "selfLink")
ABSENT: Any = object()


def essence(found: Manifest) -> dict[str, Any]:
    """An object without what the server keeps about it, and without its status."""
    bare = {name: value for name, value in found.items() if name != "status"}
    bare["metadata"] = {name: value for name, value in (found.get("metadata") or {}).items() if name not in _BOOKKEEPING}
    return bare


def differences(before: Any, after: Any, place: str = "") -> tuple[str, ...]:
    """The paths at which two values differ, such as data.kubelet or spec.template.spec.containers[0].image."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = sorted({*before, *after})
        return tuple(
            path for name in names for path in differences(before.get(name, ABSENT), after.get(name, ABSENT), _below(place, str(name)))
        )
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after))
        return tuple(path for index, (one, other) in pairs for path in differences(one, other, f"{place}[{index}]"))
    return () if before is not ABSENT and after is not ABSENT and before == after else (place,)


def excerpt(value: Any, manifest: Any, other: Any) -> Any:
    """The part of a value that a person cares about: what we render, and what differs from the other value."""
    if isinstance(value, Mapping):
        rendered = manifest if isinstance(manifest, Mapping) else {}
        opposite = other if isinstance(other, Mapping) else {}
        return {
            name: excerpt(part, rendered.get(name), opposite.get(name))
            for name, part in value.items()
            if name in rendered or name not in opposite or part != opposite[name]
        }
    if isinstance(value, list) and isinstance(other, list) and isinstance(manifest, list) and len(value) == len(other) == len(manifest):
        return [excerpt(part, rendered, opposite) for part, rendered, opposite in zip(value, manifest, other)]
    return value


def _below(place: str, name: str) -> str:
    # A name with a dot in it, as labels and annotations have, would read as two steps.
    step = f"[{name}]" if "." in name or "/" in name else name
    return f"{place}.{step}" if place and not step.startswith("[") else f"{place}{step}"
