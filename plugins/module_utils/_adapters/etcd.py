# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""etcd through the JSON gateway on its client port, with the standard library's TLS."""

from __future__ import annotations

import http.client
import json
import math
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import load_pair
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import told as why
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import (
    EtcdAccess,
    EtcdMember,
    EtcdState,
    EtcdView,
    WaitForEtcd,
    health_problem,
    told,
)

UNREACHABLE, UNSURE, TRANSIENT, NOT_HERE, REFUSED = "unreachable", "unsure", "transient", "not here", "refused"
TOO_MANY_LEARNERS, NOT_READY, NOT_LEARNER, EXISTS = "too many learners", "learner not ready", "not a learner", "exists"
UNHEALTHY, TOO_FEW_STARTED, NOT_FOUND = "unhealthy", "too few started", "not found"

# What etcd says, in the order in which it is looked for, and what it means.
_SAID = (
    ("too many learner members", TOO_MANY_LEARNERS),
    ("in sync with leader", NOT_READY),
    ("can only promote a learner", NOT_LEARNER),
    ("peer urls already exist", EXISTS),
    ("member id already exist", EXISTS),
    ("unhealthy cluster", UNHEALTHY),
    ("not enough started members", TOO_FEW_STARTED),
    ("member not found", NOT_FOUND),
    ("not supported for learner", NOT_HERE),
    ("no leader", TRANSIENT),
    ("leader changed", TRANSIENT),
    ("not leader", TRANSIENT),
    ("timed out", TRANSIENT),
    ("deadline exceeded", TRANSIENT),
    ("server stopped", TRANSIENT),
    ("unavailable", TRANSIENT),
    ("too many requests", TRANSIENT),
    ("transport is closing", TRANSIENT),
    ("connection refused", TRANSIENT),
    ("connection error", TRANSIENT),
)
# Another member may do better; after one of them has been away, one can hold the cluster for unhealthy for good, and no other does.
_ELSEWHERE = (UNREACHABLE, TRANSIENT, NOT_HERE, UNHEALTHY)
_GATEWAY = "/v3"
_SHOWN = 200


class EtcdRefusal(Exception):
    """A call that did not do what was asked: what kind of refusal it is, and what etcd or the network said."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind
        self.said = said


class EtcdSilent(Unusable):
    """No member could be asked; a moment later one may."""


class Etcd:
    """The members of a cluster, asked one after the other until one can tell."""

    applies: tuple[type[Action], ...] = (WaitForEtcd,)

    def __init__(self, files: Any) -> None:
        self._files = files
        self._contexts: dict[EtcdAccess, ssl.SSLContext] = {}

    def look(self, endpoints: Sequence[str], access: EtcdAccess, besides: str = "", patience: float = math.inf) -> EtcdView:
        """List the members and ask each how it is, besides that of a peer URL; without a majority the list is what one remembers.

        Patience is for how many seconds each may think about how it is, if that is less than for any call.
        """
        if not endpoints:
            raise Unusable("etcd", "no member is known that could be asked", "Run the certs and kubeconfig phases of this host first")
        agreed = True
        try:
            answer = self._ask(endpoints, access, "cluster/member/list", {"linearizable": True})
        except EtcdRefusal:
            agreed = False
            try:
                answer = self._ask(endpoints, access, "cluster/member/list", {})
            except EtcdRefusal as refusal:
                raise EtcdSilent(
                    f"etcd at {', '.join(endpoints)}",
                    f"no member can list the cluster: {refusal.said}",
                    "See that etcd runs on the control planes (crictl ps -a) and that this host reaches its client port, then run again",
                ) from None
        members = _members(answer)
        asked = [member for member in members if member.client_urls and besides not in member.peer_urls]
        brief = replace(access, call_seconds=min(patience, access.call_seconds))
        with ThreadPoolExecutor(max(1, len(asked))) as pool:
            states = pool.map(lambda member: self._state_of(member, brief), asked)
            found = {member.identity: state for member, state in zip(asked, states)}
        return EtcdView(_number(answer, "header", "cluster_id"), members, found, agreed)

    def state(self, endpoint: str, access: EtcdAccess) -> EtcdState:
        """Ask one member how it is."""
        try:
            answer = self._call(endpoint, access, "maintenance/status", {})
        except EtcdRefusal as refusal:
            return EtcdState(refusal.said)
        errors = [str(each) for each in answer.get("errors") or ()]
        corrupt = next((f"it says {each}" for each in errors if "CORRUPT" in each.upper()), "")
        return EtcdState(
            corrupt,
            _number(answer, "header", "member_id"),
            _number(answer, "header", "cluster_id"),
            _number(answer, "leader"),
            str(answer.get("version", "")),
            _number(answer, "dbSize"),
        )

    def add(self, endpoints: Sequence[str], access: EtcdAccess, peer_url: str, learner: bool) -> EtcdView:
        """Add a member and give the list with it; EtcdRefusal says why not."""
        answer = self._ask(endpoints, access, "cluster/member/add", {"peerURLs": [peer_url], "isLearner": learner})
        return EtcdView(_number(answer, "header", "cluster_id"), _members(answer))

    def promote(self, endpoints: Sequence[str], access: EtcdAccess, identity: int) -> None:
        """Let a learner vote; EtcdRefusal says why not."""
        self._ask(endpoints, access, "cluster/member/promote", {"ID": str(identity)})

    def remove(self, endpoints: Sequence[str], access: EtcdAccess, identity: int) -> None:
        """Remove a member; EtcdRefusal says why not."""
        self._ask(endpoints, access, "cluster/member/remove", {"ID": str(identity)})

    def apply(self, action: Action) -> Mapping[str, Any]:
        """Wait until the cluster is well."""
        if not isinstance(action, WaitForEtcd):
            return {}
        start = time.monotonic()
        while True:
            problem, view = "", None
            try:
                view = self.look(action.endpoints, action.access)
                problem = health_problem(view, action.peer_url, action.by_quorum)
            except EtcdSilent as silence:
                problem = silence.found
            if view is not None and not problem:
                return {"etcd_members": told(view)}
            if time.monotonic() - start + action.poll_seconds >= action.seconds:
                raise Unusable(
                    f"etcd at {', '.join(action.endpoints)}",
                    f"not well after {action.seconds:.0f} s: {problem}",
                    "Bring the members that are named back, or remove those that are gone for good (etcdctl member remove), and run again",
                )
            time.sleep(action.poll_seconds)

    def _state_of(self, member: EtcdMember, access: EtcdAccess) -> EtcdState:
        state = EtcdState("it tells no address for clients")
        for url in member.client_urls:
            state = self.state(url, access)
            if not state.problem and state.identity != member.identity:
                state = EtcdState(f"another member answers at {url}")
            if not state.problem:
                break
        return state

    def _ask(self, endpoints: Sequence[str], access: EtcdAccess, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the first member that can answer; one that fell silent over a change may have made it, so no other is asked then."""
        said = []
        for endpoint in endpoints:
            try:
                return self._call(endpoint, access, path, body)
            except EtcdRefusal as refusal:
                said.append(f"{endpoint}: {refusal.said}")
                if refusal.kind not in _ELSEWHERE and not (refusal.kind == UNSURE and path.endswith("/list")):
                    raise EtcdRefusal(refusal.kind, refusal.said) from None
        raise EtcdRefusal(UNREACHABLE, "; ".join(said) or "there is no member to ask")

    def _call(self, endpoint: str, access: EtcdAccess, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        where = urlsplit(endpoint)
        connection = http.client.HTTPConnection(where.hostname or "", where.port or 2379, timeout=access.call_seconds)
        if where.scheme == "https":
            context = self._context(access)
            connection = http.client.HTTPSConnection(where.hostname or "", where.port or 2379, timeout=access.call_seconds, context=context)
        sent = False
        try:
            connection.connect()
            sent = True
            connection.request("POST", f"{_GATEWAY}/{path}", json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return _judged(response.status, response.read())
        except ssl.SSLCertVerificationError as error:
            raise EtcdRefusal(UNREACHABLE, f"its certificate does not fit: {error.verify_message}") from None
        except (OSError, http.client.HTTPException) as error:
            raise EtcdRefusal(UNSURE if sent else UNREACHABLE, why(error)) from None
        finally:
            connection.close()

    def _context(self, access: EtcdAccess) -> ssl.SSLContext:
        if access not in self._contexts:
            pems = [self._pem(path) for path in (access.authority, access.certificate, access.key)]
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            # A certificate that kubeadm made has no authority key identifier in some releases, which strict checking refuses.
            context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
            try:
                context.load_verify_locations(cadata=pems[0])
                load_pair(context, pems[1], pems[2])
            except (ssl.SSLError, ValueError):
                found = f"it, its key or {access.authority} cannot be read"
                raise Unusable(access.certificate, found, "Run the certs phase, or restore the files from a backup") from None
            self._contexts[access] = context
        return self._contexts[access]

    def _pem(self, path: str) -> str:
        state = self._files.read(path)
        if state is None:
            raise Unusable(path, "it does not exist", "Run the phases download-certs and certs of this host first")
        return str(state.content.decode("ascii", errors="replace"))


def _judged(status: int, content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content) if content else {}
    except ValueError:
        body = None
    if status == 200 and isinstance(body, dict):
        return body
    said = str(body.get("message") or "")[:_SHOWN] if isinstance(body, dict) else ""
    if not said:
        found = "its JSON gateway is switched off" if status == 404 else f"it answers with status {status}"
        raise EtcdRefusal(NOT_HERE, found)
    kind = next((kind for sign, kind in _SAID if sign in said.lower()), REFUSED)
    raise EtcdRefusal(kind, said)


def _members(answer: Mapping[str, Any]) -> tuple[EtcdMember, ...]:
    return tuple(sorted((_member(each) for each in answer.get("members") or ()), key=lambda member: member.identity))


def _member(listed: Mapping[str, Any]) -> EtcdMember:
    return EtcdMember(
        identity=_number(listed, "ID"),
        name=str(listed.get("name") or ""),
        peer_urls=tuple(str(url) for url in listed.get("peerURLs") or ()),
        client_urls=tuple(str(url) for url in listed.get("clientURLs") or ()),
        learner=bool(listed.get("isLearner")),
    )


def _number(holder: Any, *keys: str) -> int:
    """A number of 64 bits, which JSON carries as a text; 0 is left out."""
    for key in keys:
        holder = holder.get(key) if isinstance(holder, Mapping) else None
    return int(holder or 0)
