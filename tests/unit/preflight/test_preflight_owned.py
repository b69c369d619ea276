# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host where something is already there: what is proven to be this cluster's passes, a stranger's fails."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from unit.preflight.preflight_cases import ADDRESS, documents, file, judged, listening, manifest, observed, outcomes

from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Listener

PKI = "/etc/kubernetes/pki"
SERVER = ("--secure-port=6443", f"--client-ca-file={PKI}/ca.crt")
MANAGER = ("--kubeconfig=/etc/kubernetes/controller-manager.conf", f"--root-ca-file={PKI}/ca.crt")
SCHEDULER = ("--kubeconfig=/etc/kubernetes/scheduler.conf",)
KUBELET = ("--kubeconfig=/etc/kubernetes/kubelet.conf", "--config=/var/lib/kubelet/config.yaml")
ETCD = ("--data-dir=/var/lib/etcd", f"--trusted-ca-file={PKI}/etcd/ca.crt")
MANIFESTS = "FileAvailable--etc-kubernetes-manifests"
DATA = "DirAvailable--var-lib-etcd"

RUNNING = (
    listening(6443, "kube-apiserver", *SERVER),
    listening(10257, "kube-controller-manager", *MANAGER, address="127.0.0.1"),
    listening(10259, "kube-scheduler", *SCHEDULER, address="127.0.0.1"),
    listening(10250, "kubelet", *KUBELET),
    listening(2379, "etcd", *ETCD, address="127.0.0.1"),
    listening(2379, "etcd", *ETCD, address=ADDRESS),
    listening(2380, "etcd", *ETCD, address=ADDRESS),
)
OWN_FILES = {
    state.path: state
    for state in (
        manifest("kube-apiserver", *SERVER),
        manifest("kube-controller-manager", *MANAGER),
        manifest("kube-scheduler", *SCHEDULER),
        manifest("etcd", *ETCD),
    )
}


@pytest.mark.parametrize("version", ["v1.22.17", "v1.28.15", "v1.37.1"])
def test_a_running_cluster_owns_what_a_first_run_would_not_find(version: str) -> None:
    docs = documents(version)
    seen = observed(docs, {"listeners": RUNNING}, files=OWN_FILES, directories={"/var/lib/etcd": ("member",)})
    assert outcomes(docs, seen) == {
        **{f"Port-{port}": "owned" for port in (6443, 10259, 10257, 10250, 2379, 2380)},
        **{f"{MANIFESTS}-{name}.yaml": "owned" for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")},
        DATA: "owned",
    }


PORTS: list[tuple[Listener, str, str]] = [
    (listening(6443, "nginx", *SERVER), "Port-6443", "nginx (pid 4711) listens on [::]:6443, where kube-apiserver must"),
    (listening(6443, "kube-apiserver", "--client-ca-file=/other/ca.crt"), "Port-6443", f"does not name {PKI}/"),
    (listening(6443, "kube-apiserver", "--x=/etc/kubernetes/pki-of-another/ca.crt"), "Port-6443", f"does not name {PKI}/"),
    (Listener(6443, "0.0.0.0"), "Port-6443", "a process that cannot be seen listens on 0.0.0.0:6443"),
    (listening(10250, "kubelet", "--kubeconfig=/etc/other/kubelet.conf"), "Port-10250", "does not name /etc/kubernetes/kubelet.conf"),
    (listening(10250, "python3", *KUBELET), "Port-10250", "python3 (pid 4711)"),
    (listening(10257, "kube-controller-manager", MANAGER[0]), "Port-10257", f"does not name {PKI}/"),
    (listening(10259, "kube-scheduler"), "Port-10259", "scheduler.conf"),
    (listening(2379, "etcd", "--data-dir=/srv/other", ETCD[1]), "Port-2379", "does not name /var/lib/etcd"),
    (listening(2380, "etcd", "--data-dir", "/var/lib/etcd"), "Port-2380", f"does not name {PKI}/"),
]


@pytest.mark.parametrize(("listener", "name", "words"), PORTS)
def test_a_stranger_on_a_port_fails_and_is_named(listener: Listener, name: str, words: str) -> None:
    docs = documents()
    checks, _plan = judged(docs, observed(docs, {"listeners": (listener,)}))
    assert {each for each, check in checks.items() if check["outcome"] == "failed"} == {name}
    assert words in checks[name]["found"]


def test_a_stranger_beside_our_own_fails() -> None:
    docs = documents("v1.36.0")
    both = (listening(2379, "etcd", *ETCD, address=ADDRESS), listening(2379, "nginx", address="127.0.0.1", pid=9))
    checks, _plan = judged(docs, observed(docs, {"listeners": both}))
    assert checks["Port-2379"]["outcome"] == "failed"
    assert checks["Port-2379"]["found"] == "nginx (pid 9) listens on 127.0.0.1:2379, where etcd must"


def test_arguments_apart_from_their_values_prove_as_well() -> None:
    docs = documents()
    apart = listening(2380, "etcd", "--data-dir", "/var/lib/etcd", "--trusted-ca-file", f"{PKI}/etcd/ca.crt")
    assert outcomes(docs, observed(docs, {"listeners": (apart,)})) == {"Port-2380": "owned"}


@pytest.mark.parametrize(
    ("version", "extra", "address", "taken"),
    [
        ("v1.36.0", "", "127.0.0.1", True),
        ("v1.36.0", ADDRESS, "127.0.0.1", True),
        ("v1.37.1", "", "127.0.0.1", True),
        ("v1.37.1", ADDRESS, "127.0.0.1", False),
        ("v1.37.1", ADDRESS, ADDRESS, True),
        ("v1.37.1", ADDRESS, "0.0.0.0", True),
        ("v1.37.1", ADDRESS, "::", True),
        ("v1.37.1", ADDRESS, "::1", False),
        ("v1.37.1", "0.0.0.0", "127.0.0.1", True),
        ("v1.37.1", "2001:db8::1", "0.0.0.0", False),
    ],
)
def test_which_addresses_count(version: str, extra: str, address: str, taken: bool) -> None:
    arguments = {"apiServer": {"extraArgs": {"bind-address": extra}}} if extra else {}
    docs = documents(version, arguments)
    failed = outcomes(docs, observed(docs, {"listeners": (listening(6443, "nginx", address=address),)}))
    assert ("Port-6443" in failed) is taken


FILES: list[tuple[Any, str, str]] = [
    (file("/etc/kubernetes/manifests/kube-apiserver.yaml", "hello"), "kube-apiserver", "no static pod of kube-apiserver"),
    (file("/etc/kubernetes/manifests/kube-apiserver.yaml", "{[: "), "kube-apiserver", "no static pod"),
    (file("/etc/kubernetes/manifests/kube-apiserver.yaml", "- 1"), "kube-apiserver", "no static pod"),
    (file("/etc/kubernetes/manifests/kube-apiserver.yaml", "kind: Pod\nmetadata: x"), "kube-apiserver", "no static pod"),
    (manifest("kube-scheduler", *SCHEDULER, name="other"), "kube-scheduler", "no static pod of kube-scheduler"),
    (manifest("kube-scheduler", *SCHEDULER, kind="Deployment"), "kube-scheduler", "no static pod of kube-scheduler"),
    (manifest("kube-scheduler", "--kubeconfig=/x"), "kube-scheduler", "does not name /etc/kubernetes/scheduler.conf"),
    (manifest("kube-apiserver", "--client-ca-file=/other/ca.crt"), "kube-apiserver", f"does not name {PKI}/"),
    (manifest("etcd", "--data-dir=/srv", ETCD[1]), "etcd", "does not name /var/lib/etcd"),
]


@pytest.mark.parametrize(("state", "component", "words"), FILES)
def test_a_manifest_of_somebody_else_fails(state: Any, component: str, words: str) -> None:
    docs = documents()
    checks, _plan = judged(docs, observed(docs, files={state.path: state}))
    name = f"{MANIFESTS}-{component}.yaml"
    assert {each for each, check in checks.items() if check["outcome"] == "failed"} == {name}
    assert words in checks[name]["found"]


def test_something_that_is_no_file_fails() -> None:
    docs = documents()
    path = "/etc/kubernetes/manifests/etcd.yaml"
    checks, _plan = judged(docs, observed(docs, files={path: "it is not a regular file"}))
    assert checks[f"{MANIFESTS}-etcd.yaml"]["found"] == f"{path} is there, and it is not a regular file"


def test_a_local_member_beside_an_external_etcd_fails() -> None:
    external = {"etcd": {"external": {"endpoints": ["https://e1:2379"]}}}
    docs = documents(cluster=external)
    state = manifest("etcd", *ETCD)
    checks, _plan = judged(docs, observed(docs, files={state.path: state}))
    assert {name for name, check in checks.items() if check["outcome"] == "failed"} == {f"{MANIFESTS}-etcd.yaml"}
    assert "while the documents name an external one" in checks[f"{MANIFESTS}-etcd.yaml"]["found"]


@pytest.mark.parametrize(
    ("other", "outcome", "words"),
    [
        ({}, "failed", "holds the data of an etcd member, and nothing proves"),
        ({"files": {"/etc/kubernetes/admin.conf": file("/etc/kubernetes/admin.conf", "x")}}, "failed", "nothing proves"),
        ({"files": {"/etc/kubernetes/manifests/etcd.yaml": manifest("etcd", *ETCD)}}, "owned", "manifest names it"),
        ({"host": {"listeners": (listening(2379, "etcd", *ETCD),)}}, "owned", "running member uses it"),
        ({"etcd_data_is_ours": True}, "owned", "CA certificate of this cluster"),
    ],
)
def test_data_of_etcd(other: dict[str, Any], outcome: str, words: str) -> None:
    docs = documents()
    checks, _plan = judged(docs, observed(docs, **other, directories={"/var/lib/etcd": ("member",)}))
    assert (checks[DATA]["outcome"], words in checks[DATA]["found"]) == (outcome, True)


@pytest.mark.parametrize(("names", "outcome"), [((), "passed"), (("lost+found",), "failed")])
def test_a_data_directory_that_is_just_there(names: tuple[str, ...], outcome: str) -> None:
    docs = documents(cluster={"etcd": {"local": {"dataDir": "/srv/etcd"}}})
    checks, _plan = judged(docs, observed(docs, directories={"/srv/etcd": names}))
    assert checks["DirAvailable--srv-etcd"]["outcome"] == outcome


def test_a_kubelet_that_runs_with_swap_is_only_warned_of() -> None:
    docs = documents()
    assert outcomes(docs, observed(docs, {"swaps": ("/swap",), "listeners": RUNNING}))["Swap"] == "warned"
    strange = (listening(10250, "nginx"),)
    assert outcomes(docs, observed(docs, {"swaps": ("/swap",), "listeners": strange}))["Swap"] == "failed"


AUTHORITY = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def kubeconfig(path: str, authority: str) -> Any:
    data = base64.b64encode(authority.encode()).decode()
    return file(
        path,
        f"clusters: [{{name: c, cluster: {{server: 'https://x:6443', certificate-authority-data: {data}}}}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: x\n",
    )


KUBELET_CONF, BOOTSTRAP_CONF, CA_CRT = "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf", f"{PKI}/ca.crt"
STRANGE = AUTHORITY.replace("MIIB", "MIIC")
OWN = (KUBELET_CONF, AUTHORITY), (BOOTSTRAP_CONF, AUTHORITY), (CA_CRT, AUTHORITY)
# The CA that each file is of or trusts, and those that are in the way; all others are this cluster's own.
WORKERS: list[tuple[dict[str, str], set[str]]] = [
    (dict(OWN), set()),
    # Once discovery has found the cluster, and after that.
    ({BOOTSTRAP_CONF: AUTHORITY}, set()),
    ({BOOTSTRAP_CONF: AUTHORITY, CA_CRT: AUTHORITY}, set()),
    ({KUBELET_CONF: AUTHORITY, CA_CRT: AUTHORITY}, set()),
    ({KUBELET_CONF: AUTHORITY + STRANGE, CA_CRT: STRANGE}, set()),
    ({KUBELET_CONF: STRANGE, CA_CRT: AUTHORITY + STRANGE}, set()),
    ({KUBELET_CONF: STRANGE, BOOTSTRAP_CONF: STRANGE, CA_CRT: AUTHORITY}, {KUBELET_CONF, BOOTSTRAP_CONF, CA_CRT}),
    ({BOOTSTRAP_CONF: STRANGE, CA_CRT: AUTHORITY}, {BOOTSTRAP_CONF, CA_CRT}),
    ({CA_CRT: AUTHORITY}, {CA_CRT}),
    ({KUBELET_CONF: AUTHORITY}, {KUBELET_CONF}),
    ({KUBELET_CONF: "", CA_CRT: AUTHORITY}, {KUBELET_CONF, CA_CRT}),
]


def belongings(found: dict[str, str]) -> dict[str, Any]:
    return {path: file(path, text) if path == CA_CRT else kubeconfig(path, text) for path, text in found.items()}


@pytest.mark.parametrize("version", ["v1.22.17", "v1.28.15", "v1.37.1"])
@pytest.mark.parametrize(("found", "strange"), WORKERS)
def test_files_of_a_worker(version: str, found: dict[str, str], strange: set[str]) -> None:
    docs = documents(version, join={})
    seen = outcomes(docs, observed(docs, files=belongings(found)), mode="join")
    assert seen == {f"FileAvailable-{path.replace('/', '-')}": "failed" if path in strange else "owned" for path in found}


def test_a_file_of_a_worker_that_is_no_kubeconfig() -> None:
    docs = documents(join={})
    state = file("/etc/kubernetes/kubelet.conf", "hello")
    checks, _plan = judged(docs, observed(docs, files={state.path: state}), mode="join")
    assert checks["FileAvailable--etc-kubernetes-kubelet.conf"]["outcome"] == "failed"
