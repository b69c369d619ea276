# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What somebody may have done to a cluster since the last run, the phase that has to put it right, and what it will touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

from live import leaves
from live.leaves import PKI
from live.node import KUBECTL, Node

SCHEDULER = "/etc/kubernetes/manifests/kube-scheduler.yaml"
KUBELET = "/var/lib/kubelet/config.yaml"
ROLE = "node-role.kubernetes.io/control-plane"
THIS_NODE = "node $(hostname)"


@dataclass(frozen=True)
class Deviation:
    """A thing done to a node, as a script or a function; the phase that sees it, and the targets of its diff."""

    name: str
    plant: Union[str, Callable[[Node], None]]  # noqa: UP007  # evaluated, on Python 3.9 too
    phase: str = ""
    targets: tuple[str, ...] = ()

    def apply(self, node: Node) -> None:
        """Do it."""
        if isinstance(self.plant, str):
            node.run(self.plant)
        else:
            self.plant(node)


def edited(path: str, old: str, new: str) -> str:
    """Spell a script that replaces a text in place, with no other file beside it; one that finds nothing fails."""
    return f"grep -q -- '{old}' {path}; sed 's/{old}/{new}/' {path} > /run/edited; cat /run/edited > {path}; rm /run/edited"


def kubectl(arguments: str) -> str:
    """Spell a script that asks the cluster as its administrator."""
    return f"{KUBECTL} {arguments}"


def system(arguments: str) -> str:
    """Spell the same for the namespace of the system."""
    return kubectl(f"-n kube-system {arguments}")


def rewritten(configmap: str, expression: str) -> str:
    """Spell a script that edits a ConfigMap of the system."""
    return f"{system(f'get cm {configmap} -o yaml')} | sed '{expression}' | {kubectl('replace -f -')}"


# Those of a round are planted together: no one of them hides another, and the targets tell them apart.
ROUNDS = {
    "something edited": (
        Deviation("a key that others may read", f"chmod 0644 {PKI}/sa.key", "certs", (f"{PKI}/sa.key",)),
        Deviation(
            "a kubeconfig that others may read", "chmod 0644 /etc/kubernetes/admin.conf", "kubeconfig", ("/etc/kubernetes/admin.conf",)
        ),
        Deviation(
            "a kubelet file edited",
            edited(KUBELET, "LowThresholdPercent: 99", "LowThresholdPercent: 98"),
            "kubelet-start",
            (KUBELET, "kubelet.service"),
        ),
        Deviation(
            "a flag of a manifest edited",
            edited(SCHEDULER, "--bind-address=127.0.0.1", "--bind-address=0.0.0.0"),
            "control-plane",
            (SCHEDULER,),
        ),
        Deviation(
            "a ConfigMap edited",
            rewritten("kubeadm-config", "s/clusterName:.*/clusterName: other/"),
            "upload-config",
            ("ConfigMap kube-system/kubeadm-config",),
        ),
        Deviation("a taint removed", kubectl(f"taint {THIS_NODE} {ROLE}-"), "mark-control-plane", ("Node {node}",)),
        Deviation(
            "a role emptied",
            kubectl("-n kube-public patch role kubeadm:bootstrap-signer-clusterinfo --type=merge -p '{\"rules\":[]}'"),
            "bootstrap-token",
            ("Role kube-public/kubeadm:bootstrap-signer-clusterinfo",),
        ),
        Deviation(
            "another image of CoreDNS",
            system("set image deployment/coredns coredns=registry.k8s.io/coredns/coredns:other"),
            "addon",
            ("Deployment kube-system/coredns",),
        ),
    ),
    "something gone": (
        Deviation(
            "a certificate without its key", f"rm {PKI}/apiserver-kubelet-client.key", "certs", (f"{PKI}/apiserver-kubelet-client.crt",)
        ),
        Deviation("a kubeconfig removed", "rm /etc/kubernetes/scheduler.conf", "kubeconfig", ("/etc/kubernetes/scheduler.conf",)),
        Deviation("a kubelet that does not run", "systemctl stop kubelet", "kubelet-start", ("kubelet.service",)),
        Deviation("a manifest removed", f"rm {SCHEDULER}", "control-plane", (SCHEDULER,)),
        Deviation("a ConfigMap deleted", system("delete cm kubelet-config"), "upload-config", ("ConfigMap kube-system/kubelet-config",)),
        # Of a task that says no_log there is no diff.
        Deviation("the uploaded certificates deleted", system("delete secret kubeadm-certs"), "upload-certs"),
        Deviation("a label removed", kubectl(f"label {THIS_NODE} {ROLE}-"), "mark-control-plane", ("Node {node}",)),
        Deviation(
            "a binding deleted",
            kubectl("delete clusterrolebinding kubeadm:kubelet-bootstrap"),
            "bootstrap-token",
            ("ClusterRoleBinding kubeadm:kubelet-bootstrap",),
        ),
        Deviation(
            "a service account deleted", system("delete serviceaccount kube-proxy"), "addon", ("ServiceAccount kube-system/kube-proxy",)
        ),
    ),
    "something stale": (
        Deviation("an expired certificate", leaves.expired, "certs", (f"{PKI}/apiserver-kubelet-client.crt",)),
        Deviation("a certificate of a stranger", leaves.foreign, "certs", (f"{PKI}/front-proxy-client.crt",)),
        Deviation("a kubelet older than its file", f"touch {KUBELET}", "kubelet-start", ("kubelet.service",)),
        Deviation(
            "the Service of the DNS edited",
            system('patch service kube-dns --type=json -p \'[{"op":"replace","path":"/spec/ports/2/targetPort","value":9154}]\''),
            "addon",
            ("Service kube-system/kube-dns",),
        ),
    ),
    "a kubelet.conf that is not renewed": (
        Deviation("a fixed certificate", leaves.fixed, "kubelet-finalize", ("/etc/kubernetes/kubelet.conf", "kubelet.service")),
    ),
    "an administrator without rights": (
        Deviation(
            "the binding of the administrators deleted",
            kubectl("delete clusterrolebinding kubeadm:cluster-admins"),
            "wait-control-plane",
            ("ClusterRoleBinding kubeadm:cluster-admins",),
        ),
    ),
}

# What is the user's own, and must not show up.
THEIRS = (
    Deviation("CoreDNS scaled", system("scale deployment coredns --replicas=1")),
    Deviation("a label of the user's on the node", kubectl(f"label {THIS_NODE} --overwrite example.test/rack=r1")),
    Deviation("a taint of the user's on the node", kubectl(f"taint {THIS_NODE} --overwrite example.test/mine=yes:PreferNoSchedule")),
    Deviation("an annotation of the user's on a ConfigMap", system("annotate cm kubeadm-config --overwrite example.test/seen=yes")),
    Deviation("a label of the user's on a Deployment", system("label deployment coredns --overwrite example.test/team=dns")),
    Deviation("a plugin more in the Corefile", rewritten("coredns", r"s/^\( *\)errors$/\1errors\n\1log/")),
    Deviation("a mode that is stricter than ours", f"chmod 0600 {PKI}/ca.crt"),
    Deviation("a file of the user's beside ours", f"echo mine > {PKI}/mine.txt"),
)
