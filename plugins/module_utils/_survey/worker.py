# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phases of a worker, in their order."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.bootstrap import KubeletWaitBootstrapPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import Surveyed
from ansible_collections.kubephase.cluster.plugins.module_utils._survey.every_host import LOOKS

PHASES = (
    *LOOKS,
    Surveyed("kubelet-start", KubeletStartPhase()),
    Surveyed("kubelet-start", KubeletWaitBootstrapPhase((WORKER,))),
)
