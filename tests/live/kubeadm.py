# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The real kubeadm on nodes of the lab, with the same documents that the collection is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from live.fleet import Fleet
from live.node import KUBECTL, Node

IGNORED = "SystemVerification,NumCPU,Mem"


@dataclass(frozen=True)
class Invitation:
    """What a node needs to join a cluster; for a control plane also the key of the certificates."""

    endpoint: str
    token: str
    pin: str
    certificate_key: str = ""

    @property
    def discovery(self) -> dict[str, Any]:
        """The part of a JoinConfiguration that says how to find the cluster."""
        return {"bootstrapToken": {"apiServerEndpoint": self.endpoint, "token": self.token, "caCertHashes": [self.pin]}}


def documents(node: Node, kind: str) -> dict[str, Any]:
    """Give one of the lab's documents."""
    stream = yaml.safe_load_all((node.manifests / "kubeadm.yaml").read_text())
    return next(document for document in stream if document["kind"] == kind)


def init(fleet: Fleet) -> None:
    """Make a cluster of the first node, with the pod network of the lab."""
    first = fleet["cp1"]
    first.run("cat > /run/kubeadm.yaml", (first.manifests / "kubeadm.yaml").read_bytes())
    first.run("kubeadm init --config /run/kubeadm.yaml")
    first.run(f"{KUBECTL} apply -f -", (first.manifests / "flannel.yaml").read_bytes())


def invite(node: Node) -> Invitation:
    """Let kubeadm make a token, and say what a node joins with."""
    words = node.run("kubeadm token create --print-join-command").split()
    return Invitation(words[2], words[words.index("--token") + 1], words[words.index("--discovery-token-ca-cert-hash") + 1])


def join(node: Node, invitation: Invitation) -> None:
    """Let kubeadm join a node, as a control plane if there is a key."""
    document = {**documents(node, "JoinConfiguration"), "discovery": invitation.discovery}
    if invitation.certificate_key:
        document["controlPlane"] = {
            "localAPIEndpoint": {"advertiseAddress": node.address},
            "certificateKey": invitation.certificate_key,
        }
    node.run("umask 077; cat > /run/join.yaml", yaml.safe_dump(document).encode())
    node.run("kubeadm join --config /run/join.yaml; rm /run/join.yaml")
