# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Phases and sub-phases chosen by documents, by variable and by tag: those run, and nothing else does."""

from __future__ import annotations

from live.node import KUBECTL, Node
from live.playbook import Playbook

PKI = "/etc/kubernetes/pki"
MANIFESTS = "/etc/kubernetes/manifests"
COREDNS = f"{KUBECTL} -n kube-system get serviceaccount coredns"
LABEL = f"{KUBECTL} get node -l node-role.kubernetes.io/control-plane -o name | grep -q node"
# What is broken, and how to see that it still is.
BREAK = (
    f"rm {PKI}/apiserver.crt {PKI}/front-proxy-client.crt {MANIFESTS}/kube-scheduler.yaml {MANIFESTS}/kube-controller-manager.yaml;"
    f"{KUBECTL} -n kube-system delete serviceaccount coredns kube-proxy;"
    f"{KUBECTL} label node $(hostname) node-role.kubernetes.io/control-plane-"
)
WHOLE = {
    "apiserver": f"test -e {PKI}/apiserver.crt",
    "front-proxy-client": f"test -e {PKI}/front-proxy-client.crt",
    "scheduler": f"test -e {MANIFESTS}/kube-scheduler.yaml",
    "controller-manager": f"test -e {MANIFESTS}/kube-controller-manager.yaml",
    "coredns": COREDNS,
    "kube-proxy": COREDNS.replace("coredns", "kube-proxy"),
    "label": LABEL,
}


def whole(node: Node) -> set[str]:
    """Name what is in its place."""
    script = "; ".join(f"if {script} >/dev/null 2>&1; then echo {name}; fi" for name, script in WHOLE.items())
    return set(node.run(script).split())


def test_only_what_was_chosen_is_done(node: Node, init: Playbook) -> None:
    node.run(BREAK)
    assert whole(node) == set()
    # Run by run: the choice, and what is in its place after it.
    only = init.using(kubephase_only_phases=["certs/apiserver"]).play().succeeded()
    assert (only.changed, whole(node)) == ({"certs"}, {"apiserver"})
    only = init.using(kubephase_only_phases=["control-plane/scheduler", "addon/coredns"]).play().succeeded()
    assert only.changed == {"control-plane", "addon"}
    assert whole(node) == {"apiserver", "scheduler", "coredns"}

    tagged = init.play("--tags", "mark-control-plane").succeeded()
    assert (tagged.ran, tagged.changed) == ({"mark-control-plane"}, {"mark-control-plane"})
    assert whole(node) == {"apiserver", "scheduler", "coredns", "label"}

    skipping = {**init.variables["kubephase_init_configuration"], "skipPhases": ["certs/front-proxy-client", "addon/kube-proxy"]}
    skipped = init.using(kubephase_init_configuration=skipping).play("--skip-tags", "wait-control-plane").succeeded()
    # An addon that is skipped is stored as disabled, as kubeadm does.
    assert skipped.changed == {"control-plane", "upload-config"}
    assert "wait-control-plane" not in skipped.ran
    assert whole(node) == set(WHOLE) - {"front-proxy-client", "kube-proxy"}

    skipped = init.play("--skip-tags", "addon").succeeded()
    assert skipped.changed == {"certs", "upload-config"}
    assert init.play().succeeded().changed == {"addon"}
    assert whole(node) == set(WHOLE)
    assert init.play().succeeded().changed == set()


def test_a_phase_that_does_not_exist_is_one_error(init: Playbook) -> None:
    report = init.using(kubephase_only_phases=["certs/apiservr"]).play()
    assert report.code != 0
    assert "kubephase_only_phases: found certs/apiservr" in report.output
    assert report.ran == set()
