# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts of a cluster might tell: one that is well, one that is not, and one whose names are meant to do harm."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

NOW = "2026-11-16T12:00:00Z"
_NOW = datetime(2026, 11, 16, 12, tzinfo=timezone.utc)
EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&\x00\u202e"


def stamp(days: float) -> str:
    """A moment so many days from now."""
    return (_NOW + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def certificate(path: str, days: int, kind: str = "pki", authority: bool = False) -> dict[str, Any]:
    """A certificate with so many days left."""
    return {
        "path": path,
        "kind": kind,
        "position": 0,
        "subject": "CN=kube-apiserver",
        "issuer": "CN=kubernetes",
        "names": ["cp1", "kubernetes.default.svc.cluster.local", "192.0.2.10"],
        "authority": authority,
        "not_before": stamp(days - (3650 if authority else 365)),
        "not_after": stamp(days),
        "days_left": days,
    }


def node(name: str, role: str = "", ready: bool = True, **more: Any) -> dict[str, Any]:
    """A Node as cluster_info tells of it."""
    return {
        "name": name,
        "roles": [role] if role else [],
        "ready": ready,
        "schedulable": True,
        "created": stamp(-40),
        "kubelet_version": "v1.37.1",
        "runtime": "containerd://1.7.27",
        "system": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.1.0-40-amd64",
        "architecture": "amd64",
        "addresses": [{"type": "InternalIP", "address": "192.0.2.10"}, {"type": "Hostname", "address": name}],
        "pod_cidrs": ["10.244.0.0/24"],
        "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "north"},
        "taints": [{"key": "node-role.kubernetes.io/control-plane", "value": "", "effect": "NoSchedule"}] if role else [],
        "conditions": [
            {"type": "Ready", "status": "True" if ready else "False", "reason": "KubeletNotReady", "message": "the network is not ready"},
            {"type": "DiskPressure", "status": "False", "reason": "", "message": ""},
        ],
        **more,
    }


def component(name: str, version: str = "v1.37.1", found: str = "") -> dict[str, Any]:
    """A static pod."""
    started = (_NOW - timedelta(days=40)).timestamp()
    return {
        "name": name,
        "image": f"r/{name}:{version}",
        "version": version,
        "healthy": not found,
        "found": found,
        "restarts": 0,
        "started": started,
    }


def member(name: str, leader: bool = False, **more: Any) -> dict[str, Any]:
    """A member of etcd."""
    return {
        "name": name,
        "id": "8e9e05c52164694d",
        "peer_urls": ["https://192.0.2.10:2380"],
        "client_urls": ["https://192.0.2.10:2379"],
        "voting": True,
        "healthy": True,
        "found": "",
        "leader": leader,
        "version": "3.7.0",
        "db_size": 7_340_032,
        **more,
    }


def info(name: str, role: str = "control-plane", **more: Any) -> dict[str, Any]:
    """What cluster_info returns on a host that is well."""
    control_plane = role == "control-plane"
    certificates = [certificate("/var/lib/kubelet/pki/kubelet-client-current.pem", 320, "kubelet")]
    if control_plane:
        certificates += [
            certificate("/etc/kubernetes/pki/ca.crt", 3610, authority=True),
            certificate("/etc/kubernetes/pki/apiserver.crt", 325),
            certificate("/etc/kubernetes/pki/etcd/server.crt", 325),
            certificate("/etc/kubernetes/admin.conf", 325, "kubeconfig"),
        ]
    components = [component(each) for each in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")]
    return {
        "changed": False,
        "node": name,
        "role": role,
        "host": {
            "hostname": name,
            "cpus": 4,
            "memory_mb": 7938,
            "system": "Debian GNU/Linux 12 (bookworm)",
            "runtime": "containerd 1.7.27",
        },
        "kubelet": {**component("kubelet"), "active": True},
        "components": [component("etcd", "3.7.0-0"), *components] if control_plane else [],
        "certificates": certificates,
        "etcd_members": [member("cp1", leader=True)] if control_plane else [],
        "unread": [],
        **(_cluster() if control_plane else {}),
        **more,
    }


def _cluster() -> dict[str, Any]:
    return {
        "cluster": {
            "name": "staging",
            "version": "v1.37.1",
            "wanted_version": "v1.37.1",
            "endpoint": "https://api.example.test:6443",
            "pod_subnet": "10.244.0.0/16",
            "service_subnet": "10.96.0.0/12",
            "dns_domain": "cluster.local",
        },
        "nodes": [node("cp1", "control-plane"), node("worker1")],
        "tokens": [],
        "addons": [{"name": "coredns", "kind": "Deployment", "image": "r/coredns:v1", "version": "v1.14.6", "wanted": 2, "ready": 2}],
    }


def plan(*phases: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What phase_plan returns."""
    pending = [phase["name"] for phase in phases]
    return {
        "changed": False,
        "state": "serving",
        "endpoint": "https://api.example.test:6443",
        "pending": pending,
        "phases": list(phases),
        **more,
    }


def phase(name: str, *changes: dict[str, str], reason: str = "") -> dict[str, Any]:
    """A phase with something to do."""
    return {"name": name, "pending": True, "reason": reason, "changes": list(changes)}


def change(target: str, reason: str, before: str, after: str) -> dict[str, str]:
    """One thing that differs."""
    return {"target": target, "reason": reason, "before": before, "after": after}


WELL = (
    {"name": "cp1", "info": info("cp1"), "plan": plan()},
    {"name": "worker1", "info": info("worker1", "worker"), "plan": plan(state="joined")},
)

_MANIFEST = "spec:\n  containers:\n  - command:\n    - kube-apiserver\n    - --audit-log-maxage=7\n    - --v=2\n"
ILL = (
    {
        "name": "cp1",
        "info": info(
            "cp1",
            nodes=[
                node("cp1", "control-plane"),
                node("cp2", "control-plane", schedulable=False),
                node("worker1", ready=False),
                node("guest"),
            ],
            etcd_members=[
                member("cp1", leader=True),
                member("cp2", db_size=5_767_168),
                member("cp3", voting=False, healthy=False, found="it does not answer: connection refused", version="", db_size=0),
            ],
            components=[component("etcd", "3.7.0-0"), component("kube-apiserver"), component("kube-scheduler", found="connection refused")],
            certificates=[
                certificate("/etc/kubernetes/pki/apiserver.crt", -3),
                certificate("/etc/kubernetes/pki/front-proxy-client.crt", 12),
                certificate("/etc/kubernetes/scheduler.conf", 64, "kubeconfig"),
                certificate("/etc/kubernetes/admin.conf", 301, "kubeconfig"),
                certificate("/etc/kubernetes/pki/ca.crt", 3200, authority=True),
            ],
            tokens=[
                {
                    "id": "abcdef",
                    "description": "",
                    "expires": "",
                    "usages": ["authentication"],
                    "groups": ["system:bootstrappers"],
                    "expired": False,
                },
                {
                    "id": "join01",
                    "description": "a join that is under way",
                    "expires": stamp(0.02),
                    "usages": ["authentication", "signing"],
                    "groups": ["system:bootstrappers:kubeadm:default-node-token"],
                    "expired": False,
                },
            ],
            addons=[
                {"name": "coredns", "kind": "Deployment", "image": "", "version": "v1.14.6", "wanted": 2, "ready": 1},
                {"name": "kube-proxy", "kind": "DaemonSet", "image": "", "version": "v1.37.1", "wanted": 4, "ready": 4},
            ],
            unread=[{"part": "certificates", "where": "/etc/kubernetes/pki/etcd/peer.crt", "reason": "its PEM certificate is corrupt"}],
        ),
        "plan": plan(
            phase(
                "certs",
                change("/etc/kubernetes/pki/apiserver.crt", "it expired on 2026-11-13", "expires: 2026-11-13\n", "expires: 2027-11-16\n"),
            ),
            phase(
                "control-plane",
                change(
                    "/etc/kubernetes/manifests/kube-apiserver.yaml",
                    "--audit-log-maxage differs from what the documents ask for",
                    _MANIFEST,
                    _MANIFEST.replace("maxage=7", "maxage=30"),
                ),
            ),
            phase("wait-control-plane", reason="it follows certs, control-plane"),
        ),
    },
    {
        "name": "cp2",
        "info": info("cp2"),
        "plan": {
            "failed": True,
            "msg": "ClusterConfiguration.networking.podSubnet: the cluster runs with 10.244.0.0/16, the documents ask for 10.0.0.0/8",
        },
    },
    {"name": "worker1", "info": info("worker1", "worker"), "plan": plan(state="joined")},
    {
        "name": "worker2",
        "info": {"unreachable": True, "msg": "Failed to connect to the host via ssh: No route to host"},
        "plan": {"unreachable": True, "msg": "Failed to connect to the host via ssh: No route to host"},
    },
)


def hostile(value: Any) -> Any:
    """The same with harm in every text, dates and what decides the layout left alone."""
    if isinstance(value, dict):
        return {
            key: each if key in ("not_before", "not_after", "created", "expires", "severity", "section", "kind") else hostile(each)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [hostile(each) for each in value]
    return f"{EVIL}{value}" if isinstance(value, str) else value


def labelled(hosts: Any) -> Any:
    """Harm in the names of labels as well."""
    for host in hosts:
        for each in (host["info"] or {}).get("nodes") or ():
            each["labels"] = {f"{EVIL}{name}": value for name, value in each["labels"].items()}
    return hosts
