# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the API server of a cluster, and the one on this node, are reached."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port, parse_endpoint
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents


def endpoint_host(docs: Documents) -> str:
    """Host of controlPlaneEndpoint, a name or an address; nothing when it is not set."""
    found = parse_endpoint(docs.cluster.control_plane_endpoint)
    return found[0] if found else ""


def control_plane_url(docs: Documents) -> str:
    """URL by which clients reach the cluster; without controlPlaneEndpoint that of this node."""
    found = parse_endpoint(docs.cluster.control_plane_endpoint)
    if found is None:
        return local_url(docs)
    host, port = found
    return f"https://{join_host_port(host, docs.node.bind_port if port is None else port)}"


def local_url(docs: Documents) -> str:
    """URL of the API server on this node."""
    return f"https://{join_host_port(docs.node.advertise_address, docs.node.bind_port)}"
