# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The comparison: two rendered trees as facts, and every field in which they differ."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ansible_collections.kubephase.cluster.tests.parity.kubeconfig_facts import kubeconfig_facts
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering
from ansible_collections.kubephase.cluster.tests.parity.x509_facts import (
    Facts,
    Window,
    certificate_facts,
    load_private,
    private_key_facts,
    public_bytes,
    public_key_facts,
)

TreeFacts = dict[str, Facts]
ABSENT = "absent"


@dataclass(frozen=True)
class Difference:
    """One field that the two trees do not agree on."""

    path: str
    field: str
    kubeadm: str
    ours: str

    def __str__(self) -> str:
        if "\n" in self.kubeadm + self.ours:
            lines = difflib.unified_diff(self.kubeadm.splitlines(), self.ours.splitlines(), "kubeadm", "ours", lineterm="")
            return "\n    ".join((f"{self.path}: {self.field}", *lines))
        return f"{self.path}: {self.field}\n    kubeadm: {self.kubeadm}\n    ours:    {self.ours}"


@dataclass(frozen=True)
class Comparison:
    """What comparing two trees found, and how much it looked at."""

    fields: int
    differences: tuple[Difference, ...]


def authorities_of(root: Path) -> dict[str, x509.Certificate]:
    """The CA certificates of a tree by their path."""
    found: dict[str, x509.Certificate] = {}
    for path in sorted(root.rglob("*.crt")):
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
            constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        except (ValueError, x509.ExtensionNotFound):
            continue
        if constraints.ca:
            found[path.relative_to(root).as_posix()] = certificate
    return found


def half_beside(path: Path) -> bytes | None:
    """The public key of what lies beside a private key: its certificate or its public half."""
    certificate, public = path.with_suffix(".crt"), path.with_suffix(".pub")
    if certificate.exists():
        return public_bytes(x509.load_pem_x509_certificate(certificate.read_bytes()).public_key())
    if public.exists():
        return public_bytes(serialization.load_pem_public_key(public.read_bytes()))
    return None


class Tree:
    """A rendered tree being read."""

    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering
        self.window = Window(rendering.started, rendering.ended)
        self.authorities = authorities_of(rendering.root)

    def ca_file(self) -> bytes:
        """The bytes of the cluster's ca.crt."""
        for name in self.authorities:
            if Path(name).name == "ca.crt" and Path(name).parent.name != "etcd":
                return (self.rendering.root / name).read_bytes()
        return b""

    def content_facts(self, path: Path) -> Facts:
        """What there is to compare inside one file."""
        data = path.read_bytes()
        if path.suffix == ".crt":
            return certificate_facts(data, self.authorities, self.window)
        if path.suffix == ".key":
            return private_key_facts(data, half_beside(path))
        if path.suffix == ".pub":
            private = path.with_suffix(".key")
            partner = public_bytes(load_private(private.read_bytes()).public_key()) if private.exists() else None
            return public_key_facts(data, partner)
        if path.suffix == ".conf":
            return kubeconfig_facts(data, self.ca_file(), self.authorities, self.window)
        return {"content": repr(data)}

    def path_facts(self, path: Path) -> Facts:
        """Kind and mode of a path, and its content: as facts, or as kept or changed where it had been given."""
        status = path.lstat()
        facts = {"mode": f"{stat.S_IMODE(status.st_mode):04o}"}
        if stat.S_ISDIR(status.st_mode):
            return {**facts, "kind": "directory"}
        if not stat.S_ISREG(status.st_mode):
            return {**facts, "kind": "neither file nor directory"}
        facts["kind"] = "file"
        given = self.rendering.given / path.relative_to(self.rendering.root)
        if given.exists():
            return {**facts, "given": "kept" if given.read_bytes() == path.read_bytes() else "changed"}
        try:
            return {**facts, **self.content_facts(path)}
        except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as problem:
            return {**facts, "unreadable": f"{type(problem).__name__}: {problem}"}

    def facts(self) -> TreeFacts:
        """Every path of the tree with its facts."""
        root = self.rendering.root
        return {path.relative_to(root).as_posix(): self.path_facts(path) for path in sorted(root.rglob("*"))}


def compare_facts(kubeadm: Mapping[str, Facts], ours: Mapping[str, Facts]) -> Comparison:
    """Every field of either side, and those that differ; a path that only one side has is one difference."""
    differences: list[Difference] = []
    fields = 0
    for path in sorted({*kubeadm, *ours}):
        if path not in kubeadm or path not in ours:
            fields += 1
            differences.append(Difference(path, "exists", str(path in kubeadm), str(path in ours)))
            continue
        theirs, mine = kubeadm[path], ours[path]
        for field in dict.fromkeys([*theirs, *mine]):
            fields += 1
            if theirs.get(field, ABSENT) != mine.get(field, ABSENT):
                differences.append(Difference(path, field, theirs.get(field, ABSENT), mine.get(field, ABSENT)))
    return Comparison(fields, tuple(differences))


def compare(kubeadm: Rendering, ours: Rendering) -> Comparison:
    """Compare two rendered trees field by field."""
    return compare_facts(Tree(kubeadm).facts(), Tree(ours).facts())
