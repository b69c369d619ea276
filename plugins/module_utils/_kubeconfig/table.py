# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's kubeconfig files: who they speak for and which server they name."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.endpoints import control_plane_url, local_url
from ansible_collections.kubephase.cluster.plugins.module_utils._release import gate_is_on

DIRECTORY = "/etc/kubernetes"


@dataclass(frozen=True)
class Row:
    """One kubeconfig file with an embedded client certificate."""

    name: str
    path: str
    user: str
    organizations: tuple[str, ...]
    server: str
    validity: timedelta


def rows(docs: Documents) -> tuple[Row, ...]:
    """List the files of the kubeconfig phase in kubeadm's order."""
    release = docs.known_release
    endpoint, local = control_plane_url(docs), local_url(docs)
    kubelet_server = local if kubelet_talks_locally(docs) else endpoint
    validity = docs.cluster.certificate_validity_period
    table = [
        ("admin", "kubernetes-admin", release.admin_organizations, endpoint),
        ("super-admin", "kubernetes-super-admin", release.super_admin_organizations, endpoint),
        ("kubelet", f"system:node:{docs.node.name}", ("system:nodes",), kubelet_server),
        ("controller-manager", "system:kube-controller-manager", (), local),
        ("scheduler", "system:kube-scheduler", (), local),
    ]
    # The kubelet of a host that joins gets its credentials from the cluster, and only the first control plane has a super-admin.
    wanted = release.join_kubeconfig_phases if docs.joining else release.kubeconfig_phases
    return tuple(
        Row(name, posixpath.join(DIRECTORY, f"{name}.conf"), user, organizations, server, validity)
        for name, user, organizations, server in table
        if name in wanted
    )


def user_row(docs: Documents, options: Mapping[str, Any]) -> Row:
    """Describe the file of an additional user, as `kubeadm kubeconfig user` would write it."""
    return Row(
        name=options["client_name"],
        path=options["path"],
        user=options["client_name"],
        organizations=tuple(options.get("organizations") or ()),
        server=control_plane_url(docs),
        validity=options.get("validity_period") or docs.cluster.certificate_validity_period,
    )


def kubelet_talks_locally(docs: Documents) -> bool:
    """Tell whether the kubelet of a control plane talks to the API server beside it rather than to controlPlaneEndpoint."""
    release = docs.known_release
    if release.kubelet_conf_server != "gate":
        return release.kubelet_conf_server == "local"
    return gate_is_on(release.gates, "ControlPlaneKubeletLocalMode", docs.cluster.feature_gates)
