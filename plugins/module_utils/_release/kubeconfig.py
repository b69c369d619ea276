# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubeconfig files: who is in them, which server they name and when an existing one is kept."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.pki import CLUSTER_ADMINS, SYSTEM_MASTERS
from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Row, Since, Steps


class KubeconfigFacts:
    """What the kubeconfig phase makes."""

    admin_organizations: Row[tuple[str, ...]] = Steps(("1.22.0", (SYSTEM_MASTERS,)), ("1.29.0", (CLUSTER_ADMINS,)))
    # super-admin.conf breaks the glass: init's node keeps a member of the group that RBAC cannot bind.
    has_super_admin = Since("1.29.0")
    super_admin_organizations: Row[tuple[str, ...]] = Always((SYSTEM_MASTERS,))
    cluster_admins_binding = Since("1.29.0")

    # Client keys in kubeconfigs were RSA-2048 whatever the cluster's algorithm.
    kubeconfig_keys_follow_algorithm = Since("1.31.0")
    # Server of a control plane's kubelet.conf: controlPlaneEndpoint, the local API server, or as
    # the gate ControlPlaneKubeletLocalMode says.
    kubelet_conf_server = Steps(("1.22.0", "endpoint"), ("1.31.0", "gate"), ("1.35.0", "local"))
    # An existing file is kept if its CA is the same bytes, or if its first CA is a wanted one.
    kubeconfig_ca_match = Steps(("1.22.0", "bytes"), ("1.31.0", "first"))
    kubeconfig_preferences = Before("1.34.0")
