# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The user's KubeletConfiguration as it comes out of kubeadm's Go types: zero values gone, durations in one spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.component_fields import kubelet_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration, parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release

# Pointers in Go, so that false, 0 and "" are values; every other field with such a value counts as not set.
_ZERO_COUNTS = """
authentication.anonymous.enabled authentication.webhook.enabled cgroupsPerQOS containerLogMaxFiles containerLogMaxWorkers
containerLogMonitorInterval cpuCFSQuota cpuCFSQuotaPeriod crashLoopBackOff.maxContainerRestartPeriod
enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
enableSystemLogHandler enableSystemLogQuery eventRecordQPS failCgroupV1 failSwapOn healthzPort imageGCHighThresholdPercent
imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIQPS localStorageCapacityIsolation
makeIPTablesUtilChains maxParallelImagePulls memoryThrottlingFactor mergeDefaultEvictionSettings nodeStatusMaxImages
oomScoreAdj podPidsLimit registerNode registerWithTaints[].timeAdded registryPullQPS resolvConf seccompDefault
serializeImagePulls singleProcessOOMKill tracing tracing.endpoint tracing.samplingRatePerMillion userNamespaces
userNamespaces.idsPerPod
"""
# Written in any case; at the top level the release's table of zero values says so.
_ALWAYS_THERE: Mapping[str, Mapping[str, Any]] = {
    "logging.vmodule[]": {"filePattern": "", "verbosity": 0},
    "registerWithTaints[]": {"effect": "", "key": ""},
    "reservedMemory[]": {"limits": None, "numaNode": 0},
    "shutdownGracePeriodByPodPriority[]": {"priority": 0, "shutdownGracePeriodSeconds": 0},
}


def normalised(document: Mapping[str, Any], release: Release) -> dict[str, Any]:
    """Leave out what Go would take for unset; a field that the release does not know passes as it is."""
    if not document:
        return {}
    counts = set(_ZERO_COUNTS.split())
    if not release.resolv_conf_may_be_empty:
        counts.remove("resolvConf")
    return _Fields(kubelet_fields(release.version.minor), counts).object(document, "")


class _Fields:
    """The fields of the release, and those of them whose zero is a value."""

    def __init__(self, kinds: Mapping[str, str], counts: set[str]) -> None:
        self._kinds = kinds
        self._counts = counts

    def object(self, document: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        found = {}
        for name, given in document.items():
            path = f"{prefix}{name}"
            kind = self._kinds.get(path)
            value = given if kind is None else self._value(given, kind, path)
            if value is None or (kind is not None and path not in self._counts and _is_zero(value)):
                continue
            found[name] = value
        return found

    def _value(self, value: Any, kind: str, path: str) -> Any:
        outer, _of, inner = kind.partition(" of ")
        if value is None:
            return None
        if outer == "object":
            return {**_ALWAYS_THERE.get(path, {}), **self.object(value, f"{path}.")}
        if outer == "list":
            return [self._value(element, inner, f"{path}[]") for element in value]
        if outer == "map":
            return {str(name): self._value(element, inner, f"{path}[]") for name, element in value.items()}
        return _scalar(value, kind)


def _scalar(value: Any, kind: str) -> Any:
    if "duration" in kind and isinstance(value, str):
        return format_duration(parse_duration(value))
    if kind == "quantity" and not isinstance(value, str):
        return str(value)
    return value


def _is_zero(value: Any) -> bool:
    return value in (0, "", "0s") or value == {} or value == []
