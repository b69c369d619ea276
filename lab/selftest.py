# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab proven by the real kubeadm: a cluster of two nodes, a pod network, and a workload that answers."""

from __future__ import annotations

import time
from functools import partial
from typing import Callable

from lab import cluster, manifests
from lab.build import Built
from lab.cache import Store
from lab.check import check
from lab.command import run
from lab.errors import LabError
from lab.identity import client_key, ssh_options
from lab.instance import Instance, load
from lab.layout import Node
from lab.progress import Progress
from lab.recipes import Release

READY_SECONDS = 180.0
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf"


def selftest(store: Store, name: str, of: Release, built: Built) -> None:
    """Make an instance of its own, prove it, and remove it whatever happens."""
    own = f"{name}-self"
    try:
        cluster.up(store, own, of, (1, 1), built)
        instance = load(store, own)
        if instance is None:
            raise LabError(f"up left no record of {own}")
        _prove(store, instance, of)
    finally:
        cluster.down(store, own)


def _prove(store: Store, instance: Instance, of: Release) -> None:
    progress = Progress(9)
    first, second = instance.nodes

    def on(node: Node, command: str, stdin: str = "") -> str:
        return ssh(store, instance, node, command, stdin)

    def look() -> str:
        return on(first, f"{KUBECTL} get nodes,pods -A -o wide; {KUBECTL} get events -A")

    with progress.step("no way out of the machine, and every node reaches the other"):
        check(instance, progress.note)
    with progress.step("kubeadm init"):
        on(first, "cat > /root/kubeadm.yaml", (manifests.place(store, instance.name) / "kubeadm.yaml").read_text())
        on(first, "kubeadm init --config /root/kubeadm.yaml")
    with progress.step("pod network and workload applied"):
        for name in ("flannel.yaml", "workload.yaml"):
            on(first, f"{KUBECTL} apply -f -", (manifests.place(store, instance.name) / name).read_text())
    with progress.step("kubeadm join"):
        join = on(first, "kubeadm token create --print-join-command").strip()
        on(second, f"{join} --ignore-preflight-errors {','.join(manifests.ignored_checks(of))}")
    with progress.step("both nodes Ready"):
        _until(lambda: _ready(on(first, f"{KUBECTL} get nodes --no-headers")), 2, "nodes Ready", look)
    with progress.step("a workload pod Ready on each node"):
        listed = f"{KUBECTL} get pods -l app=agnhost --no-headers"
        _until(lambda: on(first, listed).count("1/1"), 2, "workload pods Ready", look)
    fields = r'{range .items[*]}{.metadata.name} {.status.podIP}{"\n"}{end}'
    pods = [line.split() for line in on(first, f"{KUBECTL} get pods -l app=agnhost -o jsonpath='{fields}'").splitlines()]
    with progress.step("pods answer pods across nodes"):
        for pod, _ in pods:
            for _, address in pods:
                on(first, f"{KUBECTL} exec {pod} -- /agnhost connect {address}:8080 --timeout 5s")
    with progress.step("Services answer on both nodes"):
        service = on(first, f"{KUBECTL} get service agnhost -o jsonpath='{{.spec.clusterIP}}'")
        for node in instance.nodes:
            answers = partial(on, node, _fetch(f"http://{service}/hostname"))
            _until(lambda answers=answers: len(answers().split()), 1, f"answers of the Service on {node.name}", look)  # type: ignore[misc]
    with progress.step("names resolve in a pod"):
        names = f"{KUBECTL} -n kube-system get pods -l k8s-app=kube-dns --no-headers"
        _until(lambda: on(first, names).count("1/1"), 2, "CoreDNS pods Ready", look)
        on(first, f"{KUBECTL} exec {pods[0][0]} -- /agnhost connect agnhost.default.svc.cluster.local:80 --timeout 10s")
    progress.note(f"lab: Kubernetes {of.version} works on lab nodes")


def ssh(store: Store, instance: Instance, node: Node, command: str, stdin: str = "") -> str:
    """Run a command on a node the way that Ansible would get there."""
    return run([*ssh_command(store, instance.name, node), command], stdin=stdin)


def ssh_command(store: Store, instance: str, node: Node) -> list[str]:
    """Spell the way into a node."""
    return ["ssh", *ssh_options(store, instance), "-i", str(client_key(store, instance)), f"root@{node.address}"]


def _ready(listing: str) -> int:
    return sum(line.split()[1] == "Ready" for line in listing.splitlines())


def _fetch(url: str) -> str:
    return f"""python3 -c 'import urllib.request; print(urllib.request.urlopen("{url}", timeout=5).read().decode())'"""


def _until(seen: Callable[[], int], wanted: int, what: str, look: Callable[[], str]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            found = seen()
        except LabError:
            found = 0
        if found >= wanted:
            return
        if time.monotonic() > deadline:
            raise LabError(f"{found} of {wanted} {what} after {READY_SECONDS:.0f} s:\n{look()}")
        time.sleep(1)
