# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster as a kubeconfig describes it to somebody who does not know it yet: where it is, and whom it trusts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_endpoint, url_parts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import shown
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pins
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.discovery import Answer

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

PATH = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
KUBECONFIG = "kubeconfig"
# A kubeconfig with a bundle of authorities has some ten thousand characters; YAML can be made to take very long.
_LONGEST = 256 * 1024

_OTHER = "Whoever answers there is not the API server of a cluster that kubeadm made: mend the address"


@dataclass(frozen=True)
class Cluster:
    """Where a cluster is and its authorities, in PEM; those may be missing in a discovery file, until cluster-info adds them."""

    server: str
    authority: bytes = field(default=b"", repr=False)
    server_name: str = ""

    @property
    def pins(self) -> tuple[str, ...]:
        """The pins of its authorities."""
        return pins(self.authority)


def config_map(where: str, answer: Answer) -> Mapping[str, str]:
    """Read the texts of the ConfigMap that an API server answered with."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise Unusable(where, "what it answers is not JSON", _OTHER) from None
    data = found.get("data") if isinstance(found, dict) and found.get("kind") == "ConfigMap" else None
    if not isinstance(data, dict):
        raise Unusable(where, "what it answers is not the ConfigMap cluster-info", _OTHER)
    return {str(name): value for name, value in data.items() if isinstance(value, str)}


def load(where: str, text: str | bytes, fix: str) -> dict[str, Any]:
    """Read a kubeconfig; whatever else it is, is one error."""
    if len(text) > _LONGEST:
        raise Unusable(where, f"its kubeconfig is longer than {_LONGEST // 1024} KiB", fix)
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Unusable(where, "its kubeconfig is not valid YAML", fix) from None
    if not isinstance(document, dict):
        raise Unusable(where, "it holds no kubeconfig", fix)
    return document


def cluster_entry(where: str, document: Mapping[str, Any], fix: str) -> Mapping[str, Any]:
    """Find the cluster that is meant: one without a name, else that of the current context."""
    clusters = named(document, "clusters", "cluster")
    if not clusters:
        raise Unusable(where, "its kubeconfig has no cluster", fix)
    if "" in clusters:
        return clusters[""]
    context = named(document, "contexts", "context").get(str(document.get("current-context") or ""))
    found = clusters.get(str(context.get("cluster") or "")) if context else None
    if found is None:
        raise Unusable(where, "the current context of its kubeconfig leads to no cluster", fix)
    return found


def cluster(where: str, entry: Mapping[str, Any], fix: str) -> Cluster:
    """Take what is needed of a cluster's entry, and refuse what cannot be trusted."""
    server = str(entry.get("server") or "")
    parts = url_parts(server)
    if parts is None or parts[0] != "https" or parse_endpoint(parts[1].partition("/")[0].lower()) is None:
        raise Unusable(where, f"its kubeconfig names the server {shown(server)}, which is no https URL", fix)
    if entry.get("insecure-skip-tls-verify"):
        raise Unusable(where, "its kubeconfig says insecure-skip-tls-verify, so that anybody could be the server", fix)
    authority = decoded(where, entry, "certificate-authority-data", fix)
    return judged(where, Cluster(server, authority, str(entry.get("tls-server-name") or "")), fix)


def judged(where: str, found: Cluster, fix: str) -> Cluster:
    """Let pass a cluster whose authorities, if there are any, can be read."""
    try:
        if found.authority:
            pins(found.authority)
    except ValueError as error:
        raise Unusable(where, f"the certificate authority in its kubeconfig cannot be read ({error})", fix) from None
    return found


def named(document: Mapping[str, Any], group: str, kind: str) -> dict[str, Mapping[str, Any]]:
    """Index a list of a kubeconfig by name; what has another shape is left out."""
    entries = document.get(group)
    return {
        str(entry.get("name") or ""): entry[kind]
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get(kind), dict)
    }


def decoded(where: str, holder: Mapping[str, Any], name: str, fix: str) -> bytes:
    """Decode what a kubeconfig has embedded."""
    value = holder.get(name) or ""
    try:
        return base64.b64decode(value if isinstance(value, (str, bytes)) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise Unusable(where, f"the {name} in its kubeconfig is not valid base64", fix) from None
