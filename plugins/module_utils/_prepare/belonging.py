# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a host is a node already: what runs there is then not exchanged in passing."""

from __future__ import annotations

from typing import Any

# A host with one of these belongs to a cluster.
_SIGNS = ("/etc/kubernetes/kubelet.conf", "/etc/kubernetes/manifests/kube-apiserver.yaml")


def is_node(world: Any) -> bool:
    """Look for the signs of a cluster."""
    return any(world.files.exists(path) for path in _SIGNS)
