# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller adds to a module's options: the phases left to it, and the secrets that only it may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import names_password
from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import (
    INIT_PHASES,
    JOIN_PHASES,
    PARTS,
    select,
    select_join,
)

# Module: the phases that it does.
PHASES: Mapping[str, tuple[str, ...]] = {
    "preflight_check": ("preflight",),
    "pki_cert": ("certs",),
    "kubeconfig_file": ("kubeconfig",),
    "kubelet_start": ("kubelet-start",),
    "static_pod": ("control-plane", "etcd"),
    "wait_control_plane": ("wait-control-plane",),
    "upload_config": ("upload-config",),
    "upload_certs": ("upload-certs",),
    "mark_control_plane": ("mark-control-plane",),
    "bootstrap_token": ("bootstrap-token",),
    "kubelet_finalize": ("kubelet-finalize",),
    "addon": ("addon",),
    "phase_plan": INIT_PHASES,
}

# Options that modules hide; what is in a manifest nobody can know.
SECRET_OPTIONS = ("certificate_key", "manifest_content", "proxy_env", "registry_credentials", "tls_bootstrap_token", "token", "tokens")

_TOKEN = re.compile(r"InitConfiguration\.bootstrapTokens\[(\d+)\]\.token")


# Module: the phase of join that it does.
JOIN: Mapping[str, str] = {
    "preflight_check": "preflight",
    "download_certs": "control-plane-prepare/download-certs",
    "pki_cert": "control-plane-prepare/certs",
    "kubeconfig_file": "control-plane-prepare/kubeconfig",
    "static_pod": "control-plane-prepare/control-plane",
    "check_etcd": "check-etcd",
    "kubelet_start": "kubelet-start",
    "etcd_member": "etcd-join",
    "kubelet_wait_bootstrap": "kubelet-wait-bootstrap",
    "mark_control_plane": "control-plane-join/mark-control-plane",
    "wait_control_plane": "wait-control-plane",
}


def chosen_of_join(module: str, options: Mapping[str, Any], skipped: Sequence[str], only: Sequence[str]) -> dict[str, Any] | None:
    """Give the options that narrow a module to what is left of the phases of join, or None when nothing is."""
    if module == "phase_plan":
        return {"phases": {phase: [] for phase in JOIN_PHASES if select_join(phase, skipped, only).runs}}
    phase = "etcd-join" if module == "static_pod" and options.get("components") == ["etcd"] else JOIN.get(module)
    return {} if phase is None or select_join(phase, skipped, only).runs else None


def chosen_parts(module: str, options: Mapping[str, Any], skipped: Sequence[str], only: Sequence[str]) -> dict[str, Any] | None:
    """Give the options that narrow a module to what is left of the phases of init, or None when nothing is."""
    selections = {phase: select(phase, skipped, only) for phase in PHASES.get(module, ())}
    if not selections:
        return {}
    running = {phase: selection for phase, selection in selections.items() if selection.runs}
    if module == "phase_plan":
        return {"phases": {phase: list(selection.parts or ()) for phase, selection in running.items()}}
    if not running:
        return None
    if len(running) == len(selections) and all(selection.parts is None for selection in running.values()):
        return {}
    left = [part for phase, selection in running.items() for part in (selection.parts or PARTS[phase].paths)]
    option = PARTS[next(iter(running))].option
    asked = options.get(option) or left
    narrowed = [part for part in left if part in asked]
    return {option: narrowed} if narrowed else None


def secret_options(module: str, options: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """Hand over the documents' secrets to the modules that work with them; what the task itself says wins."""
    if module == "bootstrap_token" and not options.get("tokens"):
        places = {int(found.group(1)): value for place, value in secrets.items() for found in [_TOKEN.fullmatch(place)] if found}
        # One for each entry of the documents, an empty one where the entry leaves it to us.
        return {"tokens": [places.get(index, "") for index in range(max(places) + 1)]} if places else {}
    key = secrets.get("InitConfiguration.certificateKey")
    if module == "upload_certs" and key and not options.get("certificate_key"):
        return {"certificate_key": key}
    joining = secrets.get("JoinConfiguration.controlPlane.certificateKey")
    if module == "download_certs" and joining and not options.get("certificate_key"):
        return {"certificate_key": joining}
    if module == "preflight_check" and joining:
        # Whether there is one is all that it asks.
        return {"certificate_key_given": True}
    if module == "cluster_discovery":
        return _discovery_tokens(options, secrets)
    return {}


def carries_secrets(options: Mapping[str, Any]) -> bool:
    """Tell whether a call brings a secret, of which nothing may stay on a host; a proxy without a password is none."""
    given = {name: options[name] for name in SECRET_OPTIONS if options.get(name)}
    proxies = given.pop("proxy_env", {})
    return bool(given) or any(names_password(value) for value in (proxies.values() if isinstance(proxies, Mapping) else [proxies]))


def _discovery_tokens(options: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """Give the tokens by which a host finds the cluster and logs in; a task that brings its own token needs neither."""
    if options.get("token"):
        return {}
    discovery = "JoinConfiguration.discovery"
    places = {"token": f"{discovery}.bootstrapToken.token", "tls_bootstrap_token": f"{discovery}.tlsBootstrapToken"}
    return {option: secrets[place] for option, place in places.items() if secrets.get(place) and not options.get(option)}
