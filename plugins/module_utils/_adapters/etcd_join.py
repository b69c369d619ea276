# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one sequence that must not be interleaved: add a member, write its manifest, see it start, let it vote."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.etcd import (
    EXISTS,
    NOT_FOUND,
    NOT_LEARNER,
    REFUSED,
    EtcdRefusal,
    EtcdSilent,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.last_words import last_words
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import (
    ADD,
    AVAILABLE,
    INITIAL_CLUSTER,
    PROMOTE,
    REMOVE,
    START,
    WRITE,
    EtcdMember,
    EtcdView,
    JoinEtcd,
    health_problem,
    initial_cluster,
    risk_of_adding,
    risk_of_promoting,
    told,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import RemoveFile, WriteFile

_UNSURE = "no majority of the members answers"
# One that listens and does not serve yet would keep us from asking the others several times a second.
_GLANCE_SECONDS = 0.25
_AGAIN = "Run again: what is done already is kept"


class EtcdMembership:
    """Carries out a join of this host's etcd; cri, where given, tells more of a member that does not start."""

    applies = (JoinEtcd,)

    def __init__(self, files: Any, etcd: Any, cri: Any = None) -> None:
        self._files = files
        self._etcd = etcd
        self._cri = cri

    def apply(self, action: Action) -> Mapping[str, Any]:
        """Take the steps that are left, and tell what the cluster looks like then."""
        return _Join(action, self._files, self._etcd, self._cri).done() if isinstance(action, JoinEtcd) else {}


class _Join:
    """One run of the sequence."""

    def __init__(self, action: JoinEtcd, files: Any, etcd: Any, cri: Any) -> None:
        self._action = action
        self._files = files
        self._etcd = etcd
        self._cri = cri
        self._where = f"etcd member {action.name} ({action.peer_url})"
        self._added = False
        # The list that came with the addition: when a second voter was added to one, no majority is there to ask until it runs.
        self._list: EtcdView | None = None
        self._written = False

    def done(self) -> Mapping[str, Any]:
        """Take every step in its order."""
        table: Mapping[str, Callable[[], None]] = {
            REMOVE: self._remove,
            ADD: self._add,
            WRITE: self._write,
            START: self._start,
            PROMOTE: self._promote,
            AVAILABLE: self._available,
        }
        for step in self._action.steps:
            table[step]()
        # One that has yet to serve would be waited for.
        besides = "" if AVAILABLE in self._action.steps else self._action.peer_url
        return {"etcd_members": told(self._look(besides, _GLANCE_SECONDS if besides else math.inf))}

    def _remove(self) -> None:
        """Remove a learner of an earlier life of this host; it never counted, so nothing is put at risk."""

        def attempt() -> str:
            view = self._look()
            mine = view.at(self._action.peer_url)
            if mine is None:
                return "" if view.agreed else _UNSURE
            if not mine.learner:
                raise Unusable(
                    self._where, "it votes by now, and is not removed from here", "Look at the member list (etcdctl member list)"
                )
            identity = mine.identity
            self._refusal(lambda: self._etcd.remove(self._action.endpoints, self._action.access, identity), (NOT_FOUND,))
            return "it is still in the list"

        self._until(attempt, self._action.change_seconds, "its predecessor could not be removed", _AGAIN)

    def _add(self) -> None:
        """Add the member unless it is there; what passes by itself is waited out, and a lost answer is looked up, not repeated."""
        self._see_that_it_could_start()

        def attempt() -> str:
            view, risk = self._weighed("", lambda seen: risk_of_adding(seen, self._action.learner))
            if view.at(self._action.peer_url) is not None:
                # What is listed was agreed to, even if no majority is left to ask: that may be because it was added.
                return ""
            if risk:
                return risk
            self._added = True
            return self._refusal(lambda: self._add_once(view), (EXISTS,))

        self._until(attempt, self._action.change_seconds, "it could not be added", "Mend what is named, then run again")

    def _add_once(self, view: EtcdView) -> None:
        action = self._action
        # The others are asked when one holds the cluster for unhealthy: who did not answer just now would only keep us waiting.
        silent = {url for member in view.members if not view.reachable(member) for url in member.client_urls}
        serving = tuple(url for url in action.endpoints if url not in silent) or action.endpoints
        self._list = self._etcd.add(serving, action.access, action.peer_url, action.learner)

    def _see_that_it_could_start(self) -> None:
        """Look for everything that could stop the member after it was added: a voter that never starts may cost the quorum."""
        missing = [path for path in self._action.needs if not self._files.exists(path)]
        if missing:
            raise Unusable(missing[0], "it does not exist, and etcd could not start without it", "Run the certs phase of this host first")
        if self._action.manifest is not None:
            # As much as the manifest takes, but nothing of it.
            place = f"{self._action.manifest.staging}/.kubephase-etcd-trial"
            self._files.apply(WriteFile(place, b"\n" * len(self._action.manifest.content), 0o600))
            self._files.apply(RemoveFile(place))

    def _write(self) -> None:
        """Write the manifest with the members as they are now; if that fails, what was added in this run is taken back."""
        action = self._action
        if action.manifest is None:
            return

        def attempt() -> str:
            self._list = self._look()
            return "" if self._mine(self._list) is not None else _UNSURE

        if self._list is None:
            self._until(attempt, action.change_seconds, "the member list cannot be read", _AGAIN)
        members = initial_cluster(self._list or EtcdView(), action.name, action.peer_url)
        odd = next((member for member in members if any(sign in member.partition("=")[0] for sign in " ,\"'\t\n")), "")
        try:
            if odd:
                raise Unusable(f"etcd member {odd}", "its name cannot be written on a command line", "Give it another name")
            content = action.manifest.content.replace(INITIAL_CLUSTER.encode(), ",".join(members).encode())
            self._files.apply(replace(action.manifest, content=content))
        except Unusable as problem:
            raise Unusable(problem.where, f"{problem.found}{self._take_back()}", problem.fix) from None
        self._written = True

    def _take_back(self) -> str:
        """Remove a member that this run added and that cannot have started; only where that puts no majority at risk."""
        if not self._added:
            return ""
        try:
            view = self._look()
            mine = view.at(self._action.peer_url)
            if mine is None:
                return ""
            # A removal that no majority agrees to now would happen later, when the member is up.
            if mine.started or not view.agreed:
                return f"; the member that was added for it stays in the list ({mine.identity:x})"
            self._etcd.remove(self._action.endpoints, self._action.access, mine.identity)
        except (Unusable, EtcdRefusal):
            return "; whether the member that was added for it is still in the list is not known"
        return "; the member that was added for it was removed again"

    def _start(self) -> None:
        """See that the member which answers here is the one that was added, and of this cluster.

        A learner that the leader lets vote has proven that, and may serve clients only some seconds later: when its first
        announcement came to it with the snapshot, it waits until the second.
        """
        action = self._action
        learner = PROMOTE in action.steps
        quick = replace(action.access, call_seconds=min(_GLANCE_SECONDS, action.access.call_seconds)) if learner else action.access

        def attempt() -> str:
            if learner and not self._promoted():
                return ""
            # First the member itself: without it there may be no majority, and asking for one takes long.
            state = self._etcd.state(action.client_url, quick)
            if state.problem:
                return str(state.problem)
            view = self._look(action.peer_url)
            mine = self._mine(view)
            if mine is None:
                return _UNSURE
            if (state.cluster, state.identity) != (view.cluster, mine.identity):
                self._stranger(mine)
            return "" if view.agreed else _UNSURE

        self._until(
            attempt, action.start_seconds, "it does not answer", "Mend what its last lines complain about, then run again", words=True
        )

    def _stranger(self, mine: EtcdMember) -> None:
        gone = ""
        if self._written and self._action.manifest is not None:
            self._files.apply(RemoveFile(self._action.manifest.path))
            gone = "; its manifest was removed again"
        raise Unusable(
            self._action.client_url,
            f"an etcd of other data answers there, not member {mine.identity:x} of this cluster{gone}",
            "Stop it, move its data directory away, then run again",
        )

    def _promote(self) -> None:
        """Let the learner vote as soon as it has caught up."""
        fix = f"{_AGAIN}. A large database needs a longer timeouts.etcdAPICall"
        self._until(self._promoted, self._action.change_seconds, "it is still a learner", fix)

    def _promoted(self) -> str:
        """Try to have the learner vote; say what is in the way."""
        own = self._action.peer_url
        view, risk = self._weighed(own, lambda seen: risk_of_promoting(seen, own))
        mine = self._mine(view)
        if mine is None:
            return _UNSURE
        if not mine.learner:
            return "" if view.agreed else _UNSURE
        if risk:
            return risk
        identity = mine.identity
        return self._refusal(lambda: self._etcd.promote(self._action.endpoints, self._action.access, identity), (NOT_LEARNER,))

    def _available(self) -> None:
        """Wait until it votes, follows a leader, and the cluster is as well as the release asks."""
        action = self._action

        def attempt() -> str:
            view = self._look()
            mine = view.at(action.peer_url)
            own = view.problem(mine) if mine is not None else "it is not in the member list"
            return own or health_problem(view, "", action.by_quorum)

        self._until(attempt, action.available_seconds, "the cluster is not well with it", _AGAIN, words=True)

    def _mine(self, view: EtcdView) -> EtcdMember | None:
        """Find the member of this host; a list that no majority stands behind may be older than it."""
        mine = view.at(self._action.peer_url)
        if mine is None and view.agreed:
            raise Unusable(self._where, "it is not in the member list any more", "See who removed it, then run again")
        return mine

    def _look(self, besides: str = "", patience: float = math.inf) -> EtcdView:
        view: EtcdView = self._etcd.look(self._action.endpoints, self._action.access, besides, patience)
        return view

    def _weighed(self, besides: str, risk_of: Callable[[EtcdView], str]) -> tuple[EtcdView, str]:
        """Look, and say what is at risk; who was slow to answer is given more time before that counts against him."""
        for patience in (_GLANCE_SECONDS, math.inf):
            view = self._look(besides, patience)
            risk = risk_of(view)
            if not risk:
                break
        return view, risk

    def _refusal(self, call: Callable[[], None], as_good: tuple[str, ...]) -> str:
        """Make a call; what etcd refuses for good ends the wait, the rest is told."""
        try:
            call()
        except EtcdRefusal as refusal:
            if refusal.kind == REFUSED:
                raise Unusable(self._where, f"etcd refuses: {refusal.said}", "Correct what etcd objects to, then run again") from None
            return "" if refusal.kind in as_good else refusal.said
        return ""

    def _until(self, attempt: Callable[[], str], seconds: float, failure: str, fix: str, words: bool = False) -> None:
        """Try until there is nothing in the way any more; a cluster that cannot be asked for a moment is waited for as well."""
        start = time.monotonic()
        while True:
            try:
                problem = attempt()
            except EtcdSilent as silence:
                problem = silence.found
            if not problem:
                return
            if time.monotonic() - start + self._action.poll_seconds >= seconds:
                more = last_words(self._cri, self._action.cri_socket, "etcd") if words else []
                raise Unusable(self._where, "\n  ".join([f"{failure} after {seconds:.0f} s: {problem}", *more]), fix)
            time.sleep(self._action.poll_seconds)
