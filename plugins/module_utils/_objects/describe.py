# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects as a person reads them in a diff; values of Secrets and of containers' variables are never among it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_HIDDEN = "(hidden)"
_CHANGED = "(hidden, changed)"
_SECRET_FIELDS = ("data", "stringData")
_CONTAINERS = ("containers", "initContainers")


def text(found: Manifest) -> str:
    """An object as YAML, texts of several lines as blocks."""
    written: str = yaml.dump(_plain(found), Dumper=_dumper(), default_flow_style=False, sort_keys=True, width=2**20, allow_unicode=True)
    return written


def hidden(found: Manifest, other: Manifest | None = None) -> Manifest:
    """An object in which the values of a Secret, or of variables, are masked; those that differ from the other's say so."""
    masked = _secret(found, other) if found.get("kind") == "Secret" else _without_values(found, dict(_variables(other)))
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("annotations"):
        # An annotation of kubectl's repeats the whole object.
        annotations = {name: _HIDDEN if "last-applied" in name else value for name, value in metadata["annotations"].items()}
        masked = {**masked, "metadata": {**metadata, "annotations": annotations}}
    return masked


def _secret(found: Manifest, other: Manifest | None) -> Manifest:
    masked = dict(found)
    for field in _SECRET_FIELDS:
        values = found.get(field)
        if isinstance(values, Mapping):
            before = (other or {}).get(field) or {}
            masked[field] = {name: _HIDDEN if other is None or before.get(name) == value else _CHANGED for name, value in values.items()}
    return masked


def _without_values(found: Any, known: Mapping[tuple[Any, Any], Any]) -> Any:
    """Mask the variables of containers, wherever a pod is described: a proxy may be named with its password."""
    if not isinstance(found, Mapping):
        return found
    masked = {name: _without_values(part, known) for name, part in found.items()}
    for group in _CONTAINERS:
        if isinstance(found.get(group), list):
            masked[group] = [_container(each, known) for each in found[group]]
    return masked


def _container(found: Any, known: Mapping[tuple[Any, Any], Any]) -> Any:
    if not _has_variables(found):
        return found

    def variable(entry: Any) -> Any:
        if not isinstance(entry, Mapping) or "value" not in entry:
            return entry
        same = known.get((found.get("name"), entry.get("name")), entry["value"]) == entry["value"]
        return {**entry, "value": _HIDDEN if same else _CHANGED}

    return {**found, "env": [variable(entry) for entry in found["env"]]}


def _has_variables(container: Any) -> bool:
    return isinstance(container, Mapping) and isinstance(container.get("env"), list)


def _variables(found: Any) -> Iterable[tuple[tuple[Any, Any], Any]]:
    """Give each variable's value by the names of its container and of itself."""
    for name, part in found.items() if isinstance(found, Mapping) else ():
        yield from _variables(part)
        for container in part if name in _CONTAINERS and isinstance(part, list) else ():
            for entry in container["env"] if _has_variables(container) else ():
                if isinstance(entry, Mapping):
                    yield (container.get("name"), entry.get("name")), entry.get("value", "")


def report(targets: Iterable[str], changes: Iterable[Change]) -> list[dict[str, str]]:
    """The fact that a phase returns about its objects: what was done to each, and why."""
    done = {change.target: change for change in changes}
    return [
        {
            "object": target,
            "done": "kept" if target not in done else "changed" if done[target].before else "created",
            "reason": done[target].reason if target in done else "",
        }
        for target in targets
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _dumper() -> Any:
    class Dumper(yaml.SafeDumper):  # type: ignore[misc, unused-ignore]
        """Writes no anchors, and texts of several lines as they are."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, represent)
    return Dumper
