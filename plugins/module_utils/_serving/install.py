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
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import (
    FileState,
    RemoveDirectory,
    RemoveFile,
    WriteFile,
    tightened,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import (
    DisableTimer,
    EnableTimer,
    MintApproverToken,
    ReloadUnits,
    TimerState,
    Way,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.approve import policy_from, shared_names
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.standing import (
    NAME,
    NAMESPACE,
    TOKEN_SECONDS,
    Rules,
    kubeconfig,
    manifests,
)

PROGRAM = "/usr/local/lib/kubephase/serving-approver.pyz"
SETTINGS = "/etc/kubernetes/kubephase-serving-policy.json"
KUBECONFIG = "/var/lib/kubephase/serving-approver.conf"
MEMORY = "/var/lib/kubephase/serving-approver.json"
FIGURES = "/var/lib/kubephase/serving-approver.prom"
SERVICE = f"/etc/systemd/system/{NAME}.service"
TIMER = f"/etc/systemd/system/{NAME}.timer"

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
        _check(options["interval"].total_seconds())
        wanted = _wanted_files(docs, seen, options)
        files = [change for path, (content, mode) in wanted.items() for change in _file(seen.files[path], path, content, mode)]
        written = {change.target for change in files}
        objects = changes(manifests(), seen.objects.states)
        token = _token(seen)
        # The objects first: the token is one of theirs. The timer last: what it runs must be whole.
        planned = [*objects, *files, *token, *_timer(seen, {SERVICE, TIMER} & written)]
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
        TIMER: (_timer_unit(int(options["interval"].total_seconds())), 0o644),
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
    directory = figures.rpartition("/")[0]
    lines = [
        "[Unit]",
        "Description=Approval of kubelet serving certificates by the inventory",
        "Documentation=https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStart={interpreter} -I {PROGRAM}",
        "StateDirectory=kubephase",
        "StateDirectoryMode=0755",
        "TimeoutStartSec=120",
        # Without it systemd tells of every run, and what was decided is lost among that.
        "LogLevelMax=notice",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=read-only",
        "PrivateTmp=yes",
        "CapabilityBoundingSet=",
        *([f"ReadWritePaths=-{directory}"] if figures != FIGURES else []),
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _timer_unit(seconds: int) -> bytes:
    lines = [
        "[Unit]",
        "Description=Turns of the approval of kubelet serving certificates",
        "",
        "[Timer]",
        "OnActiveSec=1",
        f"OnUnitInactiveSec={seconds}",
        "AccuracySec=1",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _file(found: FileState | None, path: str, content: bytes, mode: int) -> list[Change]:
    if found is not None and found.content == content:
        narrowed = tightened(found, mode)
        return [narrowed] if narrowed else []
    shown = [_shown(path, each) if each is not None else "" for each in (found.content if found else None, content)]
    reason = "it does not exist" if found is None else "it differs from what is wanted"
    return [Change(path, reason, shown[0], shown[1], WriteFile(path, content, mode))]


def _shown(path: str, content: bytes) -> str:
    return f"a program of {len(content)} bytes\n" if path == PROGRAM else content.decode(errors="replace")


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


def _timer(seen: Observed, units: set[str]) -> list[Change]:
    if seen.timer.active and seen.timer.enabled and not units:
        return []
    reason = "its units have changed" if units and seen.timer.active else "it does not run"
    return [
        Change(f"{NAME}.timer", reason, f"active: {_yes(seen.timer.active)}\n", "active: yes\n", EnableTimer(NAME, restart=bool(units)))
    ]


def _removed(seen: Observed, options: Mapping[str, Any]) -> Plan:
    planned = []
    if seen.timer.active or seen.timer.enabled:
        planned.append(Change(f"{NAME}.timer", "it is not wanted", "active: yes\n", "active: no\n", DisableTimer(NAME)))
    planned += [
        Change(path, "it is not wanted", "" if path in (KUBECONFIG, MEMORY) else _shown(path, found.content), "", RemoveFile(path))
        for path, found in seen.files.items()
        if found is not None
    ]
    planned += [Change(path, "nothing is left in it", "directory\n", "", RemoveDirectory(path)) for path in seen.directories]
    if seen.files[SERVICE] is not None or seen.files[TIMER] is not None:
        planned.append(Change("systemd", "units are gone", "", "", ReloadUnits()))
    for manifest in reversed(manifests()):
        state = seen.objects.states.get(key_of(manifest))
        if state is not None and state.live is not None:
            planned.append(Change(str(key_of(manifest)), "it is not wanted", text(hidden(manifest)), "", DeleteObject(key_of(manifest))))
    return Plan(tuple(planned), {"objects": [], "files": [], "token": "removed", "nodes": []})


def _yes(value: bool) -> str:
    return "yes" if value else "no"
