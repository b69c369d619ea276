# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upload-certs phase: what a joining control plane needs, encrypted, for a short time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.contents import key_bytes, opened
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import carried, contents_of, kept_away
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import TOKEN_GROUPS
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import Seen, read_objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import MintToken, UploadCertificates
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.rbac import reading
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import (
    PREFIX,
    Token,
    expired,
    from_secret,
    stamp,
    terms,
)

SECRET = ObjectKey("v1", "Secret", "kube-system", "kubeadm-certs")
DESCRIPTION = "Proxy for managing TTL for the kubeadm-certs secret"

_LIFETIME = timedelta(hours=2)
_ROLE = "kubeadm:kubeadm-certs"


@dataclass(frozen=True)
class Observed:
    """The files of this host, the Secret that carries them, and the token that owns it."""

    files: Mapping[str, bytes | None] = field(repr=False)
    objects: Seen
    secret: Manifest | None = field(repr=False)
    owner: Manifest | None = field(repr=False)
    now: datetime


class UploadCertsPhase:
    """kubeadm's upload-certs phase as read and plan."""

    name = "upload-certs"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read the files, the Secret and the token that owns it."""
        present = options.get("state", "present") == "present"
        objects = read_objects(world, _readers() if present else (), docs)
        secret = None if objects.virgin else world.api.get(SECRET)
        owner = _owner_key(secret)
        return Observed(
            files=contents_of(world, docs) if present else {},
            objects=objects,
            secret=secret,
            owner=world.api.get(owner) if owner is not None else None,
            now=world.clock.now(),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide whether the Secret is stored, kept or removed."""
        planner = _Planner(docs, seen, options)
        return planner.removed() if options.get("state") == "absent" else planner.stored()


def _readers() -> tuple[Manifest, ...]:
    (joining,) = TOKEN_GROUPS
    return reading(SECRET, "secrets", _ROLE, "Group", joining)


def _owner_key(secret: Manifest | None) -> ObjectKey | None:
    """Find the token that ends the Secret's life."""
    for reference in (secret or {}).get("metadata", {}).get("ownerReferences") or ():
        if reference.get("kind") == "Secret" and str(reference.get("name", "")).startswith(PREFIX):
            return ObjectKey("v1", "Secret", SECRET.namespace, reference["name"])
    return None


class _Planner:
    """Compares the Secret, as far as it can be opened, with the files."""

    def __init__(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> None:
        self._paths = carried(docs)
        self._seen = seen
        self._given: str = options.get("certificate_key") or ""
        self._overwrite = bool(options.get("overwrite"))
        lifetime = options.get("ttl")
        self._lifetime: timedelta = _LIFETIME if lifetime is None else lifetime
        if self._given:
            key_bytes(self._given)
        self._inside = opened(seen.secret.get("data"), self._given) if seen.secret is not None and self._given else None

    def stored(self) -> Plan:
        """Store the Secret unless it is there, opens with the key and holds what the files hold."""
        self._refuse()
        warnings = [f"{self._paths[name]} is not on this host: {name} is stored empty" for name in self._missing()]
        readers = changes(_readers(), self._seen.objects.states)
        if self._sealed and not self._overwrite:
            return Plan(readers, self._facts("kept"), (self._left_alone("Set overwrite to replace it"),))
        reason = self._reason()
        if not reason:
            return Plan(readers, self._facts("kept"))
        upload, expires = self._upload(reason)
        facts = self._facts("replaced" if self._seen.secret is not None else "uploaded", expires)
        return Plan((upload, *readers), facts, tuple(warnings))

    def removed(self) -> Plan:
        """Remove the Secret and the token that owns it; with a key, only the Secret that this key opens."""
        if self._seen.secret is None:
            return Plan(facts=self._facts("absent"))
        if self._given and self._sealed and not self._overwrite:
            return Plan(facts=self._facts("kept"), warnings=(self._left_alone("Give no certificate_key, or set overwrite, to remove it"),))
        gone = [Change(str(SECRET), "it is not wanted", self._lines(self._names()), "", DeleteObject(SECRET))]
        owner = self._own_token()
        if owner is not None:
            # First of the two: if this run is killed in between, the garbage collector removes what it owned.
            gone.insert(0, Change(str(owner), f"it lives for {SECRET} only", f"description: {DESCRIPTION}\n", "", DeleteObject(owner)))
        return Plan(tuple(gone), self._facts("removed"))

    @property
    def _sealed(self) -> bool:
        return self._seen.secret is not None and self._inside is None

    def _refuse(self) -> None:
        findings = []
        if not self._lifetime:
            findings.append(Unusable("ttl", "it is 0, so the keys would lie in the cluster for ever", "Give one such as 2h"))
        findings += kept_away(self._paths, self._seen.files)
        if findings:
            raise ManyUnusable(tuple(findings))

    def _missing(self) -> list[str]:
        """Name the files that ought to be there; on a virgin host the certs phase makes them first."""
        return [] if self._seen.objects.virgin else [name for name, path in self._paths.items() if path and self._seen.files[name] is None]

    def _reason(self) -> str:
        if self._seen.secret is None:
            return "it does not exist"
        if self._inside is None:
            return "it was encrypted with another key" if self._given else "a new key was asked for, and overwrite"
        different = self._different()
        if different:
            return f"it differs from the files on this host: {', '.join(different)}"
        owner = from_secret(self._seen.owner) if self._seen.owner is not None else None
        if owner is None:
            return "no token ends its life"
        return f"it expired on {owner.expires}" if expired(owner, self._seen.now) else ""

    def _different(self) -> list[str]:
        inside = self._inside or {}
        wanted = {name: content or b"" for name, content in self._seen.files.items()}
        return sorted(name for name in {*inside, *wanted} if inside.get(name) != wanted.get(name))

    def _upload(self, reason: str) -> tuple[Change, str]:
        owner = Token(description=DESCRIPTION, expires=stamp(self._seen.now + self._lifetime))
        action = UploadCertificates(
            key=SECRET,
            files=self._seen.files,
            owner=MintToken(terms(owner)),
            certificate_key=self._given,
            replaces=self._seen.secret is not None,
            stale_owner=self._own_token(),
        )
        before = self._lines(self._names()) if self._seen.secret is not None else ""
        after = self._lines({name: content is not None for name, content in self._seen.files.items()}, set(self._different()))
        return Change(str(SECRET), reason, before, f"{after}expires: {owner.expires}\n", action), owner.expires

    def _own_token(self) -> ObjectKey | None:
        """The owner, if it is nothing but that: a token that somebody may log in with is never removed."""
        owner = from_secret(self._seen.owner) if self._seen.owner is not None else None
        if owner is None or owner.usages or owner.groups:
            return None
        references = (self._seen.secret or {}).get("metadata", {}).get("ownerReferences") or ()
        same = any(each.get("uid") == (self._seen.owner or {}).get("metadata", {}).get("uid") for each in references)
        return owner.key if same else None

    def _left_alone(self, advice: str) -> str:
        why = "it does not open with the given certificate_key" if self._given else "no certificate_key was given that could open it"
        return f"{SECRET} was left alone: {why}. {advice}"

    def _names(self) -> dict[str, bool]:
        return {name: bool(value) for name, value in ((self._seen.secret or {}).get("data") or {}).items()}

    def _lines(self, names: Mapping[str, bool], changed: set[str] | None = None) -> str:
        """Tell which values there are, never what they hold."""
        mark = " (changed)" if self._inside is not None else ""
        return "".join(
            f"{name}: {'encrypted' if full else 'empty'}{mark if name in (changed or ()) else ''}\n" for name, full in sorted(names.items())
        )

    def _facts(self, done: str, expires: str = "") -> dict[str, Any]:
        owner = from_secret(self._seen.owner) if self._seen.owner is not None and not expires and done == "kept" else None
        return {
            "secret": {
                "name": SECRET.name,
                "namespace": SECRET.namespace,
                "done": done,
                "readable": done in ("uploaded", "replaced") or (done == "kept" and not self._sealed),
                "expires": expires or (owner.expires if owner else ""),
            }
        }
