# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certs phase: which certificates and keys must be made, and which are kept."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._pki import service_account
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import (
    Certificate,
    chains,
    describe,
    key_matches,
    load_certificates,
    load_private_key,
    missing_names,
    stamp,
    subject_line,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.table import SERVICE_ACCOUNT, Row, key_algorithm, paths, rows
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import IssueCertificate, Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, tightened

_BACKDATED = timedelta(minutes=5)  # what kubeadm allows for clocks that disagree


@dataclass(frozen=True)
class Observed:
    """The files of the certificates directory, by path, and the time at which they were read."""

    files: Mapping[str, FileState]
    now: datetime


@dataclass(frozen=True)
class _Authority:
    """An authority that is there, or that this plan makes."""

    subject: str
    certificate: Certificate | None
    can_sign: bool


@dataclass(frozen=True)
class _Found:
    """A certificate and its key as they lie on disk."""

    certificate: Certificate | None = None
    intermediates: tuple[Certificate, ...] = ()
    key: Any = None


class CertsPhase:
    """kubeadm's certs phase as read and plan."""

    name = "certs"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read every file of the table."""
        wanted = [path for row in rows(docs) for path in (paths(docs, row.name).certificate, paths(docs, row.name).key)]
        wanted += list(service_account.paths(docs))
        seen = {path: world.files.read(path) for path in wanted}
        return Observed({path: state for path, state in seen.items() if state is not None}, world.clock.now())

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide for each chosen certificate whether it is kept or issued."""
        table = rows(docs)
        chosen = _chosen(table, options.get("names"))
        planner = _Planner(docs, seen, options.get("renew_before") or timedelta(0), chosen)
        for row in table:
            planner.visit(row)
        if SERVICE_ACCOUNT in chosen:
            planner.visit_service_account()
        if planner.findings:
            raise ManyUnusable(tuple(planner.findings))
        return Plan(tuple(planner.changes), {"certificates": planner.facts}, tuple(planner.warnings))


def _chosen(table: Sequence[Row], names: Sequence[str] | None) -> frozenset[str]:
    known = frozenset(row.name for row in table) | {SERVICE_ACCOUNT}
    return known & frozenset(names) if names else known


class _Planner:
    """Gathers changes, facts and findings over the table."""

    def __init__(self, docs: Documents, seen: Observed, renew_before: timedelta, chosen: frozenset[str]) -> None:
        self._docs = docs
        self._seen = seen
        self._renew_before = renew_before
        self._chosen = chosen
        self._authorities: dict[str, _Authority] = {}
        self.changes: list[Change] = []
        self.facts: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.findings: list[Unusable] = []

    def visit(self, row: Row) -> None:
        """Plan one row; a finding is kept for the common report."""
        try:
            if row.authority:
                self._authorities[row.name] = self._authority(row)
            elif row.name in self._chosen:
                self._leaf(row)
        except Unusable as finding:
            if not any(str(finding) == str(each) for each in self.findings):
                self.findings.append(finding)

    def visit_service_account(self) -> None:
        """Plan the key pair that signs service account tokens."""
        try:
            change, fact = service_account.plan(self._docs, self._seen.files)
        except Unusable as finding:
            self.findings.append(finding)
            return
        self.facts.append(fact)
        if change is not None:
            self.changes.append(change)
        self._mark(fact, self._tighten(dict(zip(service_account.paths(self._docs), (0o600, 0o644)))))

    def _authority(self, row: Row) -> _Authority:
        """Keep an authority that is there, whatever the documents say; make one only where there is none."""
        where = paths(self._docs, row.name)
        found = self._load(row)
        if found.certificate is None:
            if row.name not in self._chosen:
                return _Authority("", None, False)
            if self._docs.joining:
                self.changes.append(service_account.must_be_brought(where.certificate))
                return _Authority(subject_line(row.common_name, ()), None, True)
            reason = "it does not exist" if found.key is None else "the certificate is missing; its key is kept"
            self._issue(row, reason, before="", keep_key=found.key is not None, done="issued")
            return _Authority(subject_line(row.common_name, ()), None, True)
        self._judge_authority(where.certificate, found.certificate, found.key)
        if row.name in self._chosen:
            self._keep(row, found.certificate, external=found.key is None)
        return _Authority(found.certificate.subject, found.certificate, found.key is not None)

    def _judge_authority(self, path: str, certificate: Certificate, key: Any) -> None:
        if not certificate.authority:
            raise Unusable(path, f"{certificate.subject} is not a certificate authority", "Put the cluster's CA certificate there")
        if certificate.not_after <= self._seen.now:
            raise Unusable(
                path,
                f"the certificate authority expired on {stamp(certificate.not_after)}",
                "A CA is never replaced by itself: put a valid CA certificate there, or check the host's clock",
            )
        if certificate.not_before > self._seen.now:
            raise Unusable(path, f"the certificate authority is valid only from {stamp(certificate.not_before)}", "Check the host's clock")
        if key is not None and not key_matches(certificate, key):
            raise Unusable(
                path,
                "the key beside it belongs to another certificate",
                "Put the matching pair there; a CA or its key is never overwritten",
            )

    def _leaf(self, row: Row) -> None:
        where = paths(self._docs, row.name)
        authority = self._authorities.get(row.issuer)
        if authority is None:
            return  # its authority is unusable, which is reported already
        found = self._load(row)
        certificate = found.certificate
        if certificate is None:
            reason = "it does not exist" if found.key is None else "the certificate is missing; its key is kept"
        else:
            reason = self._flaw(row, certificate, found, authority) or self._renewal(row, certificate, authority)
            if not reason:
                self._keep(row, certificate, external=not authority.can_sign)
                return
        if not authority.can_sign:
            raise self._cannot_sign(row, where.certificate, reason, authority)
        before = certificate.lines() if certificate else ""
        self._issue(
            row,
            reason,
            before,
            keep_key=certificate is None and found.key is not None,
            done="reissued" if before else "issued",
            issuer=authority,
        )

    def _cannot_sign(self, row: Row, path: str, reason: str, authority: _Authority) -> Unusable:
        if authority.certificate is None:
            return Unusable(
                paths(self._docs, row.issuer).certificate,
                f"the certificate authority that signs {row.name} is missing",
                f"Issue {row.issuer} too (names: [{row.issuer}, {row.name}])",
            )
        usages = " and ".join(label for label, asked in (("server", row.server), ("client", row.client)) if asked)
        names = ", ".join((*row.dns_names, *row.ip_addresses)) or "none"
        return Unusable(
            path,
            f"{reason}, and the key of {authority.subject} is not on this host (external CA)",
            f"Have your CA sign it: subject {subject_line(row.common_name, row.organizations)}; usage {usages} auth; names {names}",
        )

    def _flaw(self, row: Row, certificate: Certificate, found: _Found, authority: _Authority) -> str:
        """Say why a leaf cannot stay, or nothing when it can."""
        if found.key is None:
            return "its private key is missing"
        if authority.certificate is None or not chains(certificate, found.intermediates, authority.certificate):
            return f"it does not chain to {row.issuer}.crt ({authority.subject})"
        if not key_matches(certificate, found.key):
            return "it does not match its private key"
        if certificate.not_after <= self._seen.now:
            return f"it expired on {stamp(certificate.not_after)}"
        missing = missing_names(certificate, row.dns_names, row.ip_addresses)
        if missing:
            return f"it lacks the name{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        if certificate.not_before > self._seen.now:
            self.warnings.append(f"{row.name}.crt is valid only from {stamp(certificate.not_before)}: check the host's clock")
        return ""

    def _renewal(self, row: Row, certificate: Certificate, authority: _Authority) -> str:
        """Say that a sound leaf is to be renewed; one that only somebody else can renew is spoken of and kept."""
        if certificate.not_after - self._seen.now >= self._renew_before:
            return ""
        reason = f"it expires on {stamp(certificate.not_after)}, sooner than renew_before allows"
        if authority.can_sign:
            return reason
        self.warnings.append(f"{row.name}.crt: {reason}, and only your external CA can renew it")
        return ""

    def _load(self, row: Row) -> _Found:
        where = paths(self._docs, row.name)
        certificate, key = self._seen.files.get(where.certificate), self._seen.files.get(where.key)
        chain = load_certificates(where.certificate, certificate.content) if certificate else ()
        return _Found(
            certificate=chain[0] if chain else None,
            intermediates=chain[1:],
            key=load_private_key(where.key, key.content) if key else None,
        )

    def _issue(self, row: Row, reason: str, before: str, keep_key: bool, done: str, issuer: _Authority | None = None) -> None:
        where = paths(self._docs, row.name)
        profile = self._profile(row)
        subject = subject_line(row.common_name, row.organizations)
        issued_by = issuer.subject if issuer else subject
        after = describe(subject, issued_by, (*row.dns_names, *row.ip_addresses), profile.not_after)
        action = IssueCertificate(
            profile,
            key_algorithm(self._docs),
            where,
            issuer=paths(self._docs, row.issuer) if row.issuer else None,
            keep_key=keep_key,
        )
        self.changes.append(Change(where.certificate, reason, before, after, action))
        self.facts.append(self._fact(row, subject, issued_by, row.dns_names, row.ip_addresses, profile.not_after, done, reason))
        if keep_key:
            self._tighten({where.key: 0o600})

    def _keep(self, row: Row, certificate: Certificate, external: bool) -> None:
        where = paths(self._docs, row.name)
        fact = self._fact(
            row, certificate.subject, certificate.issuer, certificate.dns_names, certificate.ip_addresses, certificate.not_after, "kept", ""
        )
        fact["external"] = external
        self.facts.append(fact)
        self._mark(fact, self._tighten({where.certificate: 0o644, where.key: 0o600}))

    def _mark(self, fact: dict[str, Any], reason: str) -> None:
        if reason and fact["done"] == "kept":
            fact.update(done="mode", reason=reason)

    def _tighten(self, modes: Mapping[str, int]) -> str:
        """Ask for narrower modes where others may do too much, and say why."""
        found = [tightened(state, mode) for path, mode in modes.items() for state in [self._seen.files.get(path)] if state]
        changes = [change for change in found if change is not None]
        self.changes += changes
        return "; ".join(f"{posixpath.basename(change.target)}: {change.reason}" for change in changes)

    def _profile(self, row: Row) -> Profile:
        release, cluster, now = self._docs.known_release, self._docs.cluster, self._seen.now
        profile = Profile(
            common_name=row.common_name,
            not_after=now + cluster.certificate_validity_period,
            organizations=row.organizations,
            dns_names=row.dns_names,
            ip_addresses=row.ip_addresses,
            server=row.server,
            client=row.client,
            authority=row.authority,
        )
        if row.authority:
            starts = now - _BACKDATED if release.ca_backdated else now
            return replace(profile, not_before=starts, not_after=now + cluster.ca_certificate_validity_period)
        return replace(profile, not_before=now - _BACKDATED) if release.leaf_not_before == "start" else profile

    def _fact(
        self,
        row: Row,
        subject: str,
        issuer: str,
        dns_names: Sequence[str],
        ip_addresses: Sequence[str],
        not_after: datetime,
        done: str,
        reason: str,
    ) -> dict[str, Any]:
        where = paths(self._docs, row.name)
        return {
            "name": row.name,
            "path": posixpath.normpath(where.certificate),
            "key_path": posixpath.normpath(where.key),
            "subject": subject,
            "issuer": issuer,
            "dns_names": list(dns_names),
            "ip_addresses": list(ip_addresses),
            "expires": stamp(not_after),
            "external": False,
            "done": done,
            "reason": reason,
        }
