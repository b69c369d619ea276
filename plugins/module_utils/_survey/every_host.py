# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the survey looks at on every host, whatever it becomes."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._guard.state import HostState
from ansible_collections.kubephase.cluster.plugins.module_utils._node_settings.state import NodeSettingsState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import STATE, Surveyed
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.state import ServingState

LOOKS = (
    Surveyed(STATE, HostState(), always=True),
    Surveyed(STATE, ServingState(), always=True),
    Surveyed(STATE, NodeSettingsState(), always=True),
)
