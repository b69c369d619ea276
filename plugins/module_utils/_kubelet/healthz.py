# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the kubelet of this node tells of its health."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import extra_argument
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import load
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState

_LOOPBACK = "127.0.0.1"


def healthz_url(docs: Documents, config: Mapping[str, Any]) -> str:
    """Find address and port in its configuration, over which its flags win; nothing where it serves none."""
    port = str(extra_argument(docs, "healthz-port") or config.get("healthzPort", docs.known_release.ports["kubelet-healthz"]))
    host = str(extra_argument(docs, "healthz-bind-address") or config.get("healthzBindAddress") or _LOOPBACK)
    return f"http://{join_host_port(host, int(port))}/healthz" if port.isdigit() and int(port) else ""


def healthz_url_on_disk(docs: Documents, config: FileState | None) -> str:
    """The same by the configuration on disk; by the user's own while there is none."""
    try:
        found = load(config.content) if config is not None else docs.kubelet
    except ValueError:
        return ""
    return healthz_url(docs, found) if isinstance(found, Mapping) else ""
