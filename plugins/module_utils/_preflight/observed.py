# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that the preflight checks judge, gathered in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import carried
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import RuntimeState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import HostState, Questions
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import (
    BOOTSTRAP_CONF,
    KUBELET_CONF,
    Check,
    ca_path,
    data_dir,
    registration,
)

_KUBELET_PLACES = ("/usr/bin/kubelet", "/usr/local/bin/kubelet", "/opt/bin/kubelet")


@dataclass(frozen=True)
class Observed:
    """The host, its runtime, and the files that a first run would not find."""

    host: HostState
    runtime: RuntimeState
    now: datetime
    kubelet_version: str = ""
    # Files that are there; one that cannot be read has its reason instead of content.
    files: Mapping[str, FileState | str] = field(default_factory=dict)
    # What directories hold; one that is not there has no entry.
    directories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Whether the data of etcd holds the CA certificate of this cluster.
    etcd_data_is_ours: bool = False
    # What each external etcd endpoint said.
    etcd_versions: Mapping[str, str] = field(default_factory=dict)


def look(docs: Documents, world: Any, checks: tuple[Check, ...], mode: str) -> Observed:
    """Look at what the checks are about, and at nothing else."""
    files = _files(docs, world, checks)
    directories = {}
    for check in checks:
        listed = world.probe.entries(check.subject) if check.kind == "DirAvailable" else None
        if listed is not None:
            directories[check.subject] = listed
    return Observed(
        host=world.probe.look(_questions(docs, checks, mode)),
        runtime=world.cri.look(docs.node.cri_socket, any(check.kind == "ContainerRuntimeVersion" for check in checks)),
        now=world.clock.now(),
        kubelet_version=world.host.kubelet_version(),
        files=files,
        directories=directories,
        etcd_data_is_ours=bool(directories.get(data_dir(docs))) and _holds_our_authority(docs, world, files),
        etcd_versions=_etcd_versions(docs, world, checks),
    )


def _questions(docs: Documents, checks: tuple[Check, ...], mode: str) -> Questions:
    def subjects(kind: str) -> tuple[str, ...]:
        return tuple(check.subject for check in checks if check.kind == kind)

    return Questions(
        ports=tuple(int(port) for port in subjects("Port")),
        addresses=tuple(filter(None, {docs.node.advertise_address, *_bind_addresses(docs)})) if subjects("Port") else (),
        executables=subjects("FileExisting"),
        sysctls=subjects("FileContent"),
        services=(*subjects("Service"), "firewalld"),
        dated_files=(*_KUBELET_PLACES, "/etc/machine-id", ca_path(docs)),
        node_name=registration(docs, mode).name or docs.node.name,
    )


def _bind_addresses(docs: Documents) -> set[str]:
    holders = (docs.cluster.api_server, docs.cluster.scheduler, docs.cluster.controller_manager)
    return {arg.value for holder in holders for arg in holder.extra_args if arg.name in ("bind-address", "advertise-address")}


def _files(docs: Documents, world: Any, checks: tuple[Check, ...]) -> dict[str, FileState | str]:
    wanted = {check.subject for check in checks if check.kind == "FileAvailable"}
    external = docs.cluster.etcd.external
    if any(check.kind == "SharedCertificates" for check in checks):
        wanted |= {*filter(None, carried(docs).values()), BOOTSTRAP_CONF}
    if external is not None and any(check.kind == "ExternalEtcdClientCertificates" for check in checks):
        wanted |= set(filter(None, (external.ca_file, external.cert_file, external.key_file)))
    found: dict[str, FileState | str] = {}
    for path in sorted({*wanted, KUBELET_CONF, ca_path(docs), f"{docs.cluster.certificates_dir}/ca.crt"}):
        try:
            state = world.files.read(path)
        except Unusable as problem:
            state = problem.found
        if state is not None:
            found[path] = state
    return found


def _holds_our_authority(docs: Documents, world: Any, files: Mapping[str, FileState | str]) -> bool:
    """Look for the cluster's CA inside etcd's data, where every namespace has it in the ConfigMap kube-root-ca.crt."""
    authority = files.get(f"{docs.cluster.certificates_dir}/ca.crt")
    if not isinstance(authority, FileState):
        return False
    _begin, _mark, rest = authority.content.partition(b"-----BEGIN CERTIFICATE-----\n")
    body = rest.partition(b"\n-----END")[0]
    return bool(body) and bool(world.probe.holds(f"{data_dir(docs)}/member/snap/db", body))


def _etcd_versions(docs: Documents, world: Any, checks: tuple[Check, ...]) -> Mapping[str, str]:
    external = docs.cluster.etcd.external
    if external is None or not any(check.kind == "ExternalEtcdVersion" for check in checks):
        return {}
    versions: Mapping[str, str] = world.etcd_versions.ask(external.http_endpoints, external.ca_file, external.cert_file, external.key_file)
    return versions
