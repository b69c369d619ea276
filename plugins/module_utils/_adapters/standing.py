# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program that a timer runs on control planes: one pass over the requests for serving certificates, if the turn is ours."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_credentials
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.signing import SigningApi
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import MintApproverToken, Way

_LEASE = "coordination.k8s.io/v1"
_BOOT = "/proc/sys/kernel/random/boot_id"
_ERROR, _NOTICE = 3, 5


class ApproverTokens(Api):
    """Makes tokens of a ServiceAccount, as one kubeconfig allows."""

    applies: tuple[type[Action], ...] = (MintApproverToken,)

    def apply(self, action: Action) -> None:
        """Make a token, and write the kubeconfig that carries it."""
        if isinstance(action, MintApproverToken):
            token = self.token(action.namespace, action.account, action.seconds)
            self._files.write([WriteFile(action.path, action.render(action.way, token), 0o600)])

    def token(self, namespace: str, account: str, seconds: int) -> str:
        """Ask for a token that ends by itself."""
        path = f"{self._known_path(ObjectKey('v1', 'ServiceAccount', namespace, account))}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        found = self._body(self._send("POST", path, body=body), f"token of {namespace}/{account}", "made")
        return str(found["status"]["token"])

    def held(self, path: str) -> tuple[Way, str] | None:
        """Read the token that was written to a kubeconfig before."""
        return token_in(self._files, path)

    def way(self) -> Way | None:
        """Tell where the kubeconfig leads; None while there is none."""
        if not self._files.exists(self._kubeconfig):
            return None
        found = api_credentials.load(self._files, self._kubeconfig)
        return Way(found.server, found.authority)


def token_in(files: Any, path: str) -> tuple[Way, str] | None:
    """Read the token of a kubeconfig, and where it leads; None when it is of no use."""
    try:
        found = api_credentials.load(files, path)
    except Unusable:
        return None
    return Way(found.server, found.authority), found.token


class Standby(Exception):
    """Another is at work; with what was seen of its lease."""

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self.memory = memory


class StandingApprover:
    """One run; ``rules`` are the domain's, ``paths`` name the files kubeconfig, settings and memory.

    ``clock`` only goes forward, and turns are measured by it; ``now`` is the time of day, which may be wrong.
    """

    def __init__(
        self,
        rules: Any,
        paths: Mapping[str, str],
        root: str = "",
        me: str = "",
        say: Callable[[str], object] = sys.stdout.write,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._rules = rules
        self._paths = paths
        self._files = Files(root)
        self._me = me or socket.gethostname()
        self._say = say
        self._clock = clock
        self._now = now
        self._api = SigningApi(self._files, kubeconfig=paths["kubeconfig"], deadline=10.0)

    def run(self) -> int:
        """Do what there is to do; the result is the exit status of the program."""
        boot = Files().read(_BOOT)
        memory = self._rules.memory(self._content("memory"), boot.content.decode().strip() if boot else "")
        settings, active, pending, status = None, False, 0, 0
        try:
            settings = self._rules.settings(self._paths["settings"], self._content("settings"))
            self._renew()
            memory = self._take_turn(memory)
            active = True
            memory, pending = self._pass(memory, settings)
        except Standby as other:
            memory = other.memory
        except (Unusable, ManyUnusable) as problem:
            self._tell(_ERROR, str(problem))
            memory, status = _counted(memory, "errors"), 1
        try:
            self._leave(memory, settings, active, pending)
        except Unusable as problem:
            self._tell(_ERROR, str(problem))
            status = 1
        return status

    def _leave(self, memory: Any, settings: Any, active: bool, pending: int) -> None:
        """Write what the next run takes up, and the figures."""
        self._files.write([WriteFile(self._paths["memory"], self._rules.remembered(memory), 0o600)])
        if settings is not None and settings.figures:
            found = token_in(self._files, self._paths["kubeconfig"])
            ends = self._rules.lifetime(found[1])[1] if found else 0.0
            text = self._rules.figures(memory, active, pending, ends, self._now())
            self._files.write([WriteFile(settings.figures, text.encode(), 0o644)])

    def _renew(self) -> None:
        """Replace a token that is past half of its life by one that it can get for itself."""
        path = self._paths["kubeconfig"]
        found = token_in(self._files, path)
        if found is None or not self._rules.is_stale(found[1], self._now()):
            return
        tokens = ApproverTokens(self._files, path, deadline=10.0)
        tokens.apply(
            MintApproverToken(path, self._rules.namespace, self._rules.name, self._rules.token_seconds, found[0], self._rules.kubeconfig)
        )
        self._tell(_NOTICE, "the token was renewed")

    def _take_turn(self, memory: Any) -> Any:
        """Hold the Lease, or leave the work to who holds it; what was seen of it is remembered either way."""
        key = ObjectKey(_LEASE, "Lease", self._rules.namespace, self._rules.name)
        lease = self._api.get(key)
        if lease is None:
            raise Unusable(str(key), "it is gone", "Run serving_approver, which makes it")
        version, clock = str(lease["metadata"]["resourceVersion"]), self._clock()
        mine = self._rules.is_mine(lease, self._me, memory, clock)
        if memory.version != version:
            memory = replace(memory, version=version, since=clock)
        if mine:
            body = {**lease, "spec": self._rules.lease_spec(lease, self._me, datetime.fromtimestamp(self._now(), timezone.utc))}
            reply = self._api._send("PUT", str(self._api._path(key)), {}, body)
            if reply.status != 409:
                self._api._body(reply, str(key), "renewed")
                return memory
        raise Standby(memory)

    def _pass(self, memory: Any, settings: Any) -> tuple[Any, int]:
        """Decide on every open request; each is told of once."""
        told, pending = [], 0
        for request in self._api.requests(self._rules.signer, self._rules.is_open):
            decision = self._rules.decide(request, settings)
            uid = str(request["metadata"]["uid"])
            if decision.action is None:
                pending += 1
                told.append(uid)
            elif not self._api.decide(decision.action):
                continue
            if uid not in memory.told:
                line = self._rules.line(decision)
                self._tell(line.priority, line.text)
                memory = _counted(memory, decision.outcome)
        return replace(memory, told=tuple(told)), pending

    def _content(self, name: str) -> bytes | None:
        found = self._files.read(self._paths[name])
        return None if found is None else found.content

    def _tell(self, priority: int, text: str) -> None:
        # The journal takes the priority from the mark in front of each line.
        for line in text.splitlines():
            self._say(f"<{priority}>{line}\n")


def _counted(memory: Any, name: str) -> Any:
    return replace(memory, counts={**memory.counts, name: memory.counts.get(name, 0) + 1})
