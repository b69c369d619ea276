# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secrets of one run of joins: a token and, for control planes, the certificates; they end with the run.

A run has a Secret of its own for the certificates, and not kubeadm-certs: there is only one of those in a cluster, and whoever
put it there, a kubeadm or another run that started at the same time, may still have hosts that need it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.pins import pins
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import carried, contents_of, kept_away
from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port, parse_endpoint
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import TOKEN_GROUPS, TOKEN_USAGES
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import ADMIN, virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import RUN, MintJoin
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO, authority_path, cluster_of
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.rbac import reading
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import (
    NAMESPACE,
    PREFIX,
    SECRET_TYPE,
    Token,
    expired,
    from_secret,
    is_identifier,
    lines,
    stamp,
    terms,
)

# By which the tokens of runs are known, whoever started them and wherever.
DESCRIPTION = "kubephase join, removed when the run ends"
LONGEST = timedelta(minutes=30)
CARRIER = ObjectKey("v1", "Secret", NAMESPACE, f"kubephase-certs-{RUN}")

# A token is swept so long after its expiry: the clock of this host may be ahead of that of the API server, for which a run
# of somebody else's may still be under way.
_GRACE = timedelta(minutes=5)
_ROLE = f"kubephase:join-{RUN}"
_RBAC = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Observed:
    """Who the cluster is, the files to hand on, and what there is of this run or of runs that are over."""

    now: datetime
    virgin: bool = False
    server: str = ""
    authority: bytes = b""
    pins: tuple[str, ...] = ()
    cluster_info: bool = False
    files: Mapping[str, bytes | None] = field(default_factory=dict, repr=False)
    # By run, the token when there is one and the objects that it owns.
    tokens: Mapping[str, Token] = field(default_factory=dict)
    belongings: Mapping[str, tuple[ObjectKey, ...]] = field(default_factory=dict)


class JoinSecretsPhase:
    """Makes and removes what hosts need to join, as read and plan."""

    name = "join-secrets"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Ask the cluster through admin.conf; on a host without a cluster nobody is asked."""
        now = world.clock.now()
        if virgin_host(world):
            return Observed(now, virgin=True)
        if options.get("state") == "absent":
            run = _run(options)
            token = world.api.get(_token_key(run))
            found = from_secret(token) if token is not None else None
            return Observed(now, tokens={run: found} if found else {}, belongings={run: _belongings(world, run)})
        secrets = world.api.list("v1", "Secret", NAMESPACE, field_selector=f"type={SECRET_TYPE}")
        tokens = {token.identifier: token for token in map(from_secret, secrets) if token is not None and _over(token, now)}
        cluster = _cluster(world)
        authority = base64.b64decode(cluster.get("certificate-authority-data") or "")
        return Observed(
            now,
            server=str(cluster.get("server") or ""),
            authority=authority,
            pins=pins(authority, ADMIN),
            cluster_info=world.api.get(CLUSTER_INFO) is not None,
            files=contents_of(world, docs) if options.get("certificates") else {},
            tokens=tokens,
            belongings={run: _belongings(world, run) for run in tokens},
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide what is made, or what of this run is removed."""
        return _removed(seen, _run(options)) if options.get("state") == "absent" else _made(docs, seen, options)


def _made(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
    lifetime = LONGEST if options.get("ttl") is None else options["ttl"]
    paths = carried(docs) if options.get("certificates") else {}
    _refuse(seen, lifetime, paths)
    token = Token(description=DESCRIPTION, expires=stamp(seen.now + lifetime), usages=TOKEN_USAGES, groups=TOKEN_GROUPS)
    action = MintJoin(terms(token))
    after = lines(token)
    if paths:
        action = MintJoin(terms(token), seen.files, CARRIER, _readers())
        after += "".join(f"{name}: {'encrypted' if seen.files.get(name) is not None else 'empty'}\n" for name in sorted(paths))
    swept = [change for run in sorted(seen.tokens) for change in _gone(seen, run, "the run that made it is over")]
    missing = [] if seen.virgin else [name for name, path in paths.items() if path and seen.files.get(name) is None]
    facts = {
        "api_server_endpoint": _endpoint(seen.server or control_plane_url(docs)),
        "ca_cert": seen.authority.decode("ascii", errors="ignore"),
        "ca_cert_hashes": list(seen.pins),
        "expires": token.expires,
        "swept": sorted(seen.tokens),
    }
    mint = Change("a new bootstrap token", "hosts are to join", "", after, action)
    return Plan((*swept, mint), facts, tuple(f"{paths[name]} is not on this host: {name} is stored empty" for name in missing))


def _removed(seen: Observed, run: str) -> Plan:
    token = seen.tokens.get(run)
    if token is not None and token.description != DESCRIPTION:
        return Plan(warnings=(f"{token.key} was left alone: no join made it",), facts={"run": run})
    return Plan(tuple(_gone(seen, run, "its run has ended")), facts={"run": run})


def _gone(seen: Observed, run: str, reason: str) -> list[Change]:
    """Remove a run, its token first: if that is as far as it gets, the garbage collector removes the rest."""
    token = seen.tokens.get(run)
    found = [Change(str(token.key), reason, lines(token), "", DeleteObject(token.key))] if token is not None else []
    return found + [Change(str(key), reason, f"of run {run}\n", "", DeleteObject(key)) for key in seen.belongings.get(run, ())]


def _refuse(seen: Observed, lifetime: timedelta, paths: Mapping[str, str]) -> None:
    findings = []
    if not timedelta(0) < lifetime <= LONGEST:
        findings.append(Unusable("ttl", f"{lifetime} is not more than 0 and at most {LONGEST}", "Give one such as 30m"))
    if not seen.virgin:
        if not seen.cluster_info:
            fix = "Run the bootstrap-token phase on a control plane"
            findings.append(Unusable(str(CLUSTER_INFO), "it does not exist, so that no host can find the cluster by a token", fix))
        findings += kept_away(paths, seen.files) if paths else []
    if findings:
        raise ManyUnusable(tuple(findings))


def _run(options: Mapping[str, Any]) -> str:
    run = str(options.get("run") or "")
    if not is_identifier(run):
        raise Unusable("run", f"a text of {len(run)} characters is not the id of a run", "Give what state present returned as run")
    return run


def _over(token: Token, now: datetime) -> bool:
    return token.description == DESCRIPTION and expired(token, now - _GRACE)


def _token_key(run: str) -> ObjectKey:
    return ObjectKey("v1", "Secret", NAMESPACE, f"{PREFIX}{run}")


def _readers() -> tuple[Manifest, ...]:
    (joining,) = TOKEN_GROUPS
    return reading(CARRIER, "secrets", _ROLE, "Group", joining)


def _belongings(world: Any, run: str) -> tuple[ObjectKey, ...]:
    """List what the token of a run owns; a namesake that somebody else made is not among it."""
    role = _ROLE.replace(RUN, run)
    keys = [CARRIER._replace(name=CARRIER.name.replace(RUN, run))]
    keys += [ObjectKey(_RBAC, kind, NAMESPACE, role) for kind in ("RoleBinding", "Role")]
    return tuple(key for key in keys if _owned(world.api.get(key), run))


def _owned(manifest: Manifest | None, run: str) -> bool:
    owners = (manifest or {}).get("metadata", {}).get("ownerReferences") or ()
    return any(each.get("kind") == "Secret" and each.get("name") == f"{PREFIX}{run}" for each in owners)


def _cluster(world: Any) -> dict[str, Any]:
    admin = world.files.read(ADMIN)
    if admin is None:
        raise Unusable(ADMIN, "it is not on this host, so that nobody can be asked to let hosts join", "Name another control plane")
    pointed_at = authority_path(admin)
    return cluster_of(admin, world.files.read(pointed_at) if pointed_at else None)


def _endpoint(server: str) -> str:
    """Write a server as a join is told of it, with its port."""
    host, port = parse_endpoint(server.partition("://")[2].partition("/")[0]) or ("", None)
    return join_host_port(host, 443 if port is None else port) if host else ""
