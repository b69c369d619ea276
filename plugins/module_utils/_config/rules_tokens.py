# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for tokens and discovery: what init hands out and join comes with."""

from __future__ import annotations

import re
from datetime import timedelta

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_endpoint, split_host_port, url_parts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    TOKEN_USAGES,
    BootstrapToken,
    BootstrapTokenDiscovery,
    Discovery,
    InitConfiguration,
    JoinConfiguration,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import is_absolute_path
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shape, shown

_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_CERTIFICATE_KEY = re.compile(r"[0-9a-fA-F]{64}")
_PIN = re.compile(r"sha256:[0-9a-fA-F]{64}", re.IGNORECASE)
_WELL_FORMED = "a token: 6 characters, a dot and 16 characters, all of a-z and 0-9"


def check_init_tokens(init: InitConfiguration, findings: Findings) -> None:
    """Judge the tokens that init creates and its certificate key; a token without a value is made on the node."""
    for index, token in enumerate(init.bootstrap_tokens):
        _check_bootstrap_token(token, f"InitConfiguration.bootstrapTokens[{index}]", findings)
    _check_certificate_key(init.certificate_key, "InitConfiguration.certificateKey", findings)


def check_join_tokens(join: JoinConfiguration, secrets_known: bool, findings: Findings) -> None:
    """Judge how the node discovers the cluster; without discovery the role supplies it, with a token of its own."""
    path = "JoinConfiguration"
    if not join.ca_cert_path.startswith("/") or not join.ca_cert_path.endswith(".crt"):
        findings.problem(f"{path}.caCertPath", shown(join.ca_cert_path), "an absolute path that ends in .crt")
    _check_discovery(join.discovery, f"{path}.discovery", secrets_known, findings)
    if join.control_plane is not None:
        _check_certificate_key(join.control_plane.certificate_key, f"{path}.controlPlane.certificateKey", findings)


def _check_bootstrap_token(token: BootstrapToken, path: str, findings: Findings) -> None:
    _check_token(token.token, f"{path}.token", findings)
    if token.ttl is not None and token.expires:
        findings.problem(f"{path}.expires", "both ttl and expires", "either ttl or expires")
    if token.ttl is not None and token.ttl < timedelta(0):
        findings.problem(f"{path}.ttl", format_duration(token.ttl), "0s, which means for ever, or more")
    for index, usage in enumerate(token.usages):
        if usage not in TOKEN_USAGES:
            expected = "one of " + ", ".join(TOKEN_USAGES)
            findings.problem(f"{path}.usages[{index}]", shown(usage), expected, did_you_mean(usage, TOKEN_USAGES))
    if token.groups and "authentication" not in token.usages:
        expected = "authentication among the usages, as a token with groups needs it"
        findings.problem(f"{path}.usages", ", ".join(token.usages)[:80], expected)
    for index, group in enumerate(token.groups):
        if not _GROUP.fullmatch(group):
            findings.problem(f"{path}.groups[{index}]", shown(group), "a group that starts with system:bootstrappers:")


def _check_token(token: str, path: str, findings: Findings) -> None:
    if token and not _TOKEN.fullmatch(token):
        findings.problem(path, shape(token), _WELL_FORMED)


def _check_certificate_key(key: str, path: str, findings: Findings) -> None:
    if key and not _CERTIFICATE_KEY.fullmatch(key):
        findings.problem(path, shape(key), "64 hexadecimal digits, the 32 bytes of an AES key")


def _check_discovery(discovery: Discovery, path: str, secrets_known: bool, findings: Findings) -> None:
    by_token, by_file = discovery.bootstrap_token, discovery.file
    if by_token is not None and by_file is not None:
        findings.problem(path, "both bootstrapToken and file", "either bootstrapToken or file")
        return
    if by_token is None or discovery.tls_bootstrap_token != by_token.token:
        _check_token(discovery.tls_bootstrap_token, f"{path}.tlsBootstrapToken", findings)
    if by_token is not None:
        _check_token_discovery(by_token, f"{path}.bootstrapToken", secrets_known, findings)
    if by_file is not None:
        _check_kubeconfig(by_file.kube_config_path, f"{path}.file.kubeConfigPath", findings)


def _check_token_discovery(by_token: BootstrapTokenDiscovery, path: str, secrets_known: bool, findings: Findings) -> None:
    if secrets_known and not by_token.token:
        findings.problem(f"{path}.token", "nothing", _WELL_FORMED)
    _check_token(by_token.token, f"{path}.token", findings)
    endpoint = by_token.api_server_endpoint
    if split_host_port(endpoint) is None or (parse_endpoint(endpoint) or ("", None))[1] is None:
        hint = "Leave the scheme away." if "://" in endpoint else ""
        findings.problem(f"{path}.apiServerEndpoint", shown(endpoint), "host:port of an API server", hint)
    if not by_token.ca_cert_hashes and not by_token.unsafe_skip_ca_verification:
        hint = "unsafeSkipCAVerification: true trusts whoever answers."
        findings.problem(f"{path}.caCertHashes", "nothing", "at least one sha256:… pin of the cluster's CA", hint)
    for index, pin in enumerate(by_token.ca_cert_hashes):
        if not _PIN.fullmatch(pin):
            # kubeadm notices only after it has talked to the cluster.
            findings.problem(f"{path}.caCertHashes[{index}]", shown(pin), "sha256: and 64 hexadecimal digits")


def _check_kubeconfig(location: str, path: str, findings: Findings) -> None:
    expected = "an absolute path on the node, or an https URL"
    scheme = location.partition("://")[0] if "://" in location else ""
    usable = scheme == "https" and url_parts(location) is not None if scheme else is_absolute_path(location)
    if not usable:
        findings.problem(path, shown(location), expected)
