# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the members are, and with what this host may ask them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import join_host_port
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.control_plane import certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import load
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.etcd import EtcdAccess, EtcdView
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest

ADMIN = "/etc/kubernetes/admin.conf"

_ANNOTATION = "kubeadm.kubernetes.io/etcd.advertise-client-urls"
_LABELS = "component=etcd,tier=control-plane"
_FLAG = "--initial-cluster="


def peer_url(docs: Documents) -> str:
    """Where other members find this host's."""
    return f"https://{join_host_port(docs.node.advertise_address, docs.known_release.ports['etcd-peer'])}"


def client_url(docs: Documents) -> str:
    """Where clients find this host's member."""
    return f"https://{join_host_port(docs.node.advertise_address, docs.known_release.ports['etcd-client'])}"


def access(docs: Documents) -> EtcdAccess:
    """The files that kubeadm asks etcd with, too."""
    return EtcdAccess(
        certificate(docs, "etcd/ca.crt"),
        certificate(docs, "etcd/healthcheck-client.crt"),
        certificate(docs, "etcd/healthcheck-client.key"),
        float(docs.known_release.etcd_call_seconds),
    )


def patience(docs: Documents) -> float:
    """How long the release tries to get an answer or a change out of etcd."""
    release = docs.known_release
    return docs.timeouts.etcd_api_call.total_seconds() if release.timeouts["etcdAPICall"] else float(release.etcd_backoff_seconds)


def unarmed(docs: Documents, world: Any) -> str:
    """Name the first file without which nobody can be asked, or nothing; on a host that has yet to join there is none of them."""
    held = access(docs)
    wanted = (ADMIN, held.authority, held.certificate, held.key)
    return next((path for path in wanted if not world.files.exists(path)), "")


def find_endpoints(docs: Documents, world: Any, options: Mapping[str, Any], manifest: FileState | None) -> tuple[str, ...]:
    """Find the members' client URLs, this host's own last: as told, else by the API server, else from the manifest that is here."""
    found = tuple(options.get("endpoints") or ())
    if not found:
        try:
            world.api.talk_to("")
            found = _of_pods(world.api.list("v1", "Pod", "kube-system", label_selector=_LABELS))
        except Unusable:
            # Without a majority in etcd the API server is silent; then this host's manifest may know the way.
            found = tuple(_of_manifest(docs, manifest))
            if not found:
                raise
    return _own_last(docs, found)


def synced(docs: Documents, view: EtcdView, found: Sequence[str]) -> tuple[str, ...]:
    """Take the URLs that the members themselves tell; a learner cannot answer for the cluster."""
    told = [url for member in view.voters for url in member.client_urls]
    return _own_last(docs, tuple(told) or tuple(found))


def _own_last(docs: Documents, urls: Sequence[str]) -> tuple[str, ...]:
    own = client_url(docs)
    unique = dict.fromkeys(url.rstrip("/") for url in urls)
    return (*(url for url in unique if url != own), *(url for url in unique if url == own))


def _of_pods(pods: Sequence[Manifest]) -> tuple[str, ...]:
    told = [str((pod.get("metadata", {}).get("annotations") or {}).get(_ANNOTATION) or "") for pod in pods]
    found = tuple(url for each in told for url in each.split(",") if url)
    if not found:
        raise Unusable(
            f"Pods kube-system, {_LABELS}",
            f"none of {len(pods)} tells by its annotation {_ANNOTATION} where etcd is",
            "See that etcd runs as static pods on the control planes, or name members with the option endpoints",
        )
    return found


def _of_manifest(docs: Documents, manifest: FileState | None) -> list[str]:
    """Guess the other members' client URLs from where their peers find them: kubeadm uses the same ports everywhere."""
    try:
        command = load(manifest.content)["spec"]["containers"][0]["command"] if manifest is not None else []
        flags = [str(word)[len(_FLAG) :] for word in command if str(word).startswith(_FLAG)]
        hosts = [urlsplit(member.partition("=")[2]).hostname for flag in flags for member in flag.split(",")]
    except (ValueError, KeyError, IndexError, TypeError):
        return []
    port = docs.known_release.ports["etcd-client"]
    return [f"https://{join_host_port(host, port)}" for host in hosts if host]
