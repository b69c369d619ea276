# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for KubeletConfiguration and KubeProxyConfiguration: types by the release's table, unknown fields pass with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, nearest, shape, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release


def check_components(kubelet: Mapping[str, Any], proxy: Mapping[str, Any], release: Release, findings: Findings) -> None:
    """Judge the component configurations by the tables of the release."""
    if not kubelet and not proxy:
        return
    # The tables are large, and most hosts need neither.
    from ansible_collections.kubephase.cluster.plugins.module_utils._config.component_fields import kube_proxy_fields, kubelet_fields

    minor = release.version.minor
    _Table(kubelet_fields(minor), release, findings).check(kubelet, "KubeletConfiguration", "")
    _Table(kube_proxy_fields(minor), release, findings).check(proxy, "KubeProxyConfiguration", "")
    _check_mode(proxy.get("mode"), release, findings)


def _check_mode(mode: Any, release: Release, findings: Findings) -> None:
    """kube-proxy exits when it does not know its mode."""
    known = list(release.kube_proxy_modes)
    if isinstance(mode, str) and mode and mode not in known:
        findings.problem("KubeProxyConfiguration.mode", shown(mode), "one of " + ", ".join(known), did_you_mean(mode, known))


class _Table:
    """The fields of one document in one release."""

    def __init__(self, fields: Mapping[str, str], release: Release, findings: Findings) -> None:
        self._fields = fields
        self._release = release
        self._findings = findings

    def check(self, document: Mapping[str, Any], place: str, prefix: str) -> None:
        for name, value in document.items():
            path = f"{prefix}{name}"
            expected = self._fields.get(path)
            if expected is None:
                self._unknown(f"{place}.{name}", path, prefix)
            else:
                self._check_value(value, expected, f"{place}.{name}", path)

    def _unknown(self, place: str, path: str, prefix: str) -> None:
        siblings = [name[len(prefix) :] for name in self._fields if name.startswith(prefix) and "." not in name[len(prefix) :]]
        close = nearest(path[len(prefix) :], siblings)
        hint = f"; did you mean {close}?" if close else ""
        self._findings.warn(place, f"not a field that {self._release.version} is known to have; passed on as it is{hint}")

    def _check_value(self, value: Any, expected: str, place: str, path: str) -> None:
        if value is None:
            return
        kind, _of, item = expected.partition(" of ")
        if kind == "list":
            self._check_list(value, item, place, path)
        elif kind == "map":
            self._check_map(value, item, place, path)
        elif kind == "object":
            if isinstance(value, Mapping):
                self.check(value, place, f"{path}.")
            else:
                self._findings.problem(place, shape(value), "a mapping")
        elif kind in _SCALARS and not _SCALARS[kind][0](value):
            # The value is not shown: headers and the like may hold a secret.
            self._findings.problem(place, shape(value), _SCALARS[kind][1])

    def _check_list(self, value: Any, item: str, place: str, path: str) -> None:
        if not isinstance(value, list):
            self._findings.problem(place, shape(value), f"a list of {item}")
            return
        for index, element in enumerate(value):
            self._check_value(element, item, f"{place}[{index}]", f"{path}[]")

    def _check_map(self, value: Any, item: str, place: str, path: str) -> None:
        if not isinstance(value, Mapping):
            self._findings.problem(place, shape(value), f"a map of {item}")
            return
        for key, element in value.items():
            self._check_value(element, item, f"{place}.{key}", f"{path}[]")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_duration(value)
    except ValueError:
        return False
    return True


_SCALARS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "a text"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "duration": (_is_duration, "a duration such as 90s or 5m"),
    "int or duration": (lambda value: _is_whole(value) or _is_duration(value), "a whole number or a duration such as 5s"),
    "quantity": (lambda value: isinstance(value, str) or _is_number(value), "a quantity such as 100Mi"),
}
