# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standing approver on a control plane: its objects, its files, its token and its timer, there or gone."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import hidden, report, text
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import Seen, read_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import MintApproverToken, TimerState, Way
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import policy_from, shared_names
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import (
    FIGURES,
    KUBECONFIG,
    MEMORY,
    NAME,
    PROGRAM,
    SERVICE,
    SETTINGS,
    TIMER,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.standing import (
    NAMESPACE,
    TOKEN_SECONDS,
    Rules,
    kubeconfig,
    manifests,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.timer import (
    file_changes,
    removals,
    service_unit,
    timer_changes,
    timer_unit,
)

_DIRECTORIES = (posixpath.dirname(PROGRAM), posixpath.dirname(MEMORY))
_SHORTEST, _LONGEST = 5, 60

PATHS = {"kubeconfig": KUBECONFIG, "settings": SETTINGS, "memory": MEMORY}
_ROOM = "ansible_collections.kubephase.cluster.plugins.module_utils"
ENTRIES = (f"{_ROOM}._adapters.standing", f"{_ROOM}._serving.standing")
MAIN = f"""from {_ROOM}._adapters.standing import StandingApprover
from {_ROOM}._serving.standing import Rules

raise SystemExit(StandingApprover(Rules(), {PATHS!r}).run())
"""


@dataclass(frozen=True)
class Observed:
    """What there is of the approver, and what it would be made of here."""

    objects: Seen
    files: Mapping[str, FileState | None]
    program: bytes = field(repr=False)
    interpreter: str
    timer: TimerState
    way: Way | None
    own: tuple[Way, str] | None = field(repr=False)
    now: float
    # Of our directories, those in which there is nothing of anybody else's.
    directories: tuple[str, ...] = ()


class StandingApproverPhase:
    """The standing approver as read and plan."""

    name = "serving-approver"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at objects, files, token and timer, and pack the program as it would be."""
        paths = (PROGRAM, SETTINGS, SERVICE, TIMER, KUBECONFIG, MEMORY, _figures(options))
        return Observed(
            objects=read_objects(world, manifests()),
            files={path: world.files.read(path) for path in paths},
            program=world.programs.packed(ENTRIES, MAIN),
            interpreter=world.programs.interpreter(),
            timer=world.timers.state(NAME),
            way=world.tokens.way(),
            own=world.tokens.held(KUBECONFIG),
            now=world.clock.now().timestamp(),
            directories=tuple(each for each in _DIRECTORIES if world.files.exists(each) and set(world.files.below(each)) <= set(paths)),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Make or remove what the state asks for."""
        if options.get("state") == "absent":
            return _removed(seen, options)
        policy = policy_from(docs, options)
        if not policy.nodes:
            raise Unusable("policy", "it has no node, so that nothing would ever be approved", "Give the names and addresses of each node")
        _check(options["interval"].total_seconds())
        wanted = _wanted_files(docs, seen, options)
        files = [change for path, (content, mode) in wanted.items() for change in file_changes(seen.files[path], path, content, mode)]
        written = {change.target for change in files}
        objects = changes(manifests(), seen.objects.states)
        token = _token(seen)
        # The objects first: the token is one of theirs. The timer last: what it runs must be whole.
        planned = [*objects, *files, *token, *timer_changes(NAME, seen.timer, bool({SERVICE, TIMER} & written))]
        facts = {
            "objects": report([str(key_of(each)) for each in manifests()], objects),
            "files": [{"path": path, "done": "written" if path in written else "kept"} for path in wanted],
            "token": "renewed" if token else "kept",
            "nodes": sorted(policy.nodes),
        }
        return Plan(tuple(planned), facts, tuple(shared_names(policy)))


def _check(seconds: float) -> None:
    if not _SHORTEST <= seconds <= _LONGEST:
        # With longer pauses another would take the turn of one that is only waiting for its next run.
        raise Unusable("interval", f"{seconds:.0f} s between two runs", f"Choose from {_SHORTEST} s to {_LONGEST} s")


def _wanted_files(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> dict[str, tuple[bytes, int]]:
    return {
        PROGRAM: (seen.program, 0o755),
        SETTINGS: (_settings(docs, options), 0o644),
        SERVICE: (_service(seen.interpreter, _figures(options)), 0o644),
        TIMER: (timer_unit("Turns of the approval of kubelet serving certificates", int(options["interval"].total_seconds())), 0o644),
    }


def _settings(docs: Documents, options: Mapping[str, Any]) -> bytes:
    document = {
        "nodes": options.get("policy") or {},
        "allowed_names": list(options.get("allowed_names") or ()),
        "reserved": sorted(policy_from(docs, options).reserved),
        "min_rsa_bits": options.get("min_rsa_bits"),
        "min_ecdsa_bits": options.get("min_ecdsa_bits"),
        "deny": bool(options.get("deny")),
        "figures": _figures(options),
    }
    return json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"


def _figures(options: Mapping[str, Any]) -> str:
    return str(options.get("figures") or FIGURES)


def _service(interpreter: str, figures: str) -> bytes:
    settings = ["ProtectSystem=strict", "CapabilityBoundingSet="]
    settings += [f"ReadWritePaths=-{posixpath.dirname(figures)}"] if figures != FIGURES else []
    return service_unit("Approval of kubelet serving certificates by the inventory", f"{interpreter} -I {PROGRAM}", 120, settings)


def _token(seen: Observed) -> list[Change]:
    """Renew what the program cannot renew for itself: a token that is missing, or leads elsewhere, or is past its half."""
    if seen.own is None:
        reason = "it does not exist" if seen.files[KUBECONFIG] is None else "it is of no use"
    elif seen.way is not None and seen.own[0] != seen.way:
        reason = "it leads to another API server, or trusts another CA"
    elif Rules().is_stale(seen.own[1], seen.now):
        reason = "its token is past half of its life"
    else:
        return []
    # Before admin.conf is there, it is only foreseen.
    way = seen.way or Way("", "")
    action = MintApproverToken(KUBECONFIG, NAMESPACE, NAME, TOKEN_SECONDS, way, kubeconfig)
    return [Change(KUBECONFIG, reason, "", f"server: {way.server}\nuser: {NAME}, with a token of its own\n", action)]


def _removed(seen: Observed, options: Mapping[str, Any]) -> Plan:
    planned = removals(NAME, seen.timer, seen.files, seen.directories, hidden=(KUBECONFIG, MEMORY))
    for manifest in reversed(manifests()):
        state = seen.objects.states.get(key_of(manifest))
        if state is not None and state.live is not None:
            planned.append(Change(str(key_of(manifest)), "it is not wanted", text(hidden(manifest)), "", DeleteObject(key_of(manifest))))
    return Plan(tuple(planned), {"objects": [], "files": [], "token": "removed", "nodes": []})
