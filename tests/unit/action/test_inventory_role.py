# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the inventory makes of a host when no task says it."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.plugin_utils.inventory_role import role_of

BOTH = {"control_plane": ["cp1", "cp2"], "workers": ["w1"], "all": ["cp1", "cp2", "w1", "strange"]}
WORKERS_ALONE = {"workers": ["w1"], "all": ["w1", "strange"]}


@pytest.mark.parametrize(
    ("host", "groups", "role"),
    [
        ("cp1", BOTH, "init"),
        ("cp2", BOTH, "control_plane"),
        ("w1", BOTH, "worker"),
        ("strange", BOTH, "worker"),
        ("localhost", BOTH, None),
        ("w1", WORKERS_ALONE, "worker"),
        ("strange", WORKERS_ALONE, None),
        ("cp1", {"control_plane": [], "all": ["cp1"]}, None),
        ("cp1", {"all": ["cp1"]}, None),
        # A machine that runs Ansible for itself alone.
        ("localhost", {"control_plane": ["localhost"]}, "init"),
        # In both groups it is a control plane, which runs workloads too.
        ("cp2", {**BOTH, "workers": ["cp2", "w1"]}, "control_plane"),
    ],
)
def test_role_by_group(host: str, groups: dict[str, list[str]], role: str | None) -> None:
    assert role_of({"inventory_hostname": host, "groups": groups}) == role


def test_without_an_inventory_nothing_is_told() -> None:
    assert role_of({}) is None
