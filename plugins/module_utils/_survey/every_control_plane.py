# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the survey looks at on every control plane, and how its static pods are told apart."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._guard.immutable import GuardPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import Surveyed
from ansible_collections.kubephase.cluster.plugins.module_utils._survey.every_host import LOOKS

ETCD = {"components": ["etcd"]}
MANIFESTS = {"components": ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]}
GUARDED_LOOKS = (*LOOKS, Surveyed("guard", GuardPhase(), always=True))
