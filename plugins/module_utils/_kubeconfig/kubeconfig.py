# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubeconfig phase: which files must be written, and which are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import Kubeconfig, fresh, parse, renewed
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.table import Row, rows, user_row
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import Certificate, load_certificates, stamp, subject_line
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.table import key_algorithm, paths
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import IssueKubeconfig, Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, tightened

_BACKDATED = timedelta(minutes=5)


@dataclass(frozen=True)
class Observed:
    """The authority, the kubeconfig files and the CA files that they point at."""

    authority: FileState | None
    has_key: bool
    files: Mapping[str, FileState]
    now: datetime


class KubeconfigPhase:
    """kubeadm's kubeconfig phase, and `kubeadm kubeconfig user`, as read and plan."""

    name = "kubeconfig"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read the CA and every wanted file that is there."""
        where = paths(docs, "ca")
        files = {}
        for row in _wanted(docs, options):
            state = world.files.read(row.path)
            if state is None:
                continue
            files[row.path] = state
            pointed_at = _referred_authority(state)
            if pointed_at:
                authority = world.files.read(pointed_at)
                if authority is not None:
                    files[pointed_at] = authority
        return Observed(world.files.read(where.certificate), world.files.read(where.key) is not None, files, world.clock.now())

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide for each file whether it is kept or written."""
        planner = _Planner(docs, seen, options)
        for row in _wanted(docs, options):
            planner.visit(row)
        if planner.findings:
            raise ManyUnusable(tuple(planner.findings))
        return Plan(tuple(planner.changes), {"kubeconfigs": planner.facts}, tuple(planner.warnings))


def _wanted(docs: Documents, options: Mapping[str, Any]) -> tuple[Row, ...]:
    if options.get("client_name"):
        return (user_row(docs, options),)
    names = options.get("names")
    return tuple(row for row in rows(docs) if not names or row.name in names)


def _referred_authority(state: FileState) -> str:
    try:
        return parse(state.path, state.content).authority_file
    except Unusable:
        return ""  # the plan reports it, with all other findings


class _Planner:
    """Gathers changes, facts and findings over the files."""

    def __init__(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> None:
        self._docs = docs
        self._seen = seen
        self._renew_before: timedelta = options.get("renew_before") or timedelta(0)
        self._exact_subject = bool(options.get("client_name"))
        self._issuer = paths(docs, "ca")
        self._anchors: tuple[Certificate, ...] = ()
        if seen.authority is not None:
            self._anchors = load_certificates(self._issuer.certificate, seen.authority.content)
        self.changes: list[Change] = []
        self.facts: list[dict[str, Any]] = []
        self.findings: list[Unusable] = []
        self.warnings: list[str] = []
        if seen.authority is None:
            self.warnings.append(f"{self._issuer.certificate} is not there yet: the certs phase has to make it first")

    def visit(self, row: Row) -> None:
        """Plan one file; a finding is kept for the common report."""
        try:
            self._plan_file(row)
        except Unusable as finding:
            self.findings.append(finding)

    def _plan_file(self, row: Row) -> None:
        state = self._seen.files.get(row.path)
        if state is None:
            self._write(row, "it does not exist", "", fresh(self._docs.cluster.cluster_name, row.user, row.server, self._preferences))
            return
        found = parse(row.path, state.content)
        self._judge(row, found)
        certificate = self._client(row, found)
        reason = self._stale(row, certificate)
        if reason and not self._exact_subject and not self._can_sign and certificate and certificate.not_after > self._seen.now:
            self.warnings.append(f"{row.path}: {reason}, and only your external CA can renew it")
            reason = ""
        if reason:
            self._write(row, reason, self._lines(row, found.server, certificate), renewed(found), found.server)
            return
        self._keep(row, state, found, certificate)

    @property
    def _preferences(self) -> bool:
        return self._docs.known_release.kubeconfig_preferences

    @property
    def _can_sign(self) -> bool:
        return self._seen.has_key or self._seen.authority is None

    def _judge(self, row: Row, found: Kubeconfig) -> None:
        """Apply kubeadm's rules for a file that exists: another CA is refused, another server is only spoken of."""
        if not self._trusts_cluster(row, found):
            raise Unusable(
                row.path,
                f"it trusts another certificate authority than {self._issuer.certificate}",
                "It belongs to another cluster: move it away to have it written anew, or put back the CA that it trusts",
            )
        if found.server != row.server:
            self.warnings.append(f"{row.path} names the server {found.server}, the documents say {row.server}: kept, as kubeadm does")

    def _trusts_cluster(self, row: Row, found: Kubeconfig) -> bool:
        authority = found.authority
        if not authority and found.authority_file in self._seen.files:
            authority = self._seen.files[found.authority_file].content
        if not self._anchors or not authority.strip():
            return False
        first = load_certificates(row.path, authority)[0]
        expected: Sequence[Certificate] = self._anchors[:1] if self._seen.has_key else self._anchors
        if self._docs.known_release.kubeconfig_ca_match == "bytes" and self._seen.authority is not None and self._seen.has_key:
            return len(load_certificates(row.path, authority)) == 1 and first.parsed == expected[0].parsed
        return any(first.parsed == each.parsed for each in expected)

    def _client(self, row: Row, found: Kubeconfig) -> Certificate | None:
        return load_certificates(row.path, found.certificate)[0] if found.certificate else None

    def _stale(self, row: Row, certificate: Certificate | None) -> str:
        """Say why the embedded client certificate must be renewed, or nothing; one in a file of its own is the kubelet's business."""
        if certificate is None:
            return ""
        if certificate.not_after <= self._seen.now:
            return f"its client certificate expired on {stamp(certificate.not_after)}"
        if certificate.not_after - self._seen.now < self._renew_before:
            return f"its client certificate expires on {stamp(certificate.not_after)}, sooner than renew_before allows"
        if self._exact_subject and (certificate.common_name, set(certificate.organizations)) != (row.user, set(row.organizations)):
            return f"its client certificate is for {certificate.subject}"
        return ""

    def _write(self, row: Row, reason: str, before: str, template: str, server: str = "") -> None:
        if not self._can_sign:
            raise Unusable(
                row.path,
                f"{reason}, and {self._issuer.key} is not on this host (external CA)",
                f"Provide the file, with a client certificate for {subject_line(row.user, row.organizations)} and the server {row.server}",
            )
        release = self._docs.known_release
        renewal = bool(before)
        profile = Profile(
            common_name=row.user,
            organizations=row.organizations,
            client=True,
            not_before=self._seen.now - _BACKDATED if renewal and release.leaf_not_before == "start" else None,
            not_after=self._seen.now + row.validity,
        )
        algorithm = key_algorithm(self._docs) if release.kubeconfig_keys_follow_algorithm else "RSA-2048"
        action = IssueKubeconfig(profile, algorithm, self._issuer, row.path, template)
        after = self._describe(server or row.server, subject_line(row.user, row.organizations), profile.not_after)
        self.changes.append(Change(row.path, reason, before, after, action))
        self.facts.append(self._fact(row, server or row.server, stamp(profile.not_after), "renewed" if renewal else "issued", reason))

    def _keep(self, row: Row, state: FileState, found: Kubeconfig, certificate: Certificate | None) -> None:
        fact = self._fact(row, found.server, stamp(certificate.not_after) if certificate else "", "kept", "")
        change = tightened(state, 0o600)
        if change is not None:
            self.changes.append(change)
            fact.update(done="mode", reason=change.reason)
        self.facts.append(fact)

    def _lines(self, row: Row, server: str, certificate: Certificate | None) -> str:
        return self._describe(server, certificate.subject, certificate.not_after) if certificate else self._describe(server, row.user, None)

    @staticmethod
    def _describe(server: str, subject: str, not_after: datetime | None) -> str:
        return f"server: {server}\nsubject: {subject}\nexpires: {stamp(not_after) if not_after else 'never'}\n"

    @staticmethod
    def _fact(row: Row, server: str, expires: str, done: str, reason: str) -> dict[str, Any]:
        return {"name": row.name, "path": row.path, "user": row.user, "server": server, "expires": expires, "done": done, "reason": reason}
