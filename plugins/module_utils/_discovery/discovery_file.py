# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A discovery file: the kubeconfig that somebody wrote for joining nodes, with a cluster and maybe a user in it."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._discovery import cluster_info
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.cluster_info import Cluster
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.discovery import AUTHORITY, HOST, Question

_MEND = "Mend the discovery file, or have another one written by who runs the cluster"

# Reads a file that the discovery file points at; None when there is none.
Reader = Callable[[str], "bytes | None"]


@dataclass(frozen=True)
class User:
    """Who logs in: the names in the file, and the credentials with everything embedded."""

    name: str
    context: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Given:
    """What a discovery file says; without a user somebody else's token is needed."""

    cluster: Cluster
    user: User | None = None
    # How its user would log in, where that is nothing that can be done here.
    unsupported: str = ""

    def question(self) -> Question:
        """Ask for cluster-info as the file's user, if it has one."""
        credentials = self.user.credentials if self.user else {}
        return Question(
            url=self.cluster.server.rstrip("/") + cluster_info.PATH,
            trust=AUTHORITY if self.cluster.authority else HOST,
            authority=self.cluster.authority.decode("ascii", errors="replace"),
            server_name=self.cluster.server_name,
            token=credentials.get("token", ""),
            certificate=_plain(credentials.get("client-certificate-data", "")),
            key=_plain(credentials.get("client-key-data", "")),
        )


def given(where: str, content: bytes, read: Reader | None) -> Given:
    """Take cluster and user from a discovery file; ``read`` is None when it came from elsewhere and may not point at our files."""
    document = cluster_info.load(where, content, _MEND)
    pointing = _Pointing(where, read)
    entry = cluster_info.cluster_entry(where, document, _MEND)
    cluster = cluster_info.cluster(where, entry, _MEND)
    if not cluster.authority:
        authority = pointing.content(entry, "certificate-authority")
        cluster = cluster_info.judged(where, replace(cluster, authority=authority), _MEND)
    current = str(document.get("current-context") or "")
    context = cluster_info.named(document, "contexts", "context").get(current)
    name = str(context.get("user") or "") if context else ""
    user = cluster_info.named(document, "users", "user").get(name, {}) if name else {}
    credentials = _credentials(where, user, pointing)
    if credentials:
        return Given(cluster, User(name, current, credentials))
    return Given(cluster, unsupported=next((way for way in ("exec", "auth-provider", "username") if user.get(way)), ""))


def _credentials(where: str, entry: Mapping[str, Any], pointing: _Pointing) -> dict[str, str]:
    credentials = {"token": str(entry.get("token") or "") or pointing.content(entry, "tokenFile").decode(errors="replace").strip()}
    for field_name in ("client-certificate", "client-key"):
        data = cluster_info.decoded(where, entry, f"{field_name}-data", _MEND) or pointing.content(entry, field_name)
        credentials[f"{field_name}-data"] = base64.b64encode(data).decode()
    found = {key: value for key, value in credentials.items() if value}
    if len(found) == 1 and "token" not in found:
        raise Unusable(where, "its user has a client certificate or a key, but not both", _MEND)
    if any(not character.isprintable() or not character.isascii() for character in found.get("token", "")):
        raise Unusable(where, "the token of its user has characters in it that no token has", _MEND)
    return found


class _Pointing:
    """Follows a kubeconfig to the files that it points at."""

    def __init__(self, where: str, read: Reader | None) -> None:
        self._where = where
        self._read = read

    def content(self, holder: Mapping[str, Any], name: str) -> bytes:
        path = str(holder.get(name) or "")
        if not path:
            return b""
        if self._read is None:
            raise Unusable(self._where, f"its {name} points at a file on this host, which somebody else's kubeconfig may not", _MEND)
        found = self._read(posixpath.join(posixpath.dirname(self._where), path))
        if found is None:
            raise Unusable(self._where, f"its {name} points at {path}, which does not exist", _MEND)
        return found


def _plain(data: str) -> str:
    return base64.b64decode(data).decode("ascii", errors="replace")
