# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phases of a control plane that joins, in their order."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.download_certs import DownloadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import CONTROL_PLANE
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.bootstrap import KubeletWaitBootstrapPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import JOINED_RUNS_WITH, Follows, Surveyed
from ansible_collections.kubephase.cluster.plugins.module_utils._survey.every_control_plane import ETCD, GUARDED_LOOKS, MANIFESTS
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.mark import MarkControlPlanePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.phase import WaitControlPlanePhase

PHASES = (
    *GUARDED_LOOKS,
    Surveyed("control-plane-prepare/download-certs", DownloadCertsPhase()),
    Surveyed("control-plane-prepare/certs", CertsPhase()),
    Surveyed("control-plane-prepare/kubeconfig", KubeconfigPhase()),
    Surveyed("control-plane-prepare/control-plane", StaticPodPhase(), MANIFESTS),
    Surveyed("check-etcd", None),
    Surveyed("kubelet-start", KubeletStartPhase()),
    Surveyed("etcd-join", StaticPodPhase(), ETCD),
    Surveyed("kubelet-wait-bootstrap", KubeletWaitBootstrapPhase((CONTROL_PLANE,))),
    Surveyed("control-plane-join/mark-control-plane", MarkControlPlanePhase(), asks_api=True),
    Surveyed("wait-control-plane", WaitControlPlanePhase(), follows=tuple(Follows(name) for name in JOINED_RUNS_WITH)),
)
