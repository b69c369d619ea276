# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node and its cluster look like at a moment, in a form that two moments can be compared in."""

from __future__ import annotations

import json
from typing import Any

from live.node import Node

_KINDS = (
    "configmaps,secrets,serviceaccounts,services,deployments,daemonsets,pods,roles,rolebindings,"
    "clusterroles,clusterrolebindings,nodes,namespaces"
)
# What the kubelet and etcd write all the time once they run.
_THEIRS = r"/var/lib/kubelet/\(pods\|plugins\|device-plugins\|image_manager\|checkpoints\)[/ ]\|_state \|^/var/lib/etcd"


def files(node: Node, living: bool = True) -> list[str]:
    """Every file and directory with type, mode, owner, size and time; of a living node only what nobody else writes."""
    theirs = f"| grep -v '{_THEIRS}' | grep -v '^/var/lib/kubelet d'" if living else ""
    script = f"find /etc /var/lib/kubelet /var/lib/etcd /root /opt/cni -xdev -printf '%p %y %m %U:%G %s %T@ %l\\n' {theirs}"
    return sorted(line for line in node.run(script).splitlines() if not line.startswith("/root/.ansible"))


def serials(node: Node) -> str:
    """The serial number of every certificate, those in kubeconfigs too."""
    return node.run(
        "for f in $(find /etc/kubernetes/pki -name '*.crt' | sort); do echo $f $(openssl x509 -noout -serial -in $f); done;"
        "for f in /etc/kubernetes/*.conf; do sed -n 's/.*client-certificate-data: //p' $f | base64 -d |"
        ' (openssl x509 -noout -serial 2>/dev/null || true) | sed "s|^|$f |"; done'
    )


def processes(node: Node, living: bool = True) -> str:
    """Which containers and daemons run; a kubelet without a configuration is started by systemd again and again."""
    units, ids = ("kubelet containerd", "MainPID,NRestarts,") if living else ("containerd", "MainPID,")
    return node.run(
        f"systemctl show {units} -p Id,{ids}ExecMainStartTimestampMonotonic; systemctl list-unit-files --no-legend;"
        "crictl ps -aq | sort; crictl pods -q | sort"
    )


def objects(node: Node) -> dict[str, Any]:
    """Every object with its resourceVersion; one that somebody reports the state of all the time with all but its status."""
    seen: dict[str, Any] = {}
    for item in json.loads(node.kubectl(f"get {_KINDS} -A -o json --show-managed-fields"))["items"]:
        metadata = item["metadata"]
        name = f"{item['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        if "status" not in item:
            seen[name] = metadata["resourceVersion"]
            continue
        writers = [each for each in metadata["managedFields"] if each.get("subresource") != "status"]
        seen[name] = [metadata["uid"], item["spec"], metadata.get("labels"), metadata.get("annotations"), writers]
    return seen


def settle(node: Node) -> None:
    """Wait until the cluster has nothing left to do by itself: the node is ready and every workload is as it should be."""
    kubectl = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
    node.until(f"{kubectl} wait --for=condition=Ready node --all --timeout=2s")
    # The controller manager takes this back some seconds after a node has become ready.
    node.until(f"! {kubectl} get nodes -o yaml | grep 'key: node.kubernetes.io/not-ready'")
    for workload in ("deployment/coredns", "daemonset/kube-proxy"):
        node.until(f"{kubectl} -n kube-system rollout status {workload} --timeout=5s")
    node.until(f"{kubectl} -n kube-flannel rollout status daemonset --timeout=5s")
    node.until(f"! {kubectl} get pods -A --no-headers | grep -v ' Running '")
