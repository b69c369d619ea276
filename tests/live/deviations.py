# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What somebody may have done to a cluster since the last run, and the phases that have to put it right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Union

from live import leaves
from live.node import KUBECTL, Node

MANIFESTS = "/etc/kubernetes/manifests"
ADDRESS = "--bind-address=127.0.0.1"


@dataclass(frozen=True)
class Deviation:
    """A thing done to a node, as a script or a function, and the phases that see it."""

    name: str
    plant: Union[str, Callable[[Node], None]]  # noqa: UP007  # evaluated on Python 3.9 too
    phases: tuple[str, ...] = ()

    def apply(self, node: Node) -> None:
        """Do it."""
        if isinstance(self.plant, str):
            node.run(self.plant)
        else:
            self.plant(node)


def edited(path: str, old: str, new: str) -> str:
    """Spell a script that replaces a text, leaving no other file beside it; one that finds nothing fails."""
    return f"grep -q -- {old!r} {path}; sed s/{old}/{new}/ {path} > /run/edited; cat /run/edited > {path}; rm /run/edited"


def kubectl(arguments: str) -> str:
    """Spell a script that asks the cluster as its administrator."""
    return f"{KUBECTL} {arguments}"


def system(arguments: str) -> str:
    """Spell a script about the namespace of the system."""
    return kubectl(f"-n kube-system {arguments}")


NODE = "node $(hostname)"

DEVIATIONS = (
    Deviation(
        "a flag of a manifest edited", edited(f"{MANIFESTS}/kube-scheduler.yaml", ADDRESS, "--bind-address=0.0.0.0"), ("control-plane",)
    ),
    Deviation("a manifest removed", f"rm {MANIFESTS}/kube-scheduler.yaml", ("control-plane",)),
    Deviation("a key that others may read", f"chmod 0644 {leaves.PKI}/sa.key", ("certs",)),
    Deviation("an expired certificate", leaves.expired, ("certs",)),
    Deviation("a certificate of a stranger", leaves.foreign, ("certs",)),
    Deviation("a certificate without its key", f"rm {leaves.PKI}/apiserver-kubelet-client.key", ("certs",)),
    Deviation("a kubeconfig that others may read", "chmod 0644 /etc/kubernetes/admin.conf", ("kubeconfig",)),
    Deviation("a kubeconfig removed", "rm /etc/kubernetes/super-admin.conf", ("kubeconfig",)),
    Deviation("a kubelet file edited", edited("/var/lib/kubelet/config.yaml", "cluster.local", "cluster.local."), ("kubelet-start",)),
    Deviation("a kubelet older than its file", "touch /var/lib/kubelet/config.yaml", ("kubelet-start",)),
    Deviation("a kubelet that does not run", "systemctl stop kubelet", ("kubelet-start",)),
    Deviation("a kubelet.conf with a fixed certificate", leaves.fixed, ("kubelet-finalize",)),
    Deviation("a label removed", kubectl(f"label {NODE} node-role.kubernetes.io/control-plane-"), ("mark-control-plane",)),
    Deviation("a taint removed", kubectl(f"taint {NODE} node-role.kubernetes.io/control-plane-"), ("mark-control-plane",)),
    Deviation(
        "a ConfigMap edited",
        system("get cm kubeadm-config -o yaml") + "| sed s/clusterName:.*/clusterName:\\ other/ |" + kubectl("replace -f -"),
        ("upload-config",),
    ),
    Deviation("a ConfigMap deleted", system("delete cm kubelet-config"), ("upload-config",)),
    Deviation("a binding deleted", kubectl("delete clusterrolebinding kubeadm:kubelet-bootstrap"), ("bootstrap-token",)),
    Deviation(
        "a role emptied",
        kubectl("-n kube-public patch role kubeadm:bootstrap-signer-clusterinfo --type=merge -p '{\"rules\":[]}'"),
        ("bootstrap-token",),
    ),
    Deviation(
        "the binding of the administrators deleted", kubectl("delete clusterrolebinding kubeadm:cluster-admins"), ("wait-control-plane",)
    ),
    Deviation("another image of CoreDNS", system("set image deployment/coredns coredns=registry.k8s.io/coredns/coredns:other"), ("addon",)),
    Deviation(
        "the Service of the DNS edited",
        system('patch service kube-dns --type=json -p \'[{"op":"replace","path":"/spec/ports/2/targetPort","value":9154}]\''),
        ("addon",),
    ),
    Deviation("the uploaded certificates deleted", system("delete secret kubeadm-certs"), ("upload-certs",)),
    Deviation(
        "several at once",
        f"chmod 0640 {leaves.PKI}/sa.key; " + system("delete role kubeadm:kubelet-config") + "; " + system("delete serviceaccount coredns"),
        ("certs", "upload-config", "addon"),
    ),
)

# What is the user's own, and must not show up.
THEIRS = (
    Deviation("CoreDNS scaled", system("scale deployment coredns --replicas=1")),
    Deviation("a label of the user's on the node", kubectl(f"label {NODE} example.test/rack=r1")),
    Deviation("a taint of the user's on the node", kubectl(f"taint {NODE} example.test/mine=yes:PreferNoSchedule")),
    Deviation("an annotation of the user's on a ConfigMap", system("annotate cm kubeadm-config example.test/seen=yes")),
    Deviation("a label of the user's on a Deployment", system("label deployment coredns example.test/team=dns")),
    Deviation(
        "a plugin more in the Corefile",
        system("get cm coredns -o yaml") + "| sed 's/^\\( *\\)errors/\\1errors\\n\\1log/' |" + kubectl("replace -f -"),
    ),
    Deviation("a mode that is stricter than ours", f"chmod 0600 {leaves.PKI}/ca.crt"),
    Deviation("a file of the user's beside ours", f"echo mine > {leaves.PKI}/mine.txt"),
)
