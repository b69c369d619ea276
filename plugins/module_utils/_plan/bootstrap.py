# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The TLS bootstrap of a kubelet, by which a joining host becomes a node."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

_PEM = re.compile(rb"-----BEGIN [A-Z ]*CERTIFICATE[A-Z ]*-----(.*?)-----END ", re.DOTALL)
# The longest text whose length DER writes in one byte; names of nodes are shorter by far.
_SHORT = 127


@dataclass(frozen=True)
class AwaitBootstrap(Action):
    """Wait until the kubelet is healthy and the cluster has given it the certificate that its kubeconfig points at."""

    changes_something = False

    node: str
    kubeconfig: str
    # What the kubelet asks with; by it can be told what became of its request.
    bootstrap_kubeconfig: str
    seconds: float
    # Empty where its health is not waited for.
    health_url: str = ""
    health_seconds: float = 0.0
    # Where the API server that the kubelet asks starts later than the kubelet: what says that it is there.
    late_server_url: str = ""
    poll_seconds: float = 0.2


def user_of(node: str) -> str:
    """The name by which the kubelet of a node is known to the cluster."""
    return f"system:node:{node}"


def names(pem: bytes, common_name: str) -> bool:
    """Tell whether the first certificate, or request for one, in a PEM carries a name, without a library for X.509."""
    found = _PEM.search(pem)
    try:
        der = base64.b64decode(b"".join(found.group(1).split()), validate=True) if found else b""
    except (binascii.Error, ValueError):
        return False
    wanted = common_name.encode()
    # With its length in front, so that the name of another node does not match which only begins with it.
    return len(wanted) <= _SHORT and bytes([len(wanted)]) + wanted in der
