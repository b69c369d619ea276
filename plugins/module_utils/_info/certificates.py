# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every certificate of a host: files of the cluster's PKI, those that kubeconfigs embed, and the kubelet's own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._info.unread import Unread
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import parse
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import rotating_certificate, serving_certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import Certificate, load_certificates, stamp
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState

PART = "certificates"
# Who uses a certificate: the control plane by its file, a component by its kubeconfig, or the kubelet of this host.
PKI, KUBECONFIG, KUBELET = "pki", "kubeconfig", "kubelet"

_DIRECTORY = "/etc/kubernetes"
_SECONDS_OF_A_DAY = 86400
# What a kubelet signs for itself while nobody else does.
_SELF_SIGNED = "kubelet.crt"


def certificates(docs: Documents, files: Any, now: datetime, unread: Unread) -> list[dict[str, Any]]:
    """Look into all of them; one that cannot be read is taken down, and the others are told."""
    found: list[dict[str, Any]] = []
    for kind, path in _places(docs, files):
        none: tuple[Certificate, ...] = ()
        loaded = unread.attempt(PART, partial(_loaded, kind, path, files), none)
        found += [_fact(kind, path, index, each, now) for index, each in enumerate(loaded)]
    return found


def _places(docs: Documents, files: Any) -> Iterator[tuple[str, str]]:
    for path in files.below(docs.cluster.certificates_dir):
        if path.endswith((".crt", ".pem")):
            yield PKI, path
    for path in files.below(_DIRECTORY):
        if posixpath.dirname(path) == _DIRECTORY and path.endswith(".conf"):
            yield KUBECONFIG, path
    client, serving = rotating_certificate(docs), serving_certificate(docs)
    own = posixpath.join(posixpath.dirname(client), _SELF_SIGNED)
    # Once its serving certificate was signed by the cluster, the one that it had made itself is of no use any more.
    for path in (client, serving if files.exists(serving) else own):
        if files.exists(path):
            yield KUBELET, path


def _loaded(kind: str, path: str, files: Any) -> tuple[Certificate, ...]:
    state: FileState | None = files.read(path)
    if state is None:
        raise Unusable(path, "it is a link that leads nowhere", "Restore what it pointed at")
    if kind != KUBECONFIG:
        return load_certificates(path, state.content)
    embedded = parse(path, state.content).certificate
    # One that points at a file of the kubelet's, or logs in with a token, embeds none.
    return load_certificates(path, embedded)[:1] if embedded else ()


def _fact(kind: str, path: str, index: int, found: Certificate, now: datetime) -> dict[str, Any]:
    return {
        "path": path,
        "kind": kind,
        # In a file with several, which one it is; a leaf comes before what signed it.
        "position": index,
        "subject": found.subject,
        "issuer": found.issuer,
        "names": [*found.dns_names, *found.ip_addresses],
        "authority": found.authority,
        "not_before": stamp(found.not_before),
        "not_after": stamp(found.not_after),
        "days_left": int((found.not_after - now).total_seconds() // _SECONDS_OF_A_DAY),
    }
