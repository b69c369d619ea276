# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fields of the component configurations: where they begin and end, and that the table holds together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config.component_fields import kube_proxy_fields, kubelet_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._release import NEWEST, OLDEST, Version, release_for

Fields = Callable[[int], Mapping[str, str]]
MINORS = range(OLDEST, NEWEST + 1)
SCALARS = {"string", "bool", "int", "float", "duration", "quantity", "int or duration", "object"}


@pytest.mark.parametrize(
    ("fields", "minor", "path", "kind"),
    [
        (kubelet_fields, 22, "authentication.x509.clientCAFile", "string"),
        (kubelet_fields, 37, "authentication.webhook.cacheTTL", "duration"),
        (kubelet_fields, 37, "featureGates", "map of bool"),
        (kubelet_fields, 37, "clusterDNS", "list of string"),
        (kubelet_fields, 37, "staticPodURLHeader", "map of list of string"),
        (kubelet_fields, 37, "reservedMemory[].limits", "map of quantity"),
        (kubelet_fields, 37, "memoryThrottlingFactor", "float"),
        (kubelet_fields, 22, "logging.options.json.infoBufferSize", None),
        (kubelet_fields, 23, "logging.options.json.infoBufferSize", "quantity"),
        (kubelet_fields, 29, "logging.options.text.infoBufferSize", None),
        (kubelet_fields, 30, "logging.options.text.infoBufferSize", "quantity"),
        (kubelet_fields, 27, "logging.flushFrequency", "int"),
        (kubelet_fields, 28, "logging.flushFrequency", "int or duration"),
        (kubelet_fields, 23, "logging.sanitization", "bool"),
        (kubelet_fields, 24, "logging.sanitization", None),
        (kubelet_fields, 26, "containerRuntimeEndpoint", None),
        (kubelet_fields, 27, "containerRuntimeEndpoint", "string"),
        (kubelet_fields, 30, "failCgroupV1", None),
        (kubelet_fields, 31, "failCgroupV1", "bool"),
        (kubelet_fields, 36, "defaultPodSysctls", None),
        (kubelet_fields, 37, "defaultPodSysctls", "map of string"),
        (kubelet_fields, 22, "registerWithTaints[].effect", None),
        (kubelet_fields, 23, "registerWithTaints[].effect", "string"),
        (kubelet_fields, 37, "healthzBindAdress", None),
        (kube_proxy_fields, 22, "mode", "string"),
        (kube_proxy_fields, 25, "udpIdleTimeout", "duration"),
        (kube_proxy_fields, 26, "udpIdleTimeout", None),
        (kube_proxy_fields, 23, "detectLocal.bridgeInterface", None),
        (kube_proxy_fields, 24, "detectLocal.bridgeInterface", "string"),
        (kube_proxy_fields, 28, "nftables.syncPeriod", None),
        (kube_proxy_fields, 29, "nftables.syncPeriod", "duration"),
        (kube_proxy_fields, 27, "logging", None),
        (kube_proxy_fields, 28, "logging", "object"),
        (kube_proxy_fields, 30, "windowsRunAsService", None),
        (kube_proxy_fields, 31, "windowsRunAsService", "bool"),
    ],
)
def test_a_field_has_its_type_in_a_minor(fields: Fields, minor: int, path: str, kind: str | None) -> None:
    assert fields(minor).get(path) == kind


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("fields", [kubelet_fields, kube_proxy_fields])
def test_every_field_stands_in_an_object_of_the_table(fields: Fields, minor: int) -> None:
    table = fields(minor)
    assert len(table) > 40
    for path, kind in table.items():
        assert kind.rpartition(" of ")[2] in SCALARS, path
        parent, _, _ = path.rpartition(".")
        if parent:
            outer = "list of object" if parent.endswith("[]") else "object"
            assert table[parent.removesuffix("[]")] == outer, path


@pytest.mark.parametrize("minor", MINORS)
def test_what_kubeadm_writes_for_the_kubelet_is_in_the_table(minor: int) -> None:
    assert release_for(Version(1, minor, 0)).kubelet_zero_values.keys() <= kubelet_fields(minor).keys()
