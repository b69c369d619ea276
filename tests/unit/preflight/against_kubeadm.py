# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the preflight phase with that of the real kubeadm on a lab node that is broken in one way after the other.

Run it by hand on a node without a cluster:
python3 tests/unit/preflight/against_kubeadm.py INSTANCE [--release 1.28.15] [CASE ...]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LINE = re.compile(r"\[(ERROR|WARNING) ([^\]]+)\]")
_LISTEN = "systemd-run -q --unit=stranger python3 -m http.server {port} --bind {address} && sleep 1"
_STOP = "systemctl stop stranger"
_FAKE_KUBELET = (
    "mv /usr/bin/kubelet /usr/bin/kubelet.real && printf '#!/bin/sh\\necho Kubernetes {version}\\n' > /usr/bin/kubelet"
    " && chmod 755 /usr/bin/kubelet"
)
_REAL_KUBELET = "mv -f /usr/bin/kubelet.real /usr/bin/kubelet"
# All of them: Ansible keeps its connection, and with it a process of its own.
_BIND = "for server in $(pidof sshd); do taskset -acp {cpus} $server; done"
_MANIFEST = "/etc/kubernetes/manifests/{name}.yaml"
_EXTERNAL = {
    "endpoints": ["https://127.0.0.1:9"],
    "caFile": "/etc/none/ca.crt",
    "certFile": "/etc/none/c.crt",
    "keyFile": "/etc/none/c.key",
}


@dataclass(frozen=True)
class Broken:
    """One way to break a node, how to mend it, and the documents to look at it with."""

    do: str = "true"
    undo: str = "true"
    cluster: Mapping[str, Any] = field(default_factory=dict)
    node: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    # Checks that only we fail or warn of, or only kubeadm, each a difference that docs/preflight.md gives the reason of.
    only_ours: frozenset[str] = frozenset()
    only_theirs: frozenset[str] = frozenset()


def _away(path: str) -> tuple[str, str]:
    return f"mv {path} {path}.away", f"mv {path}.away {path}"


CASES: Mapping[str, Broken] = {
    "virgin": Broken(),
    "api port taken": Broken(_LISTEN.format(port=6443, address="0.0.0.0"), _STOP),
    "api port taken on loopback": Broken(_LISTEN.format(port=6443, address="127.0.0.1"), _STOP),
    "api port taken, another bound": Broken(
        _LISTEN.format(port=6443, address="127.0.0.1"),
        _STOP,
        {"apiServer": {"extraArgs": [{"name": "bind-address", "value": "ADDRESS"}]}},
    ),
    "kubelet port taken": Broken(_LISTEN.format(port=10250, address="0.0.0.0"), _STOP),
    "scheduler port taken": Broken(_LISTEN.format(port=10259, address="127.0.0.1"), _STOP),
    "controller manager port taken": Broken(_LISTEN.format(port=10257, address="::"), _STOP),
    "etcd port taken on loopback": Broken(_LISTEN.format(port=2379, address="127.0.0.1"), _STOP),
    "etcd port taken": Broken(_LISTEN.format(port=2380, address="ADDRESS"), _STOP),
    "bind-address of another host": Broken(cluster={"apiServer": {"extraArgs": [{"name": "bind-address", "value": "192.0.2.77"}]}}),
    "manifest there": Broken(
        f"mkdir -p /etc/kubernetes/manifests && echo hello > {_MANIFEST.format(name='kube-apiserver')}", "rm -r /etc/kubernetes/manifests"
    ),
    "etcd manifest there": Broken(
        f"mkdir -p /etc/kubernetes/manifests && echo hello > {_MANIFEST.format(name='etcd')}", "rm -r /etc/kubernetes/manifests"
    ),
    "data directory not empty": Broken("mkdir -p /var/lib/etcd/member", "rm -r /var/lib/etcd/member"),
    "another data directory": Broken(
        "mkdir -p /srv/etcd && touch /srv/etcd/x", "rm -r /srv/etcd", {"etcd": {"local": {"dataDir": "/srv/etcd"}}}
    ),
    "no forwarding": Broken("sysctl -qw net.ipv4.ip_forward=0", "sysctl -qw net.ipv4.ip_forward=1"),
    "dual-stack without IPv6 forwarding": Broken(
        "sysctl -qw net.ipv6.conf.default.forwarding=0",
        cluster={"networking": {"serviceSubnet": "10.96.0.0/12,fd00:96::/112", "podSubnet": "10.244.0.0/16,fd00:244::/56"}},
    ),
    "no losetup": Broken(*_away("/usr/sbin/losetup")),
    "no mount": Broken(*_away("/usr/bin/mount")),
    "no conntrack": Broken(*_away("/usr/sbin/conntrack")),
    "no nsenter and no iptables": Broken(
        "mv /usr/bin/nsenter /root && mv /usr/sbin/iptables /root", "mv /root/nsenter /usr/bin && mv /root/iptables /usr/sbin"
    ),
    "no ebtables and no socat": Broken(
        "mv /usr/sbin/ebtables /root && mv /usr/bin/socat /root", "mv /root/ebtables /usr/sbin && mv /root/socat /usr/bin"
    ),
    "bridges not filtered": Broken(
        "sysctl -qw net.bridge.bridge-nf-call-iptables=0 || true", "sysctl -qw net.bridge.bridge-nf-call-iptables=1 || true"
    ),
    "no crictl": Broken(
        *_away("/usr/bin/crictl"), only_ours=frozenset({"FileExisting-crictl"}), only_theirs=frozenset({"ContainerRuntimeVersion"})
    ),
    "no runtime": Broken("systemctl stop containerd", "systemctl start containerd"),
    "another socket": Broken(node={"criSocket": "unix:///run/none.sock"}),
    "kubelet not enabled": Broken("systemctl -q disable kubelet", "systemctl -q enable kubelet"),
    "no kubelet": Broken(*_away("/usr/bin/kubelet")),
    "kubelet too old": Broken(_FAKE_KUBELET.format(version="v1.33.0"), _REAL_KUBELET),
    "kubelet too new": Broken(_FAKE_KUBELET.format(version="v1.38.0"), _REAL_KUBELET),
    "name unknown": Broken(node={"name": "nobody-knows-me"}),
    "one processor": Broken(_BIND.format(cpus="0"), _BIND.format(cpus="0-1")),
    "swap": Broken(
        "printf 'Filename Type Size Used Priority\\n/swap file 1 0 -2\\n' > /root/swaps && mount --bind /root/swaps /proc/swaps",
        "umount /proc/swaps",
    ),
    "kernel without memcg": Broken(
        "zcat /proc/config.gz | grep -v '^CONFIG_MEMCG=' | gzip > /root/config.gz && mount --bind /root/config.gz /proc/config.gz",
        "umount /proc/config.gz",
    ),
    "firewalld": Broken(
        "printf '[Service]\\nExecStart=/usr/bin/sleep inf\\n' > /run/systemd/system/firewalld.service"
        " && systemctl daemon-reload && systemctl start firewalld",
        "systemctl stop firewalld; rm /run/systemd/system/firewalld.service; systemctl daemon-reload",
    ),
    "proxy": Broken(environment={"HTTPS_PROXY": "http://user:canary@proxy.test:3128"}),
    "proxy with exceptions": Broken(
        environment={"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "10.96.0.0/12,10.213.0.0/16"},
        cluster={"networking": {"podSubnet": "10.244.0.0/16"}},
    ),
    "external etcd": Broken(cluster={"etcd": {"external": _EXTERNAL}}),
    "images that nobody has": Broken(
        cluster={"imageRepository": "127.0.0.1:9/none"}, node={"ignorePreflightErrors": ["SystemVerification"]}
    ),
    "images that nobody has, never pulled": Broken(
        cluster={"imageRepository": "127.0.0.1:9/none"},
        node={"ignorePreflightErrors": ["SystemVerification"], "imagePullPolicy": "Never"},
        only_ours=frozenset({"ImagePull"}),
    ),
}


class Node:
    """A lab node over ssh."""

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._inventory = self._lab("inventory").strip()
        self.address = self.run("hostname -I").split()[0]

    def run(self, command: str, given: str = "") -> str:
        """Run a command; its output, standard error included."""
        return self._lab("ssh", "cp1", f"{{ {command.replace('ADDRESS', getattr(self, 'address', ''))}; }} 2>&1", given=given)

    def bring_kubeadm(self, release: str) -> None:
        """Copy the real kubeadm of a release to the node."""
        binary = subprocess.run(
            [sys.executable, "-m", "lab", "kubeadm", release], capture_output=True, text=True, check=True
        ).stdout.strip()
        command = [sys.executable, "-m", "lab", "ssh", "--instance", self._instance, "cp1"]
        with open(binary, "rb") as content:
            subprocess.run([*command, f"cat > /root/kubeadm-{release} && chmod 755 /root/kubeadm-{release}"], stdin=content, check=True)

    def ours(self, options: Mapping[str, Any], environment: Mapping[str, str]) -> list[dict[str, str]]:
        """Run the module as Ansible does; its list of checks."""
        with tempfile.TemporaryDirectory() as place:
            told = Path(place, "told.json")
            tasks: list[dict[str, Any]] = [
                {"kubephase.cluster.preflight_check": dict(options), "register": "it", "ignore_errors": True},
                {"ansible.builtin.copy": {"content": "{{ it | to_json }}", "dest": str(told), "mode": "0600"}, "delegate_to": "localhost"},
            ]
            play = {"hosts": "control_plane", "gather_facts": False, "environment": dict(environment), "tasks": tasks}
            command = ["ansible-playbook", "-i", self._inventory, "/dev/stdin"]
            done = subprocess.run(command, input=json.dumps([play]), capture_output=True, text=True, check=False)
            said = done.stdout + done.stderr
            if not told.exists():
                raise SystemExit(said)
            result = json.loads(told.read_text())
        if "canary" in json.dumps(result):
            raise SystemExit("a password of the environment was shown")
        checks: list[dict[str, str]] = result.get("checks") or []
        return checks or [{"name": "(refused)", "outcome": "failed", "found": str(result.get("msg"))}]

    def _lab(self, *arguments: str, given: str = "") -> str:
        command = [sys.executable, "-m", "lab", arguments[0], "--instance", self._instance, *arguments[1:]]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=False).stdout


def documents(case: Broken, node: Node, release: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    cluster = json.loads(json.dumps({"kubernetesVersion": f"v{release}", **case.cluster}).replace("ADDRESS", node.address))
    init = {"nodeRegistration": {"criSocket": "unix:///var/run/containerd/containerd.sock", **case.node}}
    return cluster, init, {"cgroupDriver": "cgroupfs"}


def theirs(node: Node, case: Broken, release: str) -> dict[str, str]:
    """What kubeadm says: ERROR or WARNING by the name of the check."""
    cluster, init, kubelet = documents(case, node, release)
    api = "kubeadm.k8s.io/v1beta4"
    if release < "1.31":
        api = "kubeadm.k8s.io/v1beta3"
        cluster = json.loads(json.dumps(cluster), object_hook=_with_maps)
    kinds = ((api, "ClusterConfiguration", cluster), (api, "InitConfiguration", init))
    bodies = [{"apiVersion": version, "kind": kind, **body} for version, kind, body in kinds]
    bodies.append({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **kubelet})
    node.run("cat > /root/kubeadm.yaml", "\n---\n".join(json.dumps(body) for body in bodies))
    exports = " ".join(f"{name}={value}" for name, value in case.environment.items())
    said = node.run(f"{exports} /root/kubeadm-{release} init phase preflight --config /root/kubeadm.yaml")
    found: dict[str, str] = {}
    for level, name in _LINE.findall(said):
        if found.get(name) != "ERROR":
            found[name] = level
    # A kubeadm of before 1.31 that a current Go built cannot read its own URLs.
    broken = set() if release >= "1.31" else {"HTTPProxy", "HTTPProxyCIDR"}
    return {name: level for name, level in found.items() if name not in broken}


def _with_maps(holder: dict[str, Any]) -> dict[str, Any]:
    if "extraArgs" in holder:
        holder["extraArgs"] = {arg["name"]: arg["value"] for arg in holder["extraArgs"]}
    return holder


def compare(node: Node, name: str, release: str) -> list[str]:
    case = CASES[name]
    node.run(case.do)
    try:
        expected = theirs(node, case, release)
        cluster, init, kubelet = documents(case, node, release)
        options = {"cluster_configuration": cluster, "init_configuration": init, "kubelet_configuration": kubelet}
        checks = node.ours(options, case.environment)
    finally:
        node.run(case.undo)
    levels = {"failed": "ERROR", "warned": "WARNING", "ignored": "WARNING"}
    seen = {check["name"]: levels[check["outcome"]] for check in checks if check["outcome"] in levels}
    print(f"{name}: " + (", ".join(f"{level.lower()} {check}" for check, level in sorted(seen.items())) or "nothing"))
    differences = [
        f"{name}: {check}: kubeadm {expected.get(check, 'nothing')}, ours {seen.get(check, 'nothing')}"
        for check in sorted(set(expected) | set(seen))
        if expected.get(check) != seen.get(check)
        and check not in (case.only_ours if check in seen else case.only_theirs)
        and not (check == "Swap" and seen.get(check) == "ERROR")
    ]
    for difference in differences:
        print(f"  DIFFERENT {difference}")
        print("   ", [check for check in checks if check["name"] == difference.split(": ")[1]])
    return differences


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("instance")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--release", default="1.37.1")
    given = parser.parse_intermixed_args()
    node = Node(given.instance)
    node.bring_kubeadm(given.release)
    found = [difference for name in given.cases for difference in compare(node, name, given.release)]
    print(f"{given.release}: {len(given.cases)} cases, {len(found)} differences")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
