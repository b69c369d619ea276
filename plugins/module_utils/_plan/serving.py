# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Serving certificates of kubelets as phases see them, and what a plan may ask to be done about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Callable, Protocol

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest


@dataclass(frozen=True)
class KubeletPlace:
    """Where the kubelet of a node is reached."""

    node: str
    address: str
    port: int


@dataclass(frozen=True)
class Serving:
    """What a kubelet showed; with a problem, why nobody who trusts the cluster's CA would believe it."""

    node: str
    address: str
    problem: str = ""
    expires: str = ""

    @property
    def served(self) -> bool:
        """Whether its certificate is one that the CA signed, for the address at which it was asked."""
        return not self.problem


@dataclass(frozen=True)
class DecideRequest(Action):
    """Approve or deny a request for a certificate, as it was when it was judged."""

    request: Manifest = field(repr=False)
    approve: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Decision:
    """What one request comes to: the list of the result that tells of it and, where something is done, what."""

    outcome: str
    fact: Mapping[str, Any]
    action: DecideRequest | None = None
    claim: Unusable | None = None


@dataclass(frozen=True)
class RefuseClaims(Action):
    """Stop with what claims to be somebody else; all that is harmless was done before."""

    changes_something = False

    claims: tuple[Unusable, ...]
    facts: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class ServeNodes(Action):
    """Decide on requests as they come in until every one of these kubelets shows a certificate of the cluster's.

    ``decide`` judges one request, ``opened`` tells those that nobody has decided on; facts and claims are those of the plan.
    """

    places: tuple[KubeletPlace, ...]
    authority: bytes = field(repr=False)
    signer: str
    seconds: float
    opened: Callable[[Manifest], bool] = field(repr=False, compare=False)
    decide: Callable[[Manifest], Decision] = field(repr=False, compare=False)
    facts: Mapping[str, Sequence[Mapping[str, Any]]] = field(repr=False)
    claims: tuple[Unusable, ...] = ()
    poll_seconds: float = 0.3


class Fate(Protocol):
    """How far a request has come."""

    @property
    def state(self) -> str:
        """In one word."""

    @property
    def message(self) -> str:
        """In a sentence."""

    @property
    def failure(self) -> bool:
        """Whether it has to be made anew."""

    @property
    def certificate(self) -> bytes:
        """What was signed, or nothing yet."""


@dataclass(frozen=True)
class RequestServing(Action):
    """Ask the cluster for a serving certificate with the node's own credentials, wait for it, and make it the current one.

    A request that fails is made anew after a pause, as long as the time lasts. Judging requests, the pauses, the names of
    files and what is told of the result are the domain's.
    """

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    algorithm: str
    signer: str
    usages: tuple[str, ...]
    lifetime_seconds: int | None
    current: str
    updated: str
    # Pairs that go when the new one is the current one.
    replaced: tuple[str, ...]
    seconds: float
    fate: Callable[[Manifest | None, str, timedelta], Fate] = field(repr=False, compare=False)
    pause: Callable[[int, float], float] = field(repr=False, compare=False)
    stored_at: Callable[[datetime], str] = field(repr=False, compare=False)
    report: Callable[[bytes, datetime, int], Mapping[str, Any]] = field(repr=False, compare=False)
    poll_seconds: float = 0.3
