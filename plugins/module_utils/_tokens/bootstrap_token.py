# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bootstrap-token phase: tokens, who may use them for what, and the cluster-info that they prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import Seen, read_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, DeleteObject, Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import MintToken
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import (
    CLUSTER_INFO,
    authority_path,
    cluster_of,
    config_map,
    expected_cluster,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.rbac import cluster_info_objects, node_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.requested import check_options, fresh, requested
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import (
    NAMESPACE,
    SECRET_TYPE,
    Token,
    from_secret,
    lines,
    public,
    terms,
    to_secret,
)

_ADMIN = "/etc/kubernetes/admin.conf"


@dataclass(frozen=True)
class Observed:
    """The tokens of the cluster, and the objects that make them work."""

    objects: Seen
    manifests: tuple[Manifest, ...]
    tokens: tuple[Token, ...]
    now: datetime


class BootstrapTokenPhase:
    """kubeadm's bootstrap-token phase, and `kubeadm token create`, `list` and `delete`, as read and plan."""

    name = "bootstrap-token"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at the tokens and, where they are wanted, at the objects that make them work."""
        check_options(options)
        manifests = _manifests(docs, world) if _wanted(options) else ()
        objects = read_objects(world, manifests, docs)
        secrets = () if objects.virgin else world.api.list("v1", "Secret", NAMESPACE, field_selector=f"type={SECRET_TYPE}")
        found = [token for token in map(from_secret, secrets) if token is not None]
        return Observed(objects, manifests, tuple(sorted(found, key=lambda token: token.identifier)), world.clock.now())

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide which tokens are made, kept or removed, and which objects differ."""
        planner = _Planner(seen)
        if options.get("state") == "absent":
            planner.remove(options)
        elif _wanted(options):
            planner.request(docs, options)
            if options.get("mint"):
                planner.mint(options)
            # After the tokens: while cluster-info is missing, a run that was killed creates those that are left.
            planner.changes += changes(seen.manifests, seen.objects.states)
        return planner.result()


def _wanted(options: Mapping[str, Any]) -> bool:
    return bool(options.get("state", "present") == "present")


def _manifests(docs: Documents, world: Any) -> tuple[Manifest, ...]:
    admin = world.files.read(_ADMIN)
    if admin is None:
        cluster = expected_cluster(control_plane_url(docs))
    else:
        pointed_at = authority_path(admin)
        cluster = cluster_of(admin, world.files.read(pointed_at) if pointed_at else None)
    release = docs.known_release
    return (*node_objects(release), config_map(cluster, release.kubeconfig_preferences), *cluster_info_objects())


class _Planner:
    """Gathers changes, facts and warnings over the tokens."""

    def __init__(self, seen: Observed) -> None:
        self._seen = seen
        self._there = {token.identifier: token for token in seen.tokens}
        self._done: dict[str, tuple[Token, str]] = {token.identifier: (token, "kept") for token in seen.tokens}
        self.changes: list[Change] = []
        self._warnings: list[str] = []

    def request(self, docs: Documents, options: Mapping[str, Any]) -> None:
        """Create the tokens that documents and options list, each of them once in the life of the cluster."""
        for token in requested(docs, options, self._seen.now):
            there = self._there.get(token.identifier)
            if there is not None:
                if there.secret != token.secret:
                    self._warnings.append(f"The bootstrap token {token.identifier} exists with another secret: kept as it is")
            elif self._first_run or (options.get("create") == "always" and token.identifier):
                self._create(token, "it does not exist")
            elif token.identifier:
                self._done[token.identifier] = (token, "left out")

    def mint(self, options: Mapping[str, Any]) -> None:
        """Create one token more, and hand it to the caller."""
        self._draw(fresh(options, self._seen.now), "a fresh token was asked for", "minted_token")

    def remove(self, options: Mapping[str, Any]) -> None:
        """Delete the tokens that are named or that carry the given description, and no other."""
        identifiers = options.get("token_ids") or ()
        description = options.get("description") or ""
        for token in self._seen.tokens:
            if token.identifier in identifiers:
                self._remove(token, "its id was given")
            elif description and token.description == description:
                self._remove(token, "it has the given description")

    def result(self) -> Plan:
        """Report what was found and what becomes of it."""
        facts = [{**public(token), "done": done} for _identifier, (token, done) in sorted(self._done.items())]
        return Plan(tuple(self.changes), {"tokens": facts}, tuple(self._warnings))

    @property
    def _first_run(self) -> bool:
        state = self._seen.objects.states.get(CLUSTER_INFO)
        return state is None or state.live is None

    def _create(self, token: Token, reason: str) -> None:
        if not token.identifier:
            self._draw(token, reason)
            return
        self._done[token.identifier] = (token, "created")
        self.changes.append(Change(str(token.key), reason, "", lines(token), CreateObject(to_secret(token))))

    def _draw(self, token: Token, reason: str, returned: str = "") -> None:
        # The id is drawn with the secret when this is applied, so that a check and the real run say the same.
        self.changes.append(Change("a new bootstrap token", reason, "", lines(token), MintToken(terms(token), returned)))

    def _remove(self, token: Token, reason: str) -> None:
        self._done[token.identifier] = (token, "removed")
        self.changes.append(Change(str(token.key), reason, lines(token), "", DeleteObject(token.key)))
