# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules that depend on the release: its version, its feature gates and the fields it does not have yet."""

from __future__ import annotations

import re

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import ClusterConfiguration, LocalEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._release import NEWEST, OLDEST, Release, release_for

_PATH = "ClusterConfiguration"
_VERSION = f"{_PATH}.kubernetesVersion"
_RANGE = f"an exact version from v1.{OLDEST}.0 on and before v1.{NEWEST + 1}.0, such as v1.{NEWEST}.1"
_ALIAS = re.compile(r"(?:.*/)?(?:stable|latest)(?:-\d.*)?|.+/.*", re.ASCII | re.DOTALL)


def newest_release() -> Release:
    """The release whose rules hold while no version is known."""
    return release_for(f"v1.{NEWEST}.0")


def find_release(version: str, facts: NodeFacts | None, findings: Findings) -> Release | None:
    """The release of the given version, else of the kubelet on the host, else None."""
    kubelet = facts.kubelet_version if facts else ""
    wanted = version or kubelet
    if not wanted:
        return None
    try:
        return release_for(wanted)
    except ValueError:
        found = shown(version) if version else f"nothing, and the kubelet's version is {shown(kubelet)}"
        moving = _ALIAS.fullmatch(wanted) is not None
        findings.problem(_VERSION, found, _RANGE, "What an alias means moves with time: name the version." if moving else "")
    return None


def check_gates(cluster: ClusterConfiguration, release: Release | None, findings: Findings) -> None:
    """Judge the feature gates by the release; while that is unknown, a gate of any release may be the host's."""
    if not cluster.feature_gates:
        return
    known = sorted(release.feature_gates) if release else _gates_of_any_release()
    owner = f"kubeadm {release.version}" if release else "kubeadm"
    for gate in cluster.feature_gates:
        if gate not in known:
            expected = f"a feature gate of {owner}: {', '.join(known)}"
            findings.problem(f"{_PATH}.featureGates.{gate[:80]}", "an unknown feature gate", expected, did_you_mean(gate, known))


def _gates_of_any_release() -> list[str]:
    return sorted({gate for minor in range(OLDEST, NEWEST + 1) for gate in release_for(f"v1.{minor}.0").feature_gates})


def check_release(cluster: ClusterConfiguration, release: Release, findings: Findings) -> None:
    """Judge the fields that not every release knows."""
    for path, hint in _too_new(cluster, release):
        # What the release's own stored configuration cannot hold would be lost at the next kubeadm upgrade.
        findings.problem(f"{_PATH}.{path}", "a field of later releases", f"a field that {release.version} knows", hint)


def _too_new(cluster: ClusterConfiguration, release: Release) -> list[tuple[str, str]]:
    """Fields that say something the release cannot do, each with a way around it."""
    fresh = ClusterConfiguration()
    local = cluster.etcd.local or LocalEtcd()
    external = cluster.etcd.external
    skip = "The phase can be skipped instead: skipPhases: [{}]."
    rows = (
        (
            release.validity_fields,
            cluster.certificate_validity_period != fresh.certificate_validity_period,
            "certificateValidityPeriod",
            "",
        ),
        (
            release.validity_fields,
            cluster.ca_certificate_validity_period != fresh.ca_certificate_validity_period,
            "caCertificateValidityPeriod",
            "",
        ),
        (release.extra_envs, bool(cluster.api_server.extra_envs), "apiServer.extraEnvs", ""),
        (release.extra_envs, bool(cluster.controller_manager.extra_envs), "controllerManager.extraEnvs", ""),
        (release.extra_envs, bool(cluster.scheduler.extra_envs), "scheduler.extraEnvs", ""),
        (release.extra_envs, bool(local.extra_envs), "etcd.local.extraEnvs", ""),
        (release.addon_disabled_fields, cluster.dns.disabled, "dns.disabled", skip.format("addon/coredns")),
        (release.addon_disabled_fields, cluster.proxy.disabled, "proxy.disabled", skip.format("addon/kube-proxy")),
        (
            release.external_etcd_http_endpoints,
            external is not None and external.http_endpoints != external.endpoints,
            "etcd.external.httpEndpoints",
            "",
        ),
    )
    return [(path, hint) for known, used, path, hint in rows if used and not known]


def check_phases(skipped: tuple[str, ...], joining: bool, release: Release, path: str, findings: Findings) -> None:
    """A phase that does not exist cannot be skipped: kubeadm refuses the name, and a slip would run what was to be left out."""
    known = _phases(release.join_phases if joining else release.init_phases, _sub_phases(release, joining))
    for index, name in enumerate(skipped):
        if name not in known:
            place = f"{path}.skipPhases[{index}]"
            findings.problem(place, shown(name), f"a phase of kubeadm {release.version}", did_you_mean(name, known))


def _sub_phases(release: Release, joining: bool) -> dict[str, tuple[str, ...]]:
    if joining:
        return {
            "control-plane-prepare": ("download-certs", "certs", "kubeconfig", "control-plane"),
            "control-plane-join": release.control_plane_join_phases,
        }
    return {
        "certs": release.certs_phases,
        "kubeconfig": release.kubeconfig_phases,
        "etcd": ("local",),
        "control-plane": release.control_plane_phases,
        "upload-config": ("kubeadm", "kubelet"),
        "kubelet-finalize": release.kubelet_finalize_phases,
        "addon": ("coredns", "kube-proxy"),
    }


def _phases(phases: tuple[str, ...], sub_phases: dict[str, tuple[str, ...]]) -> list[str]:
    return [*phases, *(f"{phase}/{name}" for phase, names in sub_phases.items() for name in ("all", *names))]
