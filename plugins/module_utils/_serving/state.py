# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How it stands with the serving certificates, seen from one host in one look: what a play decides by."""

from __future__ import annotations

import ipaddress
import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import WORKER, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import SERVER_BOOTSTRAP, extra_argument, rotating_certificate
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.virgin import MANIFESTS, virgin_host
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import KubeletPlace, Serving
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import is_open
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.places import APPROVER, ROTATOR, SETTINGS
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.store import Store, is_stored_pair
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import SIGNER, parsed_ip

SELF_SIGNED, BY_KUBELET, BY_COLLECTION = "self-signed", "kubelet", "collection"
_API_SERVER = f"{MANIFESTS}/kube-apiserver.yaml"
_FLAG = b"--kubelet-certificate-authority="
_SIGNING = ("cluster-signing-key-file", "cluster-signing-kubelet-serving-key-file")
_PORT = 10250


@dataclass(frozen=True)
class Observed:
    """What there is of the feature on the host; what the kubelet shows is asked for only where it matters."""

    traces: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    hostname: str = ""
    shown: Serving | None = None
    # None where the API server could not be asked, or the host is none of those that ask it.
    requests: int | None = None
    verifying: bool = False
    unsigning: bool = False
    policy: Mapping[str, Any] = field(default_factory=dict)


class ServingState:
    """A look that changes nothing."""

    name = "serving"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look for what the feature leaves on a host; where it is wanted, at what the kubelet shows and at open requests."""
        mode = options.get("serving_certificates") or SELF_SIGNED
        traces = _traces(docs, world.files, mode)
        if mode == SELF_SIGNED:
            return Observed(traces)
        addresses = _addresses(docs, world.host.addresses(), _told(docs, world))
        manifest = world.files.read(_API_SERVER)
        return Observed(
            traces=traces,
            addresses=addresses,
            hostname=world.host.hostname(),
            shown=_shown(docs, world, addresses),
            requests=_open_requests(docs, world),
            verifying=manifest is not None and _FLAG in manifest.content,
            unsigning=_cannot_sign(docs, world.files),
            policy=_installed(world.files.read(SETTINGS)),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Tell what was seen; refuse what can never come to an end."""
        if seen.unsigning:
            raise Unusable(
                f"{docs.cluster.certificates_dir}/ca.key",
                "it is not here, so nobody would sign the serving certificates of kubelets",
                "Let kubephase_kubelet_serving_certificates be self-signed, or give the controller manager a key to sign with",
            )
        facts: dict[str, Any] = {"node": docs.node.name, "traces": list(seen.traces)}
        if (options.get("serving_certificates") or SELF_SIGNED) != SELF_SIGNED:
            shown = seen.shown
            facts.update(
                hostname=seen.hostname,
                addresses=list(seen.addresses),
                served=shown is not None and shown.served,
                problem="there is no certificate authority yet" if shown is None else shown.problem,
                open_requests=seen.requests,
                verifying=seen.verifying,
                policy=seen.policy,
            )
        return Plan(facts={"serving": facts})


def _traces(docs: Documents, files: Any, mode: str) -> tuple[str, ...]:
    """What is there of the feature and should not be."""
    if mode == BY_COLLECTION:
        return ()
    rotator = [path for path in ROTATOR if files.exists(path)]
    if mode == BY_KUBELET:
        return tuple(rotator)
    store = Store(posixpath.dirname(rotating_certificate(docs)))
    # Where the kubelet asks by itself although nobody told us to see to it, its certificates are its own affair.
    own = () if docs.kubelet.get(SERVER_BOOTSTRAP) else tuple(path for path in files.below(store.directory) if is_stored_pair(store, path))
    return (*(path for path in APPROVER if files.exists(path)), *rotator, *own)


def _told(docs: Documents, world: Any) -> str:
    """The address at which the API server reaches the kubelet, once there is a Node; at others it need not have a certificate."""
    try:
        node = (world.node_api.get(node_key(docs.node.name)) if world.node_api.admitted() else None) or {}
    except Unusable:
        return ""
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((str(each.get("address") or "") for each in addresses if each.get("type") == "InternalIP"), "")


def _addresses(docs: Documents, found: Sequence[str], told: str) -> tuple[str, ...]:
    """The host's addresses, that of the node first; none of a network of pods or Services, and none only because a Node tells it."""
    stated = [docs.node.advertise_address, *(extra_argument(docs, "node-ip") or "").split(",")]
    networking = docs.cluster.networking
    inner = [*(parse_networks(networking.pod_subnet) or ()), *(parse_networks(networking.service_subnet) or ())]
    outer = [each for each in found if not any(ipaddress.ip_address(each) in network for network in inner)]
    known = list(dict.fromkeys(str(parsed_ip(each)) for each in (*stated, *outer) if parsed_ip(each) is not None))
    return tuple(sorted(known, key=lambda each: each != told))


def _shown(docs: Documents, world: Any, addresses: Sequence[str]) -> Serving | None:
    """What the kubelet of this host shows to somebody who trusts the cluster's CA."""
    authority = world.files.read(f"{docs.cluster.certificates_dir}/ca.crt")
    if authority is None or not addresses:
        return None
    place = KubeletPlace(docs.node.name, addresses[0], int(docs.kubelet.get("port") or _PORT))
    found: tuple[Serving, ...] = world.ports.look((place,), authority.content)
    return found[0]


def _open_requests(docs: Documents, world: Any) -> int | None:
    if docs.becomes == WORKER or virgin_host(world):
        return None
    try:
        return len(world.signing.requests(SIGNER, is_open))
    except Unusable:
        # Whoever needs the API server says so better.
        return None


def _cannot_sign(docs: Documents, files: Any) -> bool:
    """On a control plane, whether the CA's key is elsewhere and the controller manager was given no other one."""
    if docs.becomes == WORKER or any(arg.name in _SIGNING for arg in docs.cluster.controller_manager.extra_args):
        return False
    directory = docs.cluster.certificates_dir
    return files.exists(f"{directory}/ca.crt") and not files.exists(f"{directory}/ca.key")


def _installed(settings: Any) -> dict[str, Any]:
    """The policy that the standing approver has, for hosts that a play does not look at."""
    try:
        found = json.loads(settings.content) if settings is not None else {}
        nodes = found.get("nodes")
    except (ValueError, AttributeError):
        return {}
    return dict(nodes) if isinstance(nodes, dict) else {}
