# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The standing approver: what it may do, what it runs with, whose turn it is, and what it tells."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import Decision
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.standing import Way
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.decision import APPROVED, DENIED, PENDING, REFUSED, decided
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import NAME
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.policy import Policy, policy_of
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import SIGNER

NAMESPACE = "kube-system"
TOKEN_SECONDS = 7 * 86400
# Longer than two turns of the timer: one that is late has not given up its turn.
LEASE_SECONDS = 150

_LOUD = 2
_PRIORITIES = {APPROVED: 5, REFUSED: _LOUD, PENDING: 4, DENIED: 4}


@dataclass(frozen=True)
class Settings:
    """What the program is told in its file."""

    policy: Policy
    deny: bool
    figures: str


@dataclass(frozen=True)
class Memory:
    """What one run leaves to the next: the lease as it was seen, what was told already, and the counts."""

    boot: str = ""
    version: str = ""
    since: float = 0.0
    told: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One line of the journal, with its priority."""

    priority: int
    text: str


class Rules:
    """The rules that the program asks; pure, so that they are those of the module, too."""

    name, namespace, signer, token_seconds, lease_seconds = NAME, NAMESPACE, SIGNER, TOKEN_SECONDS, LEASE_SECONDS

    def settings(self, path: str, content: bytes | None) -> Settings:
        """Read the file that the module wrote."""
        found = _object(content)
        if found is None:
            raise Unusable(path, "it is missing, or not a JSON object", "Run serving_approver, which writes it")
        policy = policy_of(
            found.get("nodes"),
            found.get("allowed_names") or (),
            found.get("reserved") or (),
            int(found.get("min_rsa_bits") or 2048),
            int(found.get("min_ecdsa_bits") or 256),
        )
        return Settings(policy, bool(found.get("deny")), str(found.get("figures") or ""))

    def is_open(self, request: Manifest) -> bool:
        """Say whether a request is to be judged."""
        return is_open(request)

    def decide(self, request: Manifest, settings: Settings) -> Decision:
        """Judge a request."""
        return decided(request, settings.policy, settings.deny)

    def line(self, decision: Decision) -> Line:
        """Tell of a decision."""
        fact = decision.fact
        names = ", ".join(fact["names"]) or "no names"
        text = f"{decision.outcome} {fact['name']} of {fact['requester'] or 'nobody'} for {names}: {fact['reason']}"
        # Whoever files a request must not be able to write lines of their own.
        text = "".join(character if character.isprintable() else "?" for character in text)
        return Line(_PRIORITIES[decision.outcome], text)

    def memory(self, content: bytes | None, boot: str) -> Memory:
        """Take up what the last run left; how long ago it saw the lease is known only within one boot."""
        found = _object(content) or {}
        counts = found.get("counts")
        same = found.get("boot") == boot
        return Memory(
            boot=boot,
            version=str(found.get("version") or "") if same else "",
            since=float(found.get("since") or 0.0) if same else 0.0,
            told=tuple(str(each) for each in found.get("told") or ()),
            counts={str(name): int(count) for name, count in counts.items()} if isinstance(counts, dict) else {},
        )

    def remembered(self, memory: Memory) -> bytes:
        """Write what the next run takes up."""
        return json.dumps({**asdict(memory), "told": list(memory.told)}).encode()

    def is_mine(self, lease: Manifest, me: str, memory: Memory, clock: float) -> bool:
        """Say whether the turn is ours.

        Another's lease has run out when it has not been renewed for so long as our own clock shows. Times that others
        wrote are not compared with ours: clocks differ.
        """
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        if holder in ("", me):
            return True
        unchanged = memory.version == lease["metadata"]["resourceVersion"]
        return unchanged and clock - memory.since >= LEASE_SECONDS

    def lease_spec(self, lease: Manifest, me: str, now: datetime) -> dict[str, Any]:
        """Write oneself into the Lease."""
        return lease_spec(lease, me, now)

    def figures(self, memory: Memory, active: bool, pending: int, expires: float, now: float) -> str:
        """Write the figures as a Prometheus text file."""
        counted = {name: memory.counts.get(name, 0) for name in (APPROVED, REFUSED, DENIED, "errors")}
        lines = ["# TYPE kubephase_serving_requests_total counter"]
        lines += [f'kubephase_serving_requests_total{{outcome="{name}"}} {count}' for name, count in counted.items() if name != "errors"]
        for name, kind, value in (
            ("errors_total", "counter", counted["errors"]),
            ("pending", "gauge", pending),
            ("active", "gauge", int(active)),
            ("token_expiry_timestamp_seconds", "gauge", int(expires)),
            ("last_run_timestamp_seconds", "gauge", int(now)),
        ):
            lines += [f"# TYPE kubephase_serving_{name} {kind}", f"kubephase_serving_{name} {value}"]
        return "".join(f"{line}\n" for line in lines)

    def lifetime(self, token: str) -> tuple[float, float]:
        """Read from a token when it was made and when it ends; zeros when it does not say."""
        return token_times(token)

    def is_stale(self, token: str, now: float) -> bool:
        """Say whether a token is past half of its life, and is to be replaced."""
        made, ends = token_times(token)
        return now >= made + (ends - made) / 2

    def kubeconfig(self, way: Way, token: str) -> bytes:
        """Write the kubeconfig of the program."""
        return kubeconfig(way, token)


def token_times(token: str) -> tuple[float, float]:
    """Read from a token when it was made and when it ends; nothing in it is believed for more than that."""
    part = [*token.split("."), "", ""][1]
    try:
        found = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return float(found["iat"]), float(found["exp"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        return 0.0, 0.0


def kubeconfig(way: Way, token: str) -> bytes:
    """Write a kubeconfig, in JSON, which is YAML as well."""
    cluster = {"server": way.server, "certificate-authority-data": base64.b64encode(way.authority.encode()).decode()}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": "cluster", "user": NAME}}],
        "current-context": NAME,
    }
    return json.dumps(document, indent=2).encode() + b"\n"


def manifests() -> tuple[Manifest, ...]:
    """Render the account and all that it may do: look at requests, approve this signer's, hold one Lease, renew its own token."""
    cluster = [
        _rule("certificates.k8s.io", "certificatesigningrequests", "get", "list", "watch"),
        _rule("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
        _rule("certificates.k8s.io", "signers", "approve", names=(SIGNER,)),
    ]
    own = [
        _rule("coordination.k8s.io", "leases", "get", "update", names=(NAME,)),
        _rule("", "serviceaccounts/token", "create", names=(NAME,)),
    ]
    meta, place = {"name": NAME}, {"name": NAME, "namespace": NAMESPACE}
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place, "automountServiceAccountToken": False},
        {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": meta, "rules": cluster},
        {"apiVersion": _RBAC, "kind": "ClusterRoleBinding", "metadata": meta, **_bound("ClusterRole")},
        {"apiVersion": _RBAC, "kind": "Role", "metadata": place, "rules": own},
        {"apiVersion": _RBAC, "kind": "RoleBinding", "metadata": place, **_bound("Role")},
        # Made here, because nobody can be allowed to create just one.
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": place},
    )


_GROUP = "rbac.authorization.k8s.io"
_RBAC = f"{_GROUP}/v1"


def _rule(group: str, resource: str, *verbs: str, names: Sequence[str] = ()) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule


def _bound(kind: str) -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    return {"roleRef": {"apiGroup": _GROUP, "kind": kind, "name": NAME}, "subjects": [subject]}


def lease_spec(lease: Manifest, me: str, now: datetime) -> dict[str, Any]:
    """Write oneself into a Lease."""
    spec = dict(lease.get("spec") or {})
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if spec.get("holderIdentity") != me:
        spec.update(acquireTime=moment, leaseTransitions=int(spec.get("leaseTransitions") or 0) + 1)
    return {**spec, "holderIdentity": me, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": moment}


def _object(content: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(content) if content is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
