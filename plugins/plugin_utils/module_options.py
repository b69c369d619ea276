# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller adds to a module's options: the phases left to it, and the secrets that only it may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import INIT_PHASES, PARTS, select

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

_TOKEN = re.compile(r"InitConfiguration\.bootstrapTokens\[(\d+)\]\.token")


def chosen_parts(module: str, options: Mapping[str, Any], skipped: Sequence[str], only: Sequence[str]) -> dict[str, Any] | None:
    """Give the options that narrow a module to what is left of its phases, or None when nothing is."""
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
    return {}
