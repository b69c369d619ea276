# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of kubeconfig files: what they say, and how they are laid out on disk."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

import yaml
from cryptography import x509

from ansible_collections.kubephase.cluster.tests.parity.x509_facts import (
    Facts,
    Window,
    certificate_facts,
    pem_blocks,
    private_key_facts,
    public_bytes,
)

EMBEDDED = re.compile(r"(-data: )\S+")


def only(entries: Any) -> dict[str, Any]:
    """The one entry that kubeadm puts into each list."""
    if not isinstance(entries, list) or len(entries) != 1:
        raise ValueError(f"expected a list of one entry, found {entries!r:.80}")
    entry: dict[str, Any] = entries[0]
    return entry


def authority_fact(embedded: bytes, ca_file: bytes) -> str:
    """How the embedded CA relates to ca.crt; the file may be a bundle."""
    if embedded == ca_file:
        return "all of ca.crt"
    if pem_blocks(embedded) == pem_blocks(ca_file)[:1]:
        return "the first certificate of ca.crt"
    return "something else than ca.crt"


def credential_facts(user: Mapping[str, str], authorities: Mapping[str, x509.Certificate], window: Window) -> Facts:
    """Facts of the client certificate and of its key, as of those on disk."""
    certificate = base64.b64decode(user["client-certificate-data"], validate=True)
    key = base64.b64decode(user["client-key-data"], validate=True)
    partner = public_bytes(x509.load_pem_x509_certificate(certificate).public_key())
    facts = {f"client certificate: {field}": value for field, value in certificate_facts(certificate, authorities, window).items()}
    facts.update({f"client key: {field}": value for field, value in private_key_facts(key, partner).items()})
    return facts


def kubeconfig_facts(data: bytes, ca_file: bytes, authorities: Mapping[str, x509.Certificate], window: Window) -> Facts:
    """Every comparable fact of a kubeconfig file."""
    text = data.decode("utf-8")
    content = yaml.safe_load(text)
    cluster, context, user = only(content["clusters"]), only(content["contexts"]), only(content["users"])
    embedded = base64.b64decode(cluster["cluster"]["certificate-authority-data"], validate=True)
    return {
        "layout": EMBEDDED.sub(r"\1…", text),
        "keys": ", ".join(content),
        "server": str(cluster["cluster"]["server"]),
        "cluster": str(cluster["name"]),
        "context": str(context["name"]),
        "context cluster": str(context["context"]["cluster"]),
        "context user": str(context["context"]["user"]),
        "current context": str(content["current-context"]),
        "user": str(user["name"]),
        "preferences": repr(content.get("preferences", "absent")),
        "authority": authority_fact(embedded, ca_file),
        **credential_facts(user["user"], authorities, window),
    }
