# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of files and directories that a first run would not find: absent, this cluster's own, or a stranger's."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.document import parse
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.ports import bears, port_is_owned
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import (
    BOOTSTRAP_CONF,
    COMPONENTS,
    KUBELET_CONF,
    MANIFESTS,
    ca_path,
    data_dir,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, owned, passed

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_AWAY = "Move it away, or run `kubeadm reset` if the cluster that it belongs to is no more"


def file_available(case: Case) -> Iterator[Verdict]:
    """A file that this collection writes itself, by what is in it."""
    path = case.check.subject
    state = case.seen.files.get(path)
    if state is None:
        return
    if isinstance(state, str):
        yield against(case.check.severity, f"{path} is there, and {state}", _AWAY)
        return
    doubts = _doubts(case, state)
    yield against(case.check.severity, f"{path} exists, and {doubts}", _AWAY) if doubts else owned(f"{path} is this cluster's own")


def dir_available(case: Case) -> Iterator[Verdict]:
    """A directory that must be empty, or hold what this cluster put there."""
    path = case.check.subject
    names = case.seen.directories.get(path)
    if not names:
        return
    if path == MANIFESTS:
        strangers = [name for name in names if posixpath.splitext(name)[0] not in COMPONENTS]
        listed = ", ".join(strangers[:5])
        yield against(case.check.severity, f"{path} holds {listed}", _AWAY) if strangers else passed("only manifests of its own")
        return
    proof = _etcd_proof(case)
    if proof:
        yield owned(f"{path} holds the data of this cluster: {proof}")
        return
    what = "holds the data of an etcd member" if "member" in names else f"is not empty ({', '.join(names[:5])})"
    yield against(
        case.check.severity,
        f"{path} {what}, and nothing proves that it belongs to this cluster",
        f"If it is of another cluster or stale, move it away (mv {path} {path}.old); if it is to be kept, put back the manifest"
        f" {MANIFESTS}/etcd.yaml or the PKI that it was made with",
    )


def external_etcd_certificates(case: Case) -> Iterator[Verdict]:
    """The files by which an external etcd is reached; a joining control plane may yet download them."""
    external = case.docs.cluster.etcd.external
    if case.mode != "init" and case.certificate_key_given:
        return
    for path in filter(None, (external.ca_file, external.cert_file, external.key_file) if external else ()):
        if path not in case.seen.files:
            yield against(case.check.severity, f"{path} does not exist", "Copy it from where the external etcd was set up")


def command_of(manifest: FileState, component: str) -> Sequence[str]:
    """The command line in a static pod manifest of a component; nothing when it is none."""
    try:
        # The C parser where PyYAML has it: four manifests take 5 ms with it and 35 without.
        pod = yaml.load(manifest.content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        if pod["kind"] != "Pod" or pod["metadata"]["name"] != component or pod["metadata"].get("namespace") != "kube-system":
            return ()
        container = next(each for each in pod["spec"]["containers"] if each["name"] == component)
        return [str(part) for part in (container.get("command") or []) + (container.get("args") or [])]
    except (yaml.YAMLError, UnicodeError, StopIteration, TypeError, KeyError, AttributeError, RecursionError):
        return ()


def _doubts(case: Case, state: FileState) -> str:
    """Say why a file is not this cluster's own, or nothing."""
    if state.path in (KUBELET_CONF, BOOTSTRAP_CONF):
        return _kubeconfig_doubts(case, state, ca_path(case.docs))
    if state.path == ca_path(case.docs) and posixpath.dirname(state.path) != MANIFESTS:
        return authority_doubts(case, state.path)
    component = posixpath.splitext(posixpath.basename(state.path))[0]
    if component == "etcd" and case.docs.external_etcd:
        return "it is of a local etcd, while the documents name an external one"
    command = command_of(state, component)
    if not command or posixpath.basename(command[0]) != component:
        return f"it is no static pod of {component}"
    missing = [mark for mark in _marks(case, component) if not bears(command, mark)]
    return f"its command does not name {' and '.join(missing)}, so it is of another cluster or of other documents" if missing else ""


def _marks(case: Case, component: str) -> tuple[str, ...]:
    certificates = f"{case.docs.cluster.certificates_dir.rstrip('/')}/"
    return {
        "kube-apiserver": (certificates,),
        "kube-controller-manager": (certificates,),
        "kube-scheduler": ("/etc/kubernetes/scheduler.conf",),
        "etcd": (data_dir(case.docs), certificates),
    }[component]


def authority_doubts(case: Case, authority: str) -> str:
    """Say why a CA on this node is not that of the cluster, by the kubeconfig that the node has or came to know it with."""
    for path in (KUBELET_CONF, BOOTSTRAP_CONF):
        state = case.seen.files.get(path)
        if isinstance(state, FileState):
            doubts = _kubeconfig_doubts(case, state, authority)
            return f"{path} does not fit it: {doubts}" if doubts else ""
    return "this node has no kubeconfig that trusts it"


def _kubeconfig_doubts(case: Case, state: FileState, authority: str) -> str:
    trusted = case.seen.files.get(authority)
    try:
        found = parse(state.path, state.content)
    except Unusable as problem:
        return problem.found
    if found.authority_file == authority:
        return ""
    if not isinstance(trusted, FileState):
        # Discovery writes it once it has verified the cluster, and before any other file of the cluster is there.
        return "" if state.path == BOOTSTRAP_CONF else f"there is no {authority} to prove it by"
    # Either may hold more than the one CA that signs: a kubeconfig gets the first of a bundle only.
    fits = _certificates(found.authority) & _certificates(trusted.content)
    return "" if fits else f"it trusts another CA than {authority}"


def _certificates(bundle: bytes) -> set[bytes]:
    return {b"".join(pem.split()) for pem in _CERTIFICATE.findall(bundle)}


def _etcd_proof(case: Case) -> str:
    """A manifest that names the directory, a running member, or the cluster's CA inside the data; nothing else proves it."""
    manifest = case.seen.files.get(f"{MANIFESTS}/etcd.yaml")
    if isinstance(manifest, FileState) and not case.docs.external_etcd and not _doubts(case, manifest):
        return "the static pod manifest names it"
    if port_is_owned(case, 2379):
        return "the running member uses it"
    return "it holds the CA certificate of this cluster" if case.seen.etcd_data_is_ours else ""
