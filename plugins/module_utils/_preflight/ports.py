# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of ports: free, taken by this cluster's own component, or taken by a stranger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Listener, Process
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case, last_value
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import KUBELET_CONF, data_dir
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, owned

_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104


@dataclass(frozen=True)
class Tenant:
    """Who may hold a port: the program, and what its command line must say to be this cluster's."""

    program: str
    # Values that must all be there: exactly, or with a slash at the end as the start of some value.
    marks: tuple[str, ...]


def port(case: Case) -> Iterator[Verdict]:
    """Judge one port by everyone who listens on it, on the address that the component will bind."""
    number = int(case.check.subject)
    address = bind_address(case.docs, number)
    if address and case.seen.host.own_addresses.get(address) is False:
        fix = f"Set it to an address of this host ({_setting(case.docs, number)})"
        yield against(case.check.severity, f"port {number} is to be bound on {address}, which is no address of this host", fix)
        return
    for listener in _in_the_way(case, number):
        yield _judge(case, listener)


def port_is_owned(case: Case, number: int) -> bool:
    """Whether this cluster's own component listens on a port already, and nobody else does."""
    found = _in_the_way(case, number)
    return bool(found) and all(listener.process and not _doubts(case.docs, listener.process, number) for listener in found)


def bind_address(docs: Documents, number: int) -> str:
    """The one address that a release looks at, or nothing for all of them."""
    if not docs.known_release.ports_on_bind_address:
        return ""
    cluster = docs.cluster
    if number in (2379, 2380):
        return last_value(cluster.api_server.extra_args, "advertise-address") or docs.node.advertise_address
    holders = {docs.node.bind_port: cluster.api_server, 10259: cluster.scheduler, 10257: cluster.controller_manager}
    return last_value(holders[number].extra_args, "bind-address") if number in holders else ""


def tenant(docs: Documents, number: int) -> Tenant:
    """Who is expected on a port."""
    certificates = f"{docs.cluster.certificates_dir.rstrip('/')}/"
    tenants = {
        10259: Tenant("kube-scheduler", ("/etc/kubernetes/scheduler.conf",)),
        10257: Tenant("kube-controller-manager", ("/etc/kubernetes/controller-manager.conf", certificates)),
        10250: Tenant("kubelet", (KUBELET_CONF,)),
        2379: Tenant("etcd", (data_dir(docs), certificates)),
        2380: Tenant("etcd", (data_dir(docs), certificates)),
    }
    server = Tenant("kube-apiserver", (certificates,))
    return server if number == docs.node.bind_port else tenants[number]


def values(arguments: Sequence[str]) -> set[str]:
    """The values of a command line, those after an equals sign included."""
    return {part.partition("=")[2] if part.startswith("--") and "=" in part else part for part in arguments[1:]}


def bears(arguments: Sequence[str], mark: str) -> bool:
    """Whether a command line has a value, or one that starts so when the mark ends in a slash."""
    found = values(arguments)
    return any(value.startswith(mark) for value in found) if mark.endswith("/") else mark in found


def _in_the_way(case: Case, number: int) -> list[Listener]:
    address = bind_address(case.docs, number)
    return [each for each in case.seen.host.listeners if each.port == number and _collides(each.address, address)]


def _collides(taken: str, wanted: str) -> bool:
    """A wildcard takes every address; of IPv6's it cannot be seen whether it leaves IPv4 alone, and by default it does not."""
    if not wanted or wanted in _WILDCARDS or taken == "::":
        return True
    one, other = parse_address(taken), parse_address(wanted)
    if taken == "0.0.0.0":  # noqa: S104
        return other is None or other.version == 4
    return one == other


def _judge(case: Case, listener: Listener) -> Verdict:
    number, process = listener.port, listener.process
    where = f"[{listener.address}]:{number}" if ":" in listener.address else f"{listener.address}:{number}"
    expected = tenant(case.docs, number)
    if process is None:
        fix = f"Find it (ss -ltnp 'sport = :{number}') and stop it"
        return against(case.check.severity, f"a process that cannot be seen listens on {where}", fix)
    who = f"{process.program} (pid {process.pid})"
    doubts = _doubts(case.docs, process, number)
    if not doubts:
        return owned(f"{who} of this cluster listens on {where}")
    if process.program == expected.program:
        return against(
            case.check.severity,
            f"{who} listens on {where}, but does not belong to this cluster: {doubts}",
            "Stop the other cluster's component (kubeadm reset, or its service), or put back the documents that this cluster was made with",
        )
    return against(
        case.check.severity, f"{who} listens on {where}, where {expected.program} must", f"Stop it, or choose {_another(case.docs, number)}"
    )


def _doubts(docs: Documents, process: Process, number: int) -> str:
    expected = tenant(docs, number)
    if process.program != expected.program:
        return f"it is not {expected.program}"
    missing = [mark for mark in expected.marks if not bears(process.arguments, mark)]
    return f"its command line does not name {' and '.join(missing)}" if missing else ""


def _another(docs: Documents, number: int) -> str:
    return "another localAPIEndpoint.bindPort" if number == docs.node.bind_port else "another port for it"


def _setting(docs: Documents, number: int) -> str:
    if number in (2379, 2380):
        return "localAPIEndpoint.advertiseAddress, or the API server's argument advertise-address"
    return f"the argument bind-address of {tenant(docs, number).program}"
