# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The etcd cluster as phases see it, the rules that keep its quorum, and what a plan may ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile

# Stands in a manifest for the list of members, which is known for certain only once ours has been added.
INITIAL_CLUSTER = "kubephase=https://initial-cluster"

REMOVE, ADD, WRITE, START, PROMOTE, AVAILABLE = "remove", "add", "write", "start", "promote", "available"


@dataclass(frozen=True)
class EtcdAccess:
    """The files by which a client and a member prove themselves to each other, and how long one call may take."""

    authority: str
    certificate: str
    key: str
    call_seconds: float


@dataclass(frozen=True)
class EtcdMember:
    """A member as the cluster lists it; one that has never started has no name."""

    identity: int
    name: str = ""
    peer_urls: tuple[str, ...] = ()
    client_urls: tuple[str, ...] = ()
    learner: bool = False

    @property
    def started(self) -> bool:
        """Whether it has ever told the cluster its name."""
        return bool(self.name)

    @property
    def label(self) -> str:
        """What to call it; one without a name goes by its number, as kubeadm does."""
        return self.name or f"{self.identity:x}"


@dataclass(frozen=True)
class EtcdState:
    """What a member says of itself; with a problem it said nothing of use."""

    problem: str = ""
    identity: int = 0
    cluster: int = 0
    leader: int = 0
    version: str = ""
    # Of the file, in bytes.
    size: int = 0


@dataclass(frozen=True)
class EtcdView:
    """One look at a cluster: its members, and how each is; agreed says that a majority stood behind the list."""

    cluster: int = 0
    members: tuple[EtcdMember, ...] = ()
    states: Mapping[int, EtcdState] = field(default_factory=dict)
    agreed: bool = True

    @property
    def voters(self) -> tuple[EtcdMember, ...]:
        """The members that count."""
        return tuple(member for member in self.members if not member.learner)

    def at(self, peer_url: str) -> EtcdMember | None:
        """The member whose peers find it at a URL."""
        return next((member for member in self.members if peer_url in member.peer_urls), None)

    def problem(self, member: EtcdMember) -> str:
        """What is wrong with a member, or nothing."""
        if not member.started:
            return "it was added and has never started"
        state = self.states.get(member.identity, EtcdState("it tells no address for clients"))
        return state.problem or ("" if state.leader else "it sees no leader")

    def reachable(self, member: EtcdMember | None) -> bool:
        """Whether a member answers, be there a leader or not."""
        return member is not None and member.identity in self.states and not self.states[member.identity].problem

    def unwell(self, besides: str = "") -> tuple[str, ...]:
        """Name each member that is not well, and why; the one at a peer URL may be left out."""
        return tuple(
            f"{member.label}{' (learner)' if member.learner else ''}: {self.problem(member)}"
            for member in self.members
            if self.problem(member) and besides not in member.peer_urls
        )


@dataclass(frozen=True)
class WaitForEtcd(Action):
    """Ask the members until the cluster is well or the time is up; peer_url is that of this host, whose own member may be down."""

    changes_something = False

    endpoints: tuple[str, ...]
    access: EtcdAccess
    peer_url: str
    by_quorum: bool
    seconds: float
    poll_seconds: float = 0.25


@dataclass(frozen=True)
class JoinEtcd(Action):
    """Make this host's etcd a voting member of the cluster: what is left to do of that, in order.

    It is one action because nobody else may come in between. The manifest holds the marker for the list of members.
    ``needs`` are files without which the member could not start, so that nothing is added in vain.
    """

    steps: tuple[str, ...]
    name: str
    peer_url: str
    client_url: str
    endpoints: tuple[str, ...]
    access: EtcdAccess
    learner: bool
    by_quorum: bool
    manifest: WriteFile | None = field(default=None, repr=False)
    needs: tuple[str, ...] = ()
    cri_socket: str = ""
    # For the member to start, for the cluster to agree to a change, and for it to be well afterwards.
    start_seconds: float = 240.0
    change_seconds: float = 120.0
    available_seconds: float = 40.0
    poll_seconds: float = 0.25


@dataclass(frozen=True)
class AwaitEtcdMember(JoinEtcd):
    """The same for a member that only has to come up again."""

    changes_something = False


def quorum(voters: int) -> int:
    """How many voters must agree."""
    return voters // 2 + 1


def health_problem(view: EtcdView, own: str, by_quorum: bool) -> str:
    """Say what keeps a cluster from being well enough to join, or nothing.

    The member of this host does not count against it: bringing that one up is what a joining host is about to do.
    """
    mine, needed = view.at(own), quorum(len(view.voters))
    reached = sum(1 for member in view.voters if view.reachable(member))
    # Where only the voter of this host is missing for a majority, the others cannot have a leader.
    leaderless = mine in view.voters and not view.reachable(mine) and reached == needed - 1

    def problem(member: EtcdMember) -> str:
        return "" if member is mine or (leaderless and view.reachable(member)) else view.problem(member)

    unwell = "; ".join(f"{member.label}: {problem(member)}" for member in view.members if problem(member))
    well = sum(1 for member in view.voters if not problem(member))
    if well < needed:
        return f"{well} of {len(view.voters)} voting members are well, and {needed} must be ({unwell})"
    if not by_quorum and any(member.started and problem(member) for member in view.members):
        return f"not every member is well ({unwell})"
    return ""


def risk_of_adding(view: EtcdView, learner: bool) -> str:
    """Say why a member must not be added now, or nothing.

    A voter that has not started counts against the quorum at once, so all others have to be well. A learner does not; but
    once it votes, those that are well must still be a majority.
    """
    if not view.agreed:
        return "no majority of the members answers"
    unwell = view.unwell()
    if not learner:
        return f"a voter may only be added while all members are well ({'; '.join(unwell)})" if unwell else ""
    return _risk_of_one_more(view, "")


def risk_of_promoting(view: EtcdView, own: str) -> str:
    """Say why this host's learner must not become a voter now, or nothing."""
    return _risk_of_one_more(view, own) if view.agreed else "no majority of the members answers"


def _risk_of_one_more(view: EtcdView, own: str) -> str:
    well = sum(1 for member in view.voters if not view.problem(member)) + 1
    if well >= quorum(len(view.voters) + 1):
        return ""
    return f"with one voter more there would be no majority of members that are well ({'; '.join(view.unwell(besides=own))})"


def initial_cluster(view: EtcdView, name: str, peer_url: str) -> tuple[str, ...]:
    """List the members as etcd wants to be told of them at its first start, this host's under its own name."""
    return tuple(f"{name if peer_url in member.peer_urls else member.label}={url}" for member in view.members for url in member.peer_urls)


def told(view: EtcdView) -> list[dict[str, Any]]:
    """Describe the members for a result."""
    return [
        {
            "name": member.name,
            "id": f"{member.identity:x}",
            "peer_urls": list(member.peer_urls),
            "client_urls": list(member.client_urls),
            "voting": not member.learner,
            "healthy": not view.problem(member),
            "found": view.problem(member),
        }
        for member in view.members
    ]
