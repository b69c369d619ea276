# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certificate and key that the kubelet would load, as they are found on the host."""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import (
    Certificate,
    chains,
    key_matches,
    load_certificates,
    load_private_key,
    stamp,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.store import Store, selected


@dataclass(frozen=True)
class Pair:
    """The certificate that the kubelet would load; with a problem, why it cannot be used."""

    path: str
    chain: tuple[Certificate, ...] = field(default=(), repr=False)
    trusted: bool = False
    problem: str = ""
    mtime: float = 0.0

    @property
    def leaf(self) -> Certificate | None:
        """The certificate itself, if it can be used at all."""
        return None if self.problem or not self.chain else self.chain[0]


def load_pair(docs: Documents, files: Any, store: Store) -> Pair:
    """Load the pair as the kubelet does, and say what it would stumble over."""
    found = selected(store, files.exists)
    if found is None:
        return Pair("")
    certificate, key = (files.read(path) for path in found)
    try:
        chain = load_certificates(found[0], certificate.content)
        private = load_private_key(found[1], _key_part(key.content))
    except Unusable as problem:
        return Pair(found[0], problem=problem.found, mtime=certificate.mtime)
    if not key_matches(chain[0], private):
        return Pair(found[0], chain, problem="its key belongs to another certificate", mtime=certificate.mtime)
    return Pair(found[0], chain, _trusted(docs, files, chain), "", certificate.mtime)


def drawn_from(leaf: Certificate | None) -> float:
    """Draw the moment of rotation from the certificate: different from node to node, and the same in every run."""
    if leaf is None:
        return 0.0
    digest = hashlib.sha256(leaf.parsed.tbs_certificate_bytes).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def certificate_fact(pair: Pair) -> dict[str, Any]:
    if not pair.path:
        return {}
    leaf = pair.chain[0] if pair.chain else None
    return {
        "path": pair.path,
        "subject": leaf.subject if leaf else "",
        "names": [*leaf.dns_names, *leaf.ip_addresses] if leaf else [],
        "expires": stamp(leaf.not_after) if leaf else "",
        "trusted": pair.trusted,
        "problem": pair.problem,
    }


def _key_part(content: bytes) -> bytes:
    """The private key in a file that holds certificates, too."""
    blocks = [b"-----BEGIN " + part for part in content.split(b"-----BEGIN ")[1:]]
    return next((block for block in blocks if b"PRIVATE KEY-----" in block.partition(b"\n")[0]), b"")


def _trusted(docs: Documents, files: Any, chain: tuple[Certificate, ...]) -> bool:
    path = posixpath.join(docs.cluster.certificates_dir, "ca.crt")
    found = files.read(path)
    return found is not None and any(chains(chain[0], chain[1:], each) for each in load_certificates(path, found.content))
