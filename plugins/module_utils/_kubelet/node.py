# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""This node as its kubelet is told about it."""

from __future__ import annotations

import posixpath

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import PatchNode
from ansible_collections.kubephase.cluster.plugins.module_utils._release import gate_is_on

DIRECTORY = "/var/lib/kubelet"
SERVICE = "kubelet"
CONFIG = f"{DIRECTORY}/config.yaml"
KUBECONFIG = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"

# How the kubelet names the files of its serving certificates.
SERVING = "kubelet-server"
SERVING_FILES = ("tlsCertFile", "tlsPrivateKeyFile")
SERVER_BOOTSTRAP = "serverTLSBootstrap"

_CURRENT = "kubelet-client-current.pem"


def extra_argument(docs: Documents, name: str) -> str | None:
    """Find the value of an extra argument of the kubelet; the last one wins."""
    values = [argument.value for argument in docs.registration.kubelet_extra_args if argument.name == name]
    return values[-1] if values else None


def has_instance_config(docs: Documents) -> bool:
    """Tell whether the runtime's socket is kept in a file of the node."""
    return _by_gate(docs, docs.known_release.instance_config, with_gate=True)


def has_endpoint_flag(docs: Documents) -> bool:
    """Tell whether the runtime's socket is a flag of the kubelet."""
    return _by_gate(docs, docs.known_release.runtime_endpoint_flag, with_gate=False)


def rotating_certificate(docs: Documents) -> str:
    """Name the file of the client certificate that the kubelet rotates."""
    directory = extra_argument(docs, "cert-dir")
    return posixpath.normpath(posixpath.join(f"{DIRECTORY}/pki" if directory is None else directory, _CURRENT))


def serving_certificate(docs: Documents) -> str:
    """Name the link to the serving certificate that was signed for the kubelet."""
    return posixpath.join(posixpath.dirname(rotating_certificate(docs)), f"{SERVING}-current.pem")


def runtime_annotation(docs: Documents) -> PatchNode | None:
    """The node's container runtime, which kubeadm noted on the Node until a file on the node took over."""
    if not _by_gate(docs, docs.known_release.cri_socket_annotation, with_gate=False):
        return None
    return PatchNode(docs.node.name, annotations={CRI_SOCKET: docs.node.cri_socket})


def _by_gate(docs: Documents, rule: str, with_gate: bool) -> bool:
    if rule != "gate":
        return rule == "always"
    return gate_is_on(docs.known_release.gates, "NodeLocalCRISocket", docs.cluster.feature_gates) is with_gate
