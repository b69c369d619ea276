# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight phase: every check of the release judged, all failures told at once, images pulled."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight import (
    belongings,
    images,
    machine,
    ports,
    proxies,
    readiness,
    runtime,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case, Judge
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.observed import Observed, look
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import READINESS, Check, mode_of, registration, select
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import (
    FAILED,
    Conclusion,
    PreflightFailed,
    conclude,
    warnings_of,
)

_JUDGES: Mapping[str, Judge] = {
    "IsPrivilegedUser": machine.privileged,
    "NumCPU": machine.cpus,
    "Mem": machine.memory,
    "KubernetesVersion": machine.kubernetes_version,
    "Firewalld": machine.firewalld,
    "Port": ports.port,
    "FileAvailable": belongings.file_available,
    "DirAvailable": belongings.dir_available,
    "HTTPProxy": proxies.to_the_server,
    "HTTPProxyCIDR": proxies.to_the_networks,
    "CRI": runtime.runtime,
    "ContainerRuntimeVersion": runtime.runtime_version,
    "Service": machine.service,
    "FileContent": machine.sysctl,
    "Swap": machine.swap,
    "FileExisting": machine.executable,
    "SystemVerification": machine.system_verification,
    "Hostname": machine.hostname,
    "KubeletVersion": machine.kubelet_version,
    "ExternalEtcdVersion": runtime.external_etcd_version,
    "ExternalEtcdClientCertificates": belongings.external_etcd_certificates,
    "CgroupDriver": runtime.cgroup_driver,
    "Clock": machine.clock,
    "DefaultRoute": machine.default_route,
    "ControlPlaneEndpoint": readiness.control_plane_endpoint,
    "SharedCertificates": readiness.shared_certificates,
}


class PreflightPhase:
    """kubeadm's preflight phase of init, join and control-plane join, as read and plan."""

    name = "preflight"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look once at everything that the checks are about."""
        mode = mode_of(docs, options.get("mode"))
        return look(docs, world, _checks(docs, options), mode)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Judge every check; what failed is raised together, what is left to do is the pull of images."""
        mode = mode_of(docs, options.get("mode"))
        ignored = frozenset(
            name.strip().lower() for name in (*registration(docs, mode).ignore_preflight_errors, *(options.get("ignore_errors") or ()))
        )
        reference = _moment(options.get("reference_time"))
        given = options.get("proxy_env")
        proxies = seen.host.proxies if given is None else {str(name).lower(): str(value) for name, value in given.items()}
        conclusions: list[Conclusion] = []
        pull = None
        for check in _checks(docs, options):
            case = Case(check, docs, seen, mode, reference, proxies, bool(options.get("certificate_key_given")))
            failed = any(each.outcome == FAILED for each in conclusions)
            if check.kind == "ImagePull":
                if failed:
                    break  # kubeadm pulls only once everything else is in order
                made = tuple(each.fact() for each in conclusions)
                pull = images.judge(case, options.get("pull_images") is not False, _is_ignored(check, ignored), made)
            verdicts = pull.verdicts if pull else _JUDGES[check.kind](case)
            conclusions.append(conclude(check.name, check.severity, verdicts, frozenset() if check.kind in READINESS else ignored))
            if check.kind == "IsPrivilegedUser" and conclusions[-1].outcome == FAILED:
                break  # without root the other answers mean nothing
        if any(each.outcome == FAILED for each in conclusions):
            raise PreflightFailed(conclusions)
        return Plan(
            (pull.change,) if pull and pull.change else (),
            {"checks": [each.fact() for each in conclusions], "images": list(pull.images) if pull else []},
            warnings_of(conclusions),
        )


def _checks(docs: Documents, options: Mapping[str, Any]) -> tuple[Check, ...]:
    mode = mode_of(docs, options.get("mode"))
    pulls = options.get("pull_images") is not False and registration(docs, mode).image_pull_policy != images.NEVER
    return select(docs, mode, needs_client=pulls and mode != "join")


def _is_ignored(check: Check, ignored: frozenset[str]) -> bool:
    return bool({"all", check.name.lower()} & ignored)


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise Unusable("reference_time", f"{text!r} is not a time", "Give one such as 2027-01-31T12:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
