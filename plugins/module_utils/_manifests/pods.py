# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pod around a component: labels, probes, environment, security, in the shape of a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import EnvVar
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.volumes import Mount
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release

_PORT_NAME = "probe-port"
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True)
class Health:
    """Where the kubelet asks a component how it is, and how long it may take to start."""

    host: str
    port: int
    scheme: str
    start_timeout: timedelta


@dataclass(frozen=True)
class Component:
    """What is particular to one static pod."""

    name: str
    image: str
    command: Sequence[str]
    health: Health
    volumes: Sequence[Mount]
    mounts: Sequence[Mount]
    env: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    memory: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


def probe_host(address: str) -> str:
    """Give the address to probe; none, which means that of the pod, where a component listens on all of them."""
    return "" if address in _EVERYWHERE else address


def environment(proxies: Mapping[str, str], extra: Sequence[EnvVar]) -> list[dict[str, Any]]:
    """Merge proxy variables and the user's, which win, sorted by name."""
    table: dict[str, dict[str, Any]] = {name: {"name": name, "value": value} for name, value in proxies.items()}
    for each in extra:
        entry: dict[str, Any] = {"name": each.name}
        if each.value:
            entry["value"] = each.value
        if each.value_from:
            entry["valueFrom"] = dict(each.value_from)
        table[each.name] = entry
    return [table[name] for name in sorted(table)]


def pod(component: Component, release: Release) -> dict[str, Any]:
    """Lay out the static pod of a component."""
    metadata: dict[str, Any] = {
        "name": component.name,
        "namespace": "kube-system",
        "labels": {"component": component.name, "tier": "control-plane"},
    }
    if component.annotations:
        metadata["annotations"] = dict(component.annotations)
    spec: dict[str, Any] = {
        "containers": [_container(component, release)],
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [mount.volume() for mount in component.volumes],
    }
    if release.pod_priority is not None:
        spec["priority"] = release.pod_priority
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(component: Component, release: Release) -> dict[str, Any]:
    requests = {"cpu": release.cpu_requests[component.name]}
    if component.memory:
        requests["memory"] = component.memory
    container: dict[str, Any] = {
        "name": component.name,
        "image": component.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(component.command),
        "resources": {"requests": requests},
        "volumeMounts": [mount.volume_mount() for mount in component.mounts],
    }
    if component.env:
        container["env"] = [dict(each) for each in component.env]
    if release.probe_port_named:
        container["ports"] = [{"name": _PORT_NAME, "containerPort": component.health.port, "protocol": "TCP"}]
    paths = release.probe_paths[component.name]
    for kind, path in (("liveness", paths.liveness), ("readiness", paths.readiness), ("startup", paths.startup)):
        if path is not None:
            container[f"{kind}Probe"] = _probe(kind, path, component.health, release)
    return container


def _probe(kind: str, path: str, health: Health, release: Release) -> dict[str, Any]:
    timing = release.probe_timings[kind]
    failures = timing.failures
    if kind == "startup":
        # Enough tries that the kubelet does not restart a component which its starter still waits for.
        failures = math.ceil(health.start_timeout.total_seconds() / timing.period)
    request: dict[str, Any] = {
        "path": path,
        "port": _PORT_NAME if release.probe_port_named else health.port,
        "scheme": health.scheme,
    }
    if health.host:
        request["host"] = health.host
    probe = {"httpGet": request, "timeoutSeconds": timing.timeout, "failureThreshold": failures, "periodSeconds": timing.period}
    if timing.initial_delay:
        probe["initialDelaySeconds"] = timing.initial_delay
    return probe
