# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for certificates and etcd: names, algorithms, periods, paths, external endpoints."""

from __future__ import annotations

from datetime import timedelta

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import is_host, url_parts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import ClusterConfiguration, Etcd, ExternalEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import (
    is_absolute_path,
    is_dns_subdomain,
    is_wildcard_subdomain,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release

_PATH = "ClusterConfiguration"
_ETCD = f"{_PATH}.etcd"
_RECOMMENDED_LEAF = timedelta(hours=8760)
_RECOMMENDED_CA = timedelta(hours=87600)
# X.509 times end with the year 9999; anything near that is a mistake, and so is a certificate born expired.
_LONGEST = timedelta(days=365 * 200)
# etcd's own client takes sockets of the host as well.
_ETCD_SCHEMES = ("http", "https", "unix", "unixs")


def check_certificates(cluster: ClusterConfiguration, release: Release, findings: Findings) -> None:
    """Judge what the certs phase works from."""
    check_path(cluster.certificates_dir, f"{_PATH}.certificatesDir", findings)
    check_names(cluster.api_server.cert_sans, f"{_PATH}.apiServer.certSANs", findings)
    allowed = release.key_algorithms
    if cluster.encryption_algorithm not in allowed:
        _refuse_algorithm(cluster.encryption_algorithm, release, findings)
    _check_periods(cluster.certificate_validity_period, cluster.ca_certificate_validity_period, findings)


def check_path(path: str, place: str, findings: Findings) -> None:
    """Paths on a node are absolute: Ansible has no working directory there that a person could know."""
    if not is_absolute_path(path):
        findings.problem(place, shown(path), "an absolute path")


def check_names(names: tuple[str, ...], path: str, findings: Findings) -> None:
    """Alternative names are addresses, DNS names or wildcards."""
    for index, name in enumerate(names):
        if not is_host(name) and not is_wildcard_subdomain(name):
            hint = "Write it in lower case." if name != name.lower() and is_dns_subdomain(name.lower()) else ""
            findings.problem(f"{path}[{index}]", shown(name), "an IP address, a DNS name or a DNS name that starts with '*.'", hint)


def _refuse_algorithm(algorithm: str, release: Release, findings: Findings) -> None:
    hint = did_you_mean(algorithm, release.key_algorithms)
    if len(release.key_algorithms) == 1 and algorithm == "ECDSA-P256":
        hint = "In this release the feature gate PublicKeysECDSA asks for it."
    expected = f"one of {', '.join(release.key_algorithms)} in {release.version}"
    findings.problem(f"{_PATH}.encryptionAlgorithm", shown(algorithm), expected, hint)


def _check_periods(leaf: timedelta, ca: timedelta, findings: Findings) -> None:
    leaf_path, ca_path = f"{_PATH}.certificateValidityPeriod", f"{_PATH}.caCertificateValidityPeriod"
    for path, period, recommended in ((leaf_path, leaf, _RECOMMENDED_LEAF), (ca_path, ca, _RECOMMENDED_CA)):
        if not timedelta(0) < period <= _LONGEST:
            findings.problem(path, format_duration(period), f"more than 0s and at most {format_duration(_LONGEST)}")
        elif period > recommended:
            findings.warn(path, f"{format_duration(period)} is longer than the recommended {format_duration(recommended)}")
    if leaf > ca:
        findings.warn(leaf_path, f"{format_duration(leaf)} is longer than the {format_duration(ca)} of the CA that signs")


def check_etcd(etcd: Etcd, findings: Findings) -> None:
    """Either a local etcd or an external one, each complete."""
    if etcd.local is not None and etcd.external is not None:
        findings.problem(_ETCD, "both local and external", "either local or external")
        return
    if etcd.local is not None:
        check_path(etcd.local.data_dir, f"{_ETCD}.local.dataDir", findings)
        check_names(etcd.local.server_cert_sans, f"{_ETCD}.local.serverCertSANs", findings)
        check_names(etcd.local.peer_cert_sans, f"{_ETCD}.local.peerCertSANs", findings)
    if etcd.external is not None:
        _check_external(etcd.external, f"{_ETCD}.external", findings)


def _check_external(external: ExternalEtcd, path: str, findings: Findings) -> None:
    files = {"caFile": external.ca_file, "certFile": external.cert_file, "keyFile": external.key_file}
    for name, value in files.items():
        if value:
            check_path(value, f"{path}.{name}", findings)
    if bool(external.cert_file) != bool(external.key_file):
        missing = "keyFile" if external.cert_file else "certFile"
        findings.problem(f"{path}.{missing}", "nothing", "both certFile and keyFile, or neither")
    elif external.cert_file and not external.ca_file:
        findings.problem(f"{path}.caFile", "nothing", "the CA that belongs to certFile and keyFile")
    if not external.endpoints:
        findings.problem(f"{path}.endpoints", "nothing", "at least one URL such as https://10.0.0.1:2379")
    _check_urls(external.endpoints, any(files.values()), f"{path}.endpoints", findings)
    if external.http_endpoints != external.endpoints:
        _check_urls(external.http_endpoints, False, f"{path}.httpEndpoints", findings)


def _check_urls(urls: tuple[str, ...], tls: bool, path: str, findings: Findings) -> None:
    for index, url in enumerate(urls):
        parts = url_parts(url)
        if parts is None or parts[0] not in _ETCD_SCHEMES:
            findings.problem(f"{path}[{index}]", shown(url), "a URL such as https://10.0.0.1:2379")
        elif tls and parts[0] != "https":
            findings.problem(f"{path}[{index}]", shown(url), "an https URL, as caFile, certFile or keyFile is set")
