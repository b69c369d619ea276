# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubeconfig files as data: written in kubeadm's layout, read back without surprises."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import AUTHORITY_DATA, CERTIFICATE_DATA, KEY_DATA

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_MEND = "Restore it from a backup, or move it away to have it written anew"


@dataclass(frozen=True)
class Kubeconfig:
    """What the current context of a kubeconfig file leads to."""

    document: dict[str, Any]
    server: str
    authority: bytes
    authority_file: str
    user: dict[str, Any]
    certificate: bytes
    cluster: dict[str, Any]


def fresh(cluster_name: str, user: str, server: str, preferences: bool) -> str:
    """Lay out a kubeconfig whose data the issuer fills in."""
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "clusters": [{"cluster": {"certificate-authority-data": AUTHORITY_DATA, "server": server}, "name": cluster_name}],
        "contexts": [{"context": {"cluster": cluster_name, "user": user}, "name": f"{user}@{cluster_name}"}],
        "current-context": f"{user}@{cluster_name}",
        "kind": "Config",
        "users": [{"name": user, "user": {"client-certificate-data": CERTIFICATE_DATA, "client-key-data": KEY_DATA}}],
    }
    if preferences:
        document["preferences"] = {}
    return dump(document)


def renewed(seen: Kubeconfig) -> str:
    """Lay out an existing kubeconfig with room for new client credentials; all else stays as it is."""
    for stale in ("client-certificate", "client-key"):
        seen.user.pop(stale, None)
    seen.user.update({"client-certificate-data": CERTIFICATE_DATA, "client-key-data": KEY_DATA})
    return dump(seen.document)


def dump(document: dict[str, Any]) -> str:
    """Write YAML as client-go does: keys sorted, no line folded; data markers must stay unquoted."""
    text: str = yaml.dump(
        document, Dumper=_fastest("SafeDumper"), default_flow_style=False, sort_keys=True, width=2**20, allow_unicode=True
    )
    for marker in (AUTHORITY_DATA, CERTIFICATE_DATA, KEY_DATA):
        text = text.replace(f"'{marker}'", marker)
    return text


def parse(path: str, content: bytes) -> Kubeconfig:
    """Follow the current context of a kubeconfig to its cluster and user."""
    try:
        document = yaml.load(content, Loader=_fastest("SafeLoader"))  # noqa: S506 - a safe loader, in C where there is one
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        raise Unusable(path, "it is not valid YAML", _MEND) from None
    if not isinstance(document, dict):
        raise Unusable(path, "it is not a kubeconfig", _MEND)
    context = _entry(path, document, "contexts", document.get("current-context"), "context")
    cluster = _entry(path, document, "clusters", context.get("cluster"), "cluster")
    user = _entry(path, document, "users", context.get("user"), "user")
    return Kubeconfig(
        document=document,
        server=str(cluster.get("server", "")),
        authority=_data(path, cluster, "certificate-authority-data"),
        authority_file=str(cluster.get("certificate-authority") or ""),
        user=user,
        certificate=_data(path, user, "client-certificate-data"),
        cluster=cluster,
    )


def _fastest(name: str) -> Any:
    """Take the C implementation where PyYAML has it."""
    return getattr(yaml, f"C{name}", None) or getattr(yaml, name)


def _entry(path: str, document: dict[str, Any], group: str, name: Any, kind: str) -> dict[str, Any]:
    entries = document.get(group)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
            found: dict[str, Any] = entry[kind]
            return found
    raise Unusable(path, f"its current context leads to no {kind} named {name!r}", _MEND)


def _data(path: str, holder: dict[str, Any], field: str) -> bytes:
    value = holder.get(field) or ""
    try:
        return base64.b64decode(value if isinstance(value, (str, bytes)) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise Unusable(path, f"its {field} is not valid base64", _MEND) from None
