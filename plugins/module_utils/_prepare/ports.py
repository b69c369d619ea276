# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ports by which others reach a node, by what the host becomes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.firewall import Port

_KUBELET = 10250
_NODE_PORTS = "30000-32767"
_RANGE_FLAG = "service-node-port-range"
_GIVEN = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?/(tcp|udp|sctp)")
_HIGHEST = 65535


def needed_ports(docs: Documents, extra: Iterable[str] = ()) -> tuple[Port, ...]:
    """List what the host's role needs, and what the user adds, for example for a network plugin."""
    ports = [Port(int(docs.kubelet.get("port") or _KUBELET), "tcp", "kubelet")]
    if docs.becomes != WORKER:
        ports.append(Port(docs.node.bind_port, "tcp", "API server"))
        if not docs.external_etcd:
            ports.append(Port(2379, "tcp", "etcd, clients and peers", 2380))
    if not docs.cluster.proxy.disabled:
        ports.append(Port(10256, "tcp", "health of kube-proxy, for load balancers"))
    first, last = _node_ports(docs)
    ports += [Port(first, protocol, "Services of type NodePort", last) for protocol in ("tcp", "udp")]
    return (*ports, *_extra(extra))


def _node_ports(docs: Documents) -> tuple[int, int]:
    given = next((arg.value for arg in docs.cluster.api_server.extra_args if arg.name == _RANGE_FLAG), _NODE_PORTS)
    found = re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", given) or re.fullmatch(r"([0-9]+)-([0-9]+)", _NODE_PORTS)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _extra(given: Iterable[str]) -> list[Port]:
    ports, wrong = [], []
    for text in given:
        found = _GIVEN.fullmatch(str(text).strip())
        first, last = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
        if found is None or not 1 <= first <= _HIGHEST or last > _HIGHEST or 0 < last <= first:
            wrong.append(Unusable("extra_ports", f"{text!r} is no port", "Give ports such as 8472/udp or 4000-4010/tcp"))
            continue
        ports.append(Port(first, found[3], "as given", last))
    if wrong:
        raise ManyUnusable(tuple(wrong))
    return ports
