# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs on a host: the kubelet, and the static pods of a control plane with their images and health."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._info.unread import Unread
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.healthz import healthz_url_on_disk
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import CONFIG, SERVICE
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import load
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import COMPONENTS, manifest_path
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import Health, HealthCheck
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.checks import StaticPod, checks, command_of

PART = "components"
_KUBELET = "kubelet"
_RUNNING = "running"


def components(docs: Documents, world: Any, unread: Unread) -> list[dict[str, Any]]:
    """Tell what the kubelet runs of the control plane here; nothing on a worker."""
    manifests: dict[str, Mapping[str, Any]] = {}
    pods: dict[str, StaticPod] = {}
    for name in COMPONENTS:
        state = unread.attempt(PART, partial(world.files.read, manifest_path(name)), None)
        if state is not None:
            manifests[name] = unread.attempt(PART, partial(_parsed, state), {})
            pods[name] = StaticPod(command_of(name, manifests[name]), state.mtime)
    if docs.becomes == WORKER or not manifests:
        return []
    asked = [check for check in checks(docs, pods) if check.name != _KUBELET and check.name in manifests]
    health = {each.name: each for each in world.health.look(asked)}
    return [_component(docs, world, name, manifest, health.get(name), unread) for name, manifest in manifests.items()]


def kubelet(docs: Documents, world: Any, unread: Unread) -> dict[str, Any]:
    """Tell of the kubelet: its version, since when it runs, and whether it says that it is well."""
    version = str(world.host.kubelet_version())
    state: ServiceState | None = unread.attempt(_KUBELET, lambda: world.systemd.state(SERVICE), None)
    if state is None or not state.active:
        found = "it is not installed" if state is not None and not state.known else "it does not run"
        return {"version": version, "active": False, "started": 0.0, "restarts": 0, "healthy": False, "found": found}
    url = unread.attempt(_KUBELET, lambda: healthz_url_on_disk(docs, world.files.read(CONFIG)), "")
    # One that serves no health is taken at its process.
    health = world.health.look((HealthCheck(_KUBELET, url, 0),))[0] if url else Health(_KUBELET, "", True, 0)
    return {
        "version": version,
        "active": True,
        "started": state.started or 0.0,
        "restarts": state.restarts,
        "healthy": health.healthy,
        "found": health.found,
    }


def _component(
    docs: Documents, world: Any, name: str, manifest: Mapping[str, Any], health: Health | None, unread: Unread
) -> dict[str, Any]:
    image = _image(name, manifest)
    containers = unread.attempt(PART, lambda: world.cri.containers(docs.node.cri_socket, name), ())
    newest = containers[0] if containers else None
    found = _problem(health, newest)
    return {
        "name": name,
        "image": image,
        "version": image.partition("@")[0].rpartition("/")[2].partition(":")[2],
        "healthy": not found,
        "found": found,
        "restarts": newest.attempt if newest else 0,
        "started": newest.created / 10**9 if newest else 0.0,
    }


def _problem(health: Health | None, container: Any) -> str:
    """Judge by what it says of itself, else by its container."""
    if health is not None:
        return health.found
    if container is None:
        return "no container of it is known"
    return "" if container.state == _RUNNING else f"its container is {container.state}"


def _parsed(state: FileState) -> Mapping[str, Any]:
    try:
        found = load(state.content)
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise Unusable(state.path, "it is not a manifest", "Run the control-plane phase to have it written anew")
    return found


def _image(name: str, manifest: Mapping[str, Any]) -> str:
    spec = manifest.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    for container in containers if isinstance(containers, list) else ():
        if isinstance(container, Mapping) and container.get("name") == name:
            return str(container.get("image") or "")
    return ""
