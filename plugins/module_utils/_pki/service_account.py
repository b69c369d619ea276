# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The key pair that signs service account tokens: never overwritten, since every token in use depends on it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import fingerprint, load_private_key, load_public_keys
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.table import SERVICE_ACCOUNT, key_algorithm
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Change, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import GenerateKeyPair, WritePublicKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, RequireFile


def paths(docs: Documents) -> tuple[str, str]:
    """Say where the private and the public key lie."""
    base = posixpath.join(docs.cluster.certificates_dir, SERVICE_ACCOUNT)
    return f"{base}.key", f"{base}.pub"


def plan(docs: Documents, files: Mapping[str, FileState]) -> tuple[Change | None, dict[str, Any]]:
    """Make the pair where there is none, complete it where only the public half is missing, otherwise leave it."""
    private, public = paths(docs)
    private_file, public_file = files.get(private), files.get(public)
    if private_file is None:
        if public_file is not None:
            raise Unusable(
                private,
                f"the service account key is missing, but its public half {public} is there",
                "Restore sa.key, or move sa.pub away too: a new pair makes every token that was signed so far invalid",
            )
        if docs.joining:
            return must_be_brought(private), _fact(private, public, "kept", "")
        algorithm = key_algorithm(docs)
        action: Action = GenerateKeyPair(algorithm, private, public)
        return _change(private, public, "it does not exist", f"{algorithm} key pair\n", action, "issued")
    key = load_private_key(private, private_file.content)
    if public_file is None:
        return _change(private, public, "sa.pub is missing", "public half of sa.key\n", WritePublicKey(private, public), "completed")
    if fingerprint(key.public_key()) not in load_public_keys(public, public_file.content):
        raise Unusable(
            public,
            "it does not hold the public half of sa.key",
            "Restore the matching pair, or move sa.pub away to have it derived from sa.key",
        )
    return None, _fact(private, public, "kept", "")


def must_be_brought(path: str) -> Change:
    """Stop before a host that joins makes what all control planes share: a second one would split the cluster."""
    fix = "All control planes share it, so that one that joins may not make it: fetch it with download_certs, or copy it here"
    return Change(path, "it has to be brought here first", "", "", RequireFile(path, fix))


def _change(private: str, public: str, reason: str, after: str, action: Action, done: str) -> tuple[Change, dict[str, Any]]:
    target = private if done == "issued" else public
    return Change(target, reason, "", after, action), _fact(private, public, done, reason)


def _fact(private: str, public: str, done: str, reason: str) -> dict[str, Any]:
    return {
        "name": SERVICE_ACCOUNT,
        "path": posixpath.normpath(public),
        "key_path": posixpath.normpath(private),
        "subject": "",
        "issuer": "",
        "dns_names": [],
        "ip_addresses": [],
        "expires": "",
        "external": False,
        "done": done,
        "reason": reason,
    }
