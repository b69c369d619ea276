# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods in their settled form: what the API's types keep of them, so that equal meaning is equal data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

# Keys in these are the user's own, so an empty text is a value.
_TEXT_MAPS = {"labels", "annotations", "nodeSelector", "matchLabels", "options"}
_QUANTITIES = {"limits", "requests", "overhead"}
# Written even when they are zero; of all other fields a zero is as good as nothing.
_WRITTEN_EMPTY = {"type", "name", "mountPath", "path", "key", "port", "containerPort", "devicePath", "ip", "uid"}
_ZERO_IS_NOTHING = {
    "hostNetwork", "hostPID", "hostIPC", "readOnly", "stdin", "stdinOnce", "tty", "hostPort", "initialDelaySeconds",
    "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
}  # fmt: skip

_QUANTITY = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?")
_BINARY = {f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)}


def settled(pod: Mapping[str, Any], creation_timestamp: bool) -> dict[str, Any]:
    """Give a pod as kubeadm writes it once it went through the API's types."""
    result: dict[str, Any] = meaning(pod)
    if creation_timestamp:
        result.setdefault("metadata", {}).setdefault("creationTimestamp", None)
    for container in result.get("spec", {}).get("containers", ()):
        container.setdefault("resources", {})
    result.setdefault("status", {})
    return result


def meaning(value: Any, field: str = "") -> Any:
    """Strip what says nothing: nulls, empty texts and lists, switches that are off."""
    if isinstance(value, Mapping):
        if field in _TEXT_MAPS:
            return dict(value)
        if field in _QUANTITIES:
            return {name: quantity(each) for name, each in value.items()}
        cleaned = {name: meaning(each, name) for name, each in value.items()}
        return {name: each for name, each in cleaned.items() if not _says_nothing(name, each)}
    if isinstance(value, list):
        return [meaning(each) for each in value]
    return quantity(value) if field == "sizeLimit" else value


def _says_nothing(field: str, value: Any) -> bool:
    if value is None or value == []:
        return True
    if value == "":
        return field not in _WRITTEN_EMPTY
    if value == {}:
        return field in _TEXT_MAPS or field in _QUANTITIES
    return field in _ZERO_IS_NOTHING and value in (False, 0)


def quantity(value: Any) -> Any:
    """Write an amount of a resource in the one form that the API writes it in; what is none is left as it is."""
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    if match is None:
        return value
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _largest(number * _BINARY[suffix], {"": Decimal(1), **_BINARY}) or _largest(number * _BINARY[suffix], _DECIMAL) or value
    if suffix[:1] in ("e", "E") and suffix != "E":
        return value
    return _largest(number * _DECIMAL[suffix], _DECIMAL) or value


def _largest(amount: Decimal, units: Mapping[str, Decimal]) -> str:
    for suffix, unit in sorted(units.items(), key=lambda item: -item[1]):
        whole = amount / unit
        if whole == whole.to_integral_value() and (amount or not suffix):
            return f"{int(whole)}{suffix}"
    return ""


def checked(pod: Mapping[str, Any], component: str, where: str) -> None:
    """Refuse a pod that the kubelet could not run, before it takes the place of one that runs."""
    for complaint in _complaints(pod, component):
        raise Unusable(where, f"the patches leave a {component} that the kubelet cannot run: {complaint}", "Mend the patches and run again")


def _complaints(pod: Mapping[str, Any], component: str) -> list[str]:
    metadata, spec = pod.get("metadata"), pod.get("spec")
    if pod.get("apiVersion") != "v1" or pod.get("kind") != "Pod" or not isinstance(metadata, Mapping) or not isinstance(spec, Mapping):
        return ["it is no longer a Pod of version v1"]
    found = [] if metadata.get("name") == component else ["its name was changed"]
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers or not all(isinstance(each, Mapping) for each in containers):
        return [*found, "it has no containers"]
    for container in containers:
        name = container.get("name")
        found += (
            [] if isinstance(name, str) and name and isinstance(container.get("image"), str) else ["a container has no name or no image"]
        )
        for field in ("command", "args"):
            words = container.get(field, [])
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                found.append(f"{field} of {name} is not a list of texts")
        env = container.get("env", [])
        if not isinstance(env, list) or not all(isinstance(each, Mapping) and isinstance(each.get("value", ""), str) for each in env):
            found.append(f"env of {name} is not a list of names and texts")
    return found
