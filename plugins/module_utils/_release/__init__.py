# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one table of release facts: what kubeadm does in each Kubernetes release, down to the patch."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._release.cluster_objects import ClusterObjectFacts, WaitFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.config_api import ConfigApiFacts, TimeoutFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.gates import GateFacts, GateState, gate_is_on
from ansible_collections.kubephase.cluster.plugins.module_utils._release.host import HostFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import (
    ImageFacts,
    component_image,
    coredns_image,
    etcd_image,
    pause_image,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release.join import JoinFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.kubeconfig import KubeconfigFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.kubelet import KubeletFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.phases import PhaseFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.pki import PkiFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import PreflightCheck, PreflightFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.static_pods import ProbePaths, ProbeTiming, StaticPodFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import (
    NEWEST,
    OLDEST,
    UnsupportedVersion,
    Version,
    canonical,
    image_tag,
    supported,
)

__all__ = [
    "NEWEST",
    "OLDEST",
    "GateState",
    "PreflightCheck",
    "ProbePaths",
    "ProbeTiming",
    "Release",
    "UnsupportedVersion",
    "Version",
    "canonical",
    "component_image",
    "coredns_image",
    "etcd_image",
    "gate_is_on",
    "image_tag",
    "pause_image",
    "release_for",
]


@dataclass(frozen=True)
class Release(
    ClusterObjectFacts,
    ConfigApiFacts,
    GateFacts,
    HostFacts,
    ImageFacts,
    JoinFacts,
    KubeconfigFacts,
    KubeletFacts,
    PhaseFacts,
    PkiFacts,
    PreflightFacts,
    StaticPodFacts,
    TimeoutFacts,
    WaitFacts,
):
    """The facts of one exact patch release, each an attribute that the table resolves."""

    version: Version


def release_for(version: str | Version) -> Release:
    """Look up a release; one that the table does not cover is refused."""
    return Release(supported(version))
