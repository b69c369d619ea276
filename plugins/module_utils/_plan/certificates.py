# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan may ask of the certificate issuer; keys come into being only when such an action is applied."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

AUTHORITY_DATA = "@certificate-authority-data@"
CERTIFICATE_DATA = "@client-certificate-data@"
KEY_DATA = "@client-key-data@"


@dataclass(frozen=True)
class Profile:
    """Everything about a certificate but its key and serial."""

    common_name: str
    not_after: datetime
    not_before: datetime | None = None  # None: that of the issuer
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    server: bool = False
    client: bool = False
    authority: bool = False


@dataclass(frozen=True)
class PairPaths:
    """Where a certificate and its private key lie."""

    certificate: str
    key: str


@dataclass(frozen=True)
class IssueCertificate(Action):
    """Issue a certificate, self-signed without an issuer, for a new key or for the one on disk."""

    profile: Profile
    algorithm: str
    paths: PairPaths
    issuer: PairPaths | None = None
    keep_key: bool = False


@dataclass(frozen=True)
class GenerateKeyPair(Action):
    """Make a private key and its public half as two files."""

    algorithm: str
    private: str
    public: str


@dataclass(frozen=True)
class WritePublicKey(Action):
    """Write the public half of a private key that exists."""

    private: str
    public: str


@dataclass(frozen=True)
class IssueKubeconfig(Action):
    """Issue a client certificate and write it into the kubeconfig whose markers it replaces."""

    profile: Profile
    algorithm: str
    issuer: PairPaths
    path: str
    template: str
