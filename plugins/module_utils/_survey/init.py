# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phases of the control plane that is initialised, in their order."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._addons.phase import AddonPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import UploadCertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.finalize import KubeletFinalizePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import RUNS_WITH, Follows, Surveyed
from ansible_collections.kubephase.cluster.plugins.module_utils._survey.every_control_plane import ETCD, GUARDED_LOOKS, MANIFESTS
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.cluster_admins import ClusterAdminsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.mark import MarkControlPlanePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.upload import UploadConfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._wait.phase import WaitControlPlanePhase

PHASES = (
    *GUARDED_LOOKS,
    Surveyed("certs", CertsPhase()),
    Surveyed("kubeconfig", KubeconfigPhase()),
    Surveyed("etcd", StaticPodPhase(), ETCD),
    Surveyed("control-plane", StaticPodPhase(), MANIFESTS),
    Surveyed("kubelet-start", KubeletStartPhase()),
    Surveyed("wait-control-plane", WaitControlPlanePhase(), follows=tuple(Follows(name) for name in RUNS_WITH)),
    Surveyed("wait-control-plane", ClusterAdminsPhase(), asks_api=True),
    Surveyed("upload-config", UploadConfigPhase(), asks_api=True),
    Surveyed("upload-certs", UploadCertsPhase(), asks_api=True, wanted="upload_certs"),
    Surveyed("mark-control-plane", MarkControlPlanePhase(), asks_api=True),
    Surveyed("bootstrap-token", BootstrapTokenPhase(), asks_api=True),
    # The rotating certificate appears once the kubelet has run; a kubelet.conf that is written anew has to be pointed at it.
    Surveyed(
        "kubelet-finalize",
        KubeletFinalizePhase(),
        follows=(Follows("kubelet-start", unless="rotation"), Follows("kubeconfig", target="/etc/kubernetes/kubelet.conf")),
    ),
    Surveyed("addon", AddonPhase(), asks_api=True),
)
