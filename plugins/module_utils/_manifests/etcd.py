# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The etcd member of a control plane as kubeadm starts it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port, parse_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import LocalEtcd
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.arguments import command_line, last_value, with_flags_of
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.control_plane import Surroundings, certificate, loopback
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.pods import Component, Health, environment
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.volumes import Mount, same_path
from ansible_collections.kubephase.cluster.plugins.module_utils._release import etcd_image

ETCD = "etcd"

_ANNOTATION = "kubeadm.kubernetes.io/etcd.advertise-client-urls"
# What a member only reads while it has no data.
_INITIAL_FLAGS = ("initial-cluster", "initial-cluster-state")
_URL = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?//(?:[^@/?#]*@)?(\[[^\]/]*\]|[^:/?#]*)(?::([0-9]*))?(?:[/?#].*)?")
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)(-[^+]*)?(?:\+.*)?")


def etcd(docs: Documents, around: Surroundings, initial_cluster: Sequence[str], running: Sequence[str] | None) -> Component:
    """The member; running is the command of one that has data already, whose initial flags stay as they are."""
    local = docs.cluster.etcd.local or LocalEtcd()
    data = same_path("etcd-data", local.data_dir, read_only=False)
    certificates = same_path("etcd-certs", f"{docs.cluster.certificates_dir}/etcd", read_only=False)
    command = command_line(
        ETCD,
        _flags(docs, local, initial_cluster),
        local.extra_args,
        docs.known_release.extra_args_keep_order,
    )
    return Component(
        name=ETCD,
        image=etcd_image(local.image_repository or docs.cluster.image_repository, _tag(docs, local)),
        command=command if running is None else with_flags_of(command, running, _INITIAL_FLAGS),
        health=_health(docs, local, around),
        volumes=_sorted(data, certificates),
        mounts=(data, certificates),
        env=environment({}, local.extra_envs),
        memory=docs.known_release.etcd_memory_request,
        annotations={_ANNOTATION: _url(docs, docs.node.advertise_address, "etcd-client")},
    )


def _sorted(*mounts: Mount) -> list[Mount]:
    return sorted(mounts, key=lambda mount: mount.name)


def _tag(docs: Documents, local: LocalEtcd) -> str:
    return local.image_tag or docs.known_release.etcd_tag


def _url(docs: Documents, host: str, port: str, scheme: str = "https") -> str:
    return f"{scheme}://{join_host_port(host, docs.known_release.ports[port])}"


def _flags(docs: Documents, local: LocalEtcd, initial_cluster: Sequence[str]) -> list[tuple[str, str]]:
    client, peer = (_url(docs, docs.node.advertise_address, port) for port in ("etcd-client", "etcd-peer"))
    flags = [
        ("advertise-client-urls", client),
        ("cert-file", certificate(docs, "etcd/server.crt")),
        ("client-cert-auth", "true"),
        ("data-dir", local.data_dir),
        ("initial-advertise-peer-urls", peer),
        ("initial-cluster", ",".join(initial_cluster) or f"{docs.node.name}={peer}"),
        ("key-file", certificate(docs, "etcd/server.key")),
        ("listen-client-urls", f"{_url(docs, loopback(docs), 'etcd-client')},{client}"),
        ("listen-metrics-urls", _url(docs, loopback(docs), "etcd-metrics", "http")),
        ("listen-peer-urls", peer),
        ("name", docs.node.name),
        ("peer-cert-file", certificate(docs, "etcd/peer.crt")),
        ("peer-client-cert-auth", "true"),
        ("peer-key-file", certificate(docs, "etcd/peer.key")),
        ("peer-trusted-ca-file", certificate(docs, "etcd/ca.crt")),
        ("snapshot-count", "10000"),
        ("trusted-ca-file", certificate(docs, "etcd/ca.crt")),
    ]
    if initial_cluster:
        flags.append(("initial-cluster-state", "existing"))
    release = docs.known_release
    return [*flags, *(release.etcd_flags_from_3_6 if _from_3_6(_tag(docs, local)) else release.etcd_flags_before_3_6)]


def _from_3_6(tag: str) -> bool:
    """Tell whether a tag is 3.6.0 or later; 3.6.0-0 reads as a pre-release of it, and is not."""
    match = _VERSION.fullmatch(tag)
    if match is None:
        return False
    numbers = tuple(int(match[group]) for group in (1, 2, 3))
    return numbers >= (3, 6, 0) and not (numbers == (3, 6, 0) and match[4])


def _health(docs: Documents, local: LocalEtcd, around: Surroundings) -> Health:
    """Ask where the metrics are: at the first of listen-metrics-urls, where the user gives one."""
    host, port, scheme = loopback(docs), docs.known_release.ports["etcd-metrics"], "HTTP"
    asked = last_value(local.extra_args, "listen-metrics-urls")
    match = _URL.fullmatch(asked.split(",")[0]) if asked is not None else None
    if match is not None:  # what is no URL is left to etcd to refuse
        host, port = match[2].strip("[]") or host, parse_port(match[3] or "") or port
        scheme = "HTTPS" if (match[1] or "").lower() == "https" else "HTTP"
    return Health(host, port, scheme, around.start_timeout)
