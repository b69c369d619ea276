# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The password of a proxy: in no result, diff or log line of any module that is handed proxies."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.play import ROOT, cluster, play

PASSWORD = "CANARY-7f3"
# The exception is the address that the node advertises: masked, it would be gone from every result.
ADDRESS = "192.0.2.10"
PROXIES = {"HTTPS_PROXY": f"http://jane:{PASSWORD}@proxy.example.test:3128", "NO_PROXY": ADDRESS}
TAKING = ("addon", "container_runtime", "etcd_member", "phase_plan", "preflight_check", "prepare_plan", "static_pod")


def takes_proxies(path: Path) -> bool:
    documentation = importlib.import_module(f"ansible_collections.kubephase.cluster.plugins.modules.{path.stem}").DOCUMENTATION
    described = yaml.safe_load(documentation)
    return "proxy_env" in described.get("options", {}) or "kubephase.cluster.prepare_runtime" in described["extends_documentation_fragment"]


def test_every_module_that_takes_proxies_is_tried_here() -> None:
    modules = sorted((ROOT / "plugins/modules").glob("*.py"))
    assert tuple(path.stem for path in modules if path.stem != "with_kept_code" and takes_proxies(path)) == TAKING


@pytest.mark.parametrize("module", TAKING)
def test_no_module_tells_the_password(tmp_path: Path, module: str) -> None:
    # In check mode, and most of them fail on this machine in their own ways: what they say while doing so counts.
    hosts: dict[str, Any] = {
        "cp1": {
            "kubephase_cluster_configuration": cluster(tmp_path / "data"),
            "kubephase_init_configuration": {"localAPIEndpoint": {"advertiseAddress": ADDRESS}, "nodeRegistration": {"name": "cp1"}},
        }
    }
    played = play(tmp_path, [{f"kubephase.cluster.{module}": {"proxy_env": PROXIES}}], "--check", "--diff", "-vvv", hosts=hosts)
    assert "HTTPS_PROXY: VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in played.output, played.output
    assert PASSWORD not in played.output
    assert f"NO_PROXY: {ADDRESS}" in played.output
    assert f"advertiseAddress: {ADDRESS}" in played.output
