# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who we are to the API server and whom we trust: read from one kubeconfig file, and from nowhere else."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_MEND = "Run the kubeconfig phase, or restore the file from a backup"


@dataclass(frozen=True)
class Credentials:
    """What one TLS client needs; PEM texts, of which the key never leaves this process."""

    server: str
    authority: str
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


def load(files: Any, path: str) -> Credentials:
    """Follow the current context of a kubeconfig to its server, its authority and its user."""
    state = files.read(path)
    if state is None:
        raise Unusable(path, "there is no such kubeconfig on this host", "Run the kubeconfig phase first")
    try:
        document = yaml.safe_load(state.content)
    except (yaml.YAMLError, UnicodeDecodeError):
        raise Unusable(path, "it is not valid YAML", _MEND) from None
    if not isinstance(document, dict):
        raise Unusable(path, "it is not a kubeconfig", _MEND)
    reader = _Reader(files, path, document)
    context = reader.entry("contexts", document.get("current-context"), "context")
    cluster = reader.entry("clusters", context.get("cluster"), "cluster")
    user = reader.entry("users", context.get("user"), "user")
    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise Unusable(path, "its server is no https URL", _MEND)
    authority = reader.pem(cluster, "certificate-authority")
    if not authority:
        raise Unusable(path, "it names no certificate authority, so the server could be anybody", _MEND)
    certificate, key = reader.pem(user, "client-certificate"), reader.pem(user, "client-key")
    token = str(user.get("token") or "")
    if not token and not (certificate and key):
        raise Unusable(path, "its user has neither a client certificate with its key nor a token", _MEND)
    return Credentials(server, authority, certificate, key, token)


def usable(files: Any, path: str) -> bool:
    """Say whether a kubeconfig leads to a server and to credentials: a kubelet writes its own before its certificate is there."""
    try:
        load(files, path)
    except Unusable:
        return False
    return True


class _Reader:
    """Looks things up in a kubeconfig, with the file's name in every complaint."""

    def __init__(self, files: Any, path: str, document: dict[str, Any]) -> None:
        self._files = files
        self._path = path
        self._document = document

    def entry(self, group: str, name: Any, kind: str) -> dict[str, Any]:
        entries = self._document.get(group)
        for each in entries if isinstance(entries, list) else ():
            if isinstance(each, dict) and each.get("name") == name and isinstance(each.get(kind), dict):
                found: dict[str, Any] = each[kind]
                return found
        raise Unusable(self._path, f"its current context leads to no {kind} named {name!r}", _MEND)

    def pem(self, holder: dict[str, Any], name: str) -> str:
        """Take a PEM from where it is embedded, else from the file that is named."""
        embedded = holder.get(f"{name}-data")
        if embedded:
            try:
                return base64.b64decode(str(embedded), validate=True).decode("ascii")
            except (binascii.Error, ValueError):
                raise Unusable(self._path, f"its {name}-data is not a PEM in base64", _MEND) from None
        pointed_at = str(holder.get(name) or "")
        if not pointed_at:
            return ""
        state = self._files.read(pointed_at)
        if state is None:
            raise Unusable(self._path, f"it points at {pointed_at}, which does not exist", _MEND)
        return str(state.content.decode("ascii", errors="replace"))
