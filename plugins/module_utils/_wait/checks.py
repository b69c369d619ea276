# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to be healthy before init goes on: the addresses that kubeadm of a release asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url, local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg, Timeouts
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import HealthCheck
from ansible_collections.kubephase.cluster.plugins.module_utils._release import gate_is_on

API_SERVER, CONTROLLER_MANAGER, SCHEDULER = "kube-apiserver", "kube-controller-manager", "kube-scheduler"
ADMIN = "/etc/kubernetes/admin.conf"
MANIFESTS = "/etc/kubernetes/manifests"

_ALL_COMPONENTS = "WaitForAllControlPlaneComponents"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class StaticPod:
    """A component's manifest on disk: its command line, and when it was written."""

    command: tuple[str, ...]
    written: float = 0.0


Pods = Mapping[str, StaticPod]


def checks(docs: Documents, pods: Pods) -> tuple[HealthCheck, ...]:
    """List what is asked: the kubelet, then the API server and, where the release does, its companions."""
    release, timeouts = docs.known_release, docs.timeouts
    companions = gate_is_on(release.gates, _ALL_COMPONENTS, docs.cluster.feature_gates)
    path = release.wait_paths_apiserver if companions else release.wait_path_api_alone
    patience = timeouts.control_plane_component_health_check.total_seconds()
    # Behind the endpoint of a cluster that is joined somebody else answers too.
    server = local_url(docs) if release.wait_asks_local_api or docs.joining else control_plane_url(docs)
    wanted = [HealthCheck(API_SERVER, server + path, patience, 1, kubeconfig=ADMIN)]
    if companions:
        asked = ((CONTROLLER_MANAGER, release.wait_paths_controller_manager), (SCHEDULER, release.wait_paths_scheduler))
        wanted += [HealthCheck(name, _companion_url(docs, name, pods) + path, patience, 1) for name, path in asked]
    wanted = [replace(check, written=pods[check.name].written) if check.name in pods else check for check in wanted]
    kubelet = _kubelet_check(docs, timeouts)
    if kubelet is None:
        return tuple(wanted)
    if release.wait_order == "parallel":
        # An API server that answers was enough: of the kubelet only its failures were heard.
        wanted = [replace(check, stage=0) for check in wanted]
        kubelet = replace(kubelet, required=False, seconds=patience)
    return (kubelet, *wanted)


def _kubelet_check(docs: Documents, timeouts: Timeouts) -> HealthCheck | None:
    release, config = docs.known_release, docs.kubelet
    host, port = "localhost", release.ports["kubelet-healthz"]
    if release.kubelet_healthz_configurable:
        host = str(config.get("healthzBindAddress") or _LOOPBACK)
        port = config.get("healthzPort", port)
    # A port of 0 means that there is nobody to ask.
    if config.get("healthzPort", port) == 0:
        return None
    return HealthCheck("kubelet", f"http://{join_host_port(host, port)}/healthz", timeouts.kubelet_health_check.total_seconds())


def _companion_url(docs: Documents, name: str, pods: Pods) -> str:
    """Find address and port where the release looks for them; a manifest that is not there yet will hold what the documents say."""
    release = docs.known_release
    component = docs.cluster.controller_manager if name == CONTROLLER_MANAGER else docs.cluster.scheduler
    asked = _arguments(component.extra_args)
    if release.wait_addresses == "manifests" and name in pods:
        asked = _flags(pods[name].command)
    address = _LOOPBACK if release.wait_addresses == "constants" else asked.get("bind-address") or _LOOPBACK
    port = asked.get("secure-port", "")
    return f"https://{join_host_port(address, int(port) if port.isdigit() else release.ports[name])}"


def _arguments(extra: tuple[Arg, ...]) -> dict[str, str]:
    return {arg.name: arg.value for arg in extra}


def _flags(command: tuple[str, ...]) -> dict[str, str]:
    """Read the flags of a command line; of one that is given twice the last counts."""
    found = {}
    for word in command:
        name, equals, value = word.strip().partition("=")
        if equals and name.startswith("-"):
            found[name.lstrip("-")] = value
    return found


def command_of(name: str, manifest: Any) -> tuple[str, ...]:
    """Take the command line of a component from its static pod, or nothing where it has none."""
    spec = manifest.get("spec") if isinstance(manifest, Mapping) else None
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    for container in containers if isinstance(containers, list) else ():
        command = container.get("command") if isinstance(container, Mapping) else None
        if isinstance(command, list) and command and command[0] == name:
            return tuple(str(word) for word in command)
    return ()
