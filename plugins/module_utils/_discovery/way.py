# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a host is to find its cluster: what the documents say, and what the task says instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_endpoint, url_parts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import BootstrapTokenDiscovery, Discovery
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import shown
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pins
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import split

_PIN = re.compile(r"sha256:[0-9a-f]{64}", re.IGNORECASE)
_BY_TOKEN = "JoinConfiguration.discovery.bootstrapToken"  # noqa: S105 - the name of a field
_BY_FILE = "JoinConfiguration.discovery.file.kubeConfigPath"


@dataclass(frozen=True)
class _ByServer:
    """Ask an API server for cluster-info."""

    endpoint: str
    # Of the authorities that are believed.
    pins: tuple[str, ...]
    # The token that the kubelet logs in with.
    login: str = field(repr=False)

    @property
    def server(self) -> str:
        """The address that is asked."""
        return f"https://{self.endpoint}"


@dataclass(frozen=True)
class ByToken(_ByServer):
    """Believe what it says if the token's secret signed it; without pins, whoever it is."""

    identifier: str
    secret: str = field(repr=False)

    name = "token"


@dataclass(frozen=True)
class ByAuthority(_ByServer):
    """Believe it if it shows a certificate of an authority that is known already, and nobody else."""

    authority: str = field(repr=False)

    name = "authority"


@dataclass(frozen=True)
class ByFile:
    """Believe a kubeconfig on the host, or at an https address; without a token its own user logs in."""

    location: str
    login: str = field(default="", repr=False)

    @property
    def remote(self) -> bool:
        """Whether it has to be fetched."""
        return self.location.startswith("https://")

    @property
    def shown(self) -> str:
        """The location for messages; what follows a question mark may be a secret."""
        return self.location.partition("?")[0] if self.remote else self.location

    @property
    def name(self) -> str:
        """What the way is called in results."""
        return "https" if self.remote else "file"


Way = Union[ByToken, ByAuthority, ByFile]


def way(docs: Documents, options: Mapping[str, Any]) -> Way | None:
    """Settle how the cluster is found; None when no token is known yet."""
    discovery = docs.join.discovery if docs.join is not None else Discovery()
    token, login = options.get("token") or "", options.get("tls_bootstrap_token") or ""
    if login:
        split(login, "tls_bootstrap_token")
    if discovery.file is not None and not options.get("api_server_endpoint"):
        if token:
            split(token, "token")
        return _by_file(discovery.file.kube_config_path, login or token)
    if not token:
        return None
    identifier, secret = split(token, "token")
    given = discovery.bootstrap_token or BootstrapTokenDiscovery()
    if options.get("ca_cert"):
        return _by_authority(_endpoint(docs, options, given), options["ca_cert"], login or token)
    wanted = _pins(options.get("ca_cert_hashes") or given.ca_cert_hashes)
    if not wanted and not given.unsafe_skip_ca_verification:
        raise Unusable(
            "ca_cert_hashes",
            "no pin of the cluster's certificate authority is given, so that whoever has the token could be the cluster",
            f"Give one, or {_BY_TOKEN}.caCertHashes; {_BY_TOKEN}.unsafeSkipCAVerification does without",
        )
    return ByToken(_endpoint(docs, options, given), wanted, login or token, identifier, secret)


def _by_authority(endpoint: str, authority: str, login: str) -> ByAuthority:
    try:
        return ByAuthority(endpoint, pins(authority.encode()), login, authority)
    except ValueError as error:
        raise Unusable("ca_cert", f"it is of no use: {error}", "Give the certificate authority of the cluster in PEM") from None


def _by_file(location: str, login: str) -> ByFile:
    found = ByFile(location, login)
    if "://" not in location:
        return found
    parts = url_parts(location)
    if parts is None or not found.remote or parse_endpoint(parts[1].partition("/")[0].partition("?")[0].lower()) is None:
        shown_part = shown(location.partition("?")[0]) if "@" not in location else "an address with a name or password in it"
        raise Unusable(_BY_FILE, f"{shown_part} cannot be used", "Give a path on the host, or an https URL of host, port and path")
    return found


def _endpoint(docs: Documents, options: Mapping[str, Any], given: BootstrapTokenDiscovery) -> str:
    """Take the endpoint of the task, the one of the documents for discovery, or that of the cluster."""
    asked = str(options.get("api_server_endpoint") or "")
    endpoint = asked[len("https://") :] if asked.startswith("https://") else asked
    endpoint = endpoint.rstrip("/") or given.api_server_endpoint or docs.cluster.control_plane_endpoint
    parsed = parse_endpoint(endpoint.lower()) if endpoint else None
    if parsed is None or parsed[1] is None:
        found = f"{shown(endpoint)} is not host:port of an API server" if endpoint else "no API server is named"
        raise Unusable("api_server_endpoint", found, f"Give one, such as 192.0.2.10:6443, or {_BY_TOKEN}.apiServerEndpoint")
    return endpoint


def _pins(given: Any) -> tuple[str, ...]:
    for pin in given:
        if not _PIN.fullmatch(pin):
            raise Unusable("ca_cert_hashes", f"{shown(pin)} is no pin", "Give sha256: and 64 hexadecimal digits")
    return tuple(given)
