# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options by which every phase module receives the documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import BECOMES, INIT
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import names_password

KIND_OPTIONS = {
    "cluster_configuration": "ClusterConfiguration",
    "init_configuration": "InitConfiguration",
    "join_configuration": "JoinConfiguration",
    "kubelet_configuration": "KubeletConfiguration",
    "kube_proxy_configuration": "KubeProxyConfiguration",
}

SPEC: dict[str, Any] = {
    "config_file": {"type": "str"},
    "advertise_interface": {"type": "str"},
    "becomes": {"type": "str", "choices": list(BECOMES), "default": INIT},
    **{option: {"type": "dict"} for option in KIND_OPTIONS},
}


def documents(params: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the documents, by kind, from a module's parameters."""
    return {kind: params[option] for option, kind in KIND_OPTIONS.items() if params.get(option)}


def open_proxies(params: Mapping[str, Any]) -> set[str]:
    """Collect the values of proxy variables that name no password, so that nobody need hide them."""
    given = params.get("proxy_env") or {}
    return {value for value in given.values() if isinstance(value, str) and not names_password(value)}
