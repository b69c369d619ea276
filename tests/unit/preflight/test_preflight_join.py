# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that joins: which checks are made, what makes it ready for a control plane, and what is its own when run again."""

from __future__ import annotations

from typing import Any

import pytest
from unit.preflight.preflight_cases import documents, file, judged, listening, observed, outcomes
from unit.preflight.test_preflight_owned import (
    AUTHORITY,
    BOOTSTRAP_CONF,
    CA_CRT,
    ETCD,
    KUBELET_CONF,
    OWN_FILES,
    PKI,
    RUNNING,
    STRANGE,
    belongings,
)

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.observed import Observed, look
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import mode_of, select

ENDPOINT = {"controlPlaneEndpoint": "api.test:6443"}
EXTERNAL = {"etcd": {"external": {"endpoints": ["https://e1:2379"], "caFile": "/e/ca", "certFile": "/e/crt", "keyFile": "/e/key"}}}
CERTIFICATES = [f"{PKI}/{name}" for name in ("ca.crt", "front-proxy-ca.crt", "sa.pub", "sa.key", "etcd/ca.crt")]
KEYS = [f"{PKI}/{name}" for name in ("ca.key", "front-proxy-ca.key", "etcd/ca.key")]


def joining(cluster: dict[str, Any] | None = None, version: str = "v1.37.1", becomes: str = "control_plane") -> Documents:
    given = {"ClusterConfiguration": {"kubernetesVersion": version, **ENDPOINT, **(cluster or {})}}
    return resolve(given, NodeFacts("cp2", "192.0.2.10", "", ("unix:///run/containerd/containerd.sock",)), becomes=becomes)


def there(*paths: str) -> dict[str, Any]:
    return {path: file(path, AUTHORITY) for path in paths}


# Cluster, files, whether there is a key, how ready the host is, and words of the report.
READINESS: list[tuple[dict[str, Any], dict[str, Any], bool, str, str]] = [
    ({}, {}, True, "passed", "to be downloaded with the certificate key"),
    ({}, {}, False, "failed", f"no certificate key to download them with: {', '.join(CERTIFICATES[:1])}"),
    ({}, there(*CERTIFICATES, *KEYS), False, "passed", ""),
    ({}, there(*CERTIFICATES, *KEYS), True, "passed", ""),
    ({}, there(*CERTIFICATES[:-1], *KEYS), False, "failed", f": {PKI}/etcd/ca.crt"),
    ({}, there(*CERTIFICATES[:-1], *KEYS), True, "passed", "to be downloaded"),
    ({}, there(*CERTIFICATES), False, "warned", f"{PKI}/ca.key is not on this host"),
    (EXTERNAL, there(*CERTIFICATES[:-1], *KEYS), False, "failed", ": /e/ca, /e/crt, /e/key"),
    (EXTERNAL, there(*CERTIFICATES[:-1], *KEYS[:2], "/e/ca", "/e/crt", "/e/key"), False, "passed", ""),
    ({"certificatesDir": "/srv/pki"}, there(*CERTIFICATES), False, "failed", ": /srv/pki/ca.crt"),
]


@pytest.mark.parametrize(("cluster", "files", "key", "outcome", "words"), READINESS)
def test_the_files_that_control_planes_share(cluster: dict[str, Any], files: dict[str, Any], key: bool, outcome: str, words: str) -> None:
    docs = joining(cluster)
    checks, _plan = judged(docs, observed(docs, files=files), certificate_key_given=key)
    found = checks["SharedCertificates"]
    assert (found["outcome"], words in found["found"]) == (outcome, True), found


def test_all_that_is_missing_is_named() -> None:
    checks, _plan = judged(joining(), observed(joining()))
    assert all(path in checks["SharedCertificates"]["found"] for path in CERTIFICATES)
    assert not any(path in checks["SharedCertificates"]["found"] for path in KEYS)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ({CA_CRT: AUTHORITY}, "passed"),
        ({CA_CRT: AUTHORITY, BOOTSTRAP_CONF: AUTHORITY}, "passed"),
        ({CA_CRT: AUTHORITY + STRANGE, BOOTSTRAP_CONF: AUTHORITY}, "passed"),
        ({CA_CRT: STRANGE, BOOTSTRAP_CONF: AUTHORITY}, "failed"),
        ({CA_CRT: STRANGE, KUBELET_CONF: AUTHORITY}, "failed"),
    ],
)
@pytest.mark.parametrize("key", [True, False])
def test_the_authority_of_another_cluster_is_seen(found: dict[str, str], outcome: str, key: bool) -> None:
    docs = joining()
    files = {**there(*CERTIFICATES, *KEYS), **belongings(found)}
    checks, _plan = judged(docs, observed(docs, files=files), certificate_key_given=key)
    assert checks["SharedCertificates"]["outcome"] == outcome


def test_a_cluster_without_an_endpoint_takes_no_other_control_plane() -> None:
    docs = joining({"controlPlaneEndpoint": ""})
    assert outcomes(docs, observed(docs), certificate_key_given=True) == {"ControlPlaneEndpoint": "failed"}
    worker = joining({"controlPlaneEndpoint": ""}, becomes="worker")
    assert outcomes(worker, observed(worker)) == {}


def test_readiness_cannot_be_ignored() -> None:
    docs = joining({"controlPlaneEndpoint": ""})
    seen = observed(docs, {"cpus": 1})
    found = outcomes(docs, seen, ignore_errors=["all"])
    assert found == {"NumCPU": "ignored", "ControlPlaneEndpoint": "failed", "SharedCertificates": "failed"}
    found = outcomes(docs, seen, ignore_errors=["NumCPU", "ControlPlaneEndpoint", "sharedcertificates"])
    assert found == {"NumCPU": "ignored", "ControlPlaneEndpoint": "failed", "SharedCertificates": "failed"}


@pytest.mark.parametrize("version", ["v1.22.17", "v1.28.15", "v1.37.1"])
def test_a_control_plane_that_has_joined_owns_what_is_there(version: str) -> None:
    docs = joining(version=version)
    own = belongings({KUBELET_CONF: AUTHORITY, CA_CRT: AUTHORITY})
    files = {**OWN_FILES, **there(*CERTIFICATES, *KEYS), **own}
    listed = {"/var/lib/etcd": ("member",), "/etc/kubernetes/manifests": ("etcd.yaml", "kube-apiserver.yaml")}
    found = outcomes(docs, observed(docs, {"listeners": RUNNING}, files=files, directories=listed))
    names = [f"Port-{port}" for port in (6443, 10259, 10257, 10250, 2379, 2380)]
    names += [f"FileAvailable--etc-kubernetes-manifests-{path.rpartition('/')[2]}" for path in OWN_FILES]
    names += ["FileAvailable--etc-kubernetes-kubelet.conf", "DirAvailable--var-lib-etcd"]
    assert found == dict.fromkeys(names, "owned")


def test_a_worker_that_has_joined_owns_what_is_there() -> None:
    docs = joining(becomes="worker")
    kubelet = listening(10250, "kubelet", "--kubeconfig=/etc/kubernetes/kubelet.conf")
    found = outcomes(docs, observed(docs, {"listeners": (kubelet,)}, files=belongings({KUBELET_CONF: AUTHORITY, CA_CRT: AUTHORITY})))
    assert found == dict.fromkeys(
        ["Port-10250", "FileAvailable--etc-kubernetes-kubelet.conf", f"FileAvailable-{CA_CRT.replace('/', '-')}"], "owned"
    )


def test_a_member_of_another_cluster_fails() -> None:
    docs = joining()
    stranger = listening(2379, "etcd", "--data-dir=/srv/other", ETCD[1])
    seen = observed(docs, {"listeners": (stranger,)}, directories={"/var/lib/etcd": ("member",)})
    found = outcomes(docs, seen, certificate_key_given=True)
    assert found == {"Port-2379": "failed", "DirAvailable--var-lib-etcd": "failed"}


def names(version: str, becomes: str, **cluster: Any) -> set[str]:
    docs = joining(cluster, version, becomes)
    return {check.name for check in select(docs, mode_of(docs, None))}


@pytest.mark.parametrize("minor", range(22, 38))
def test_which_checks_a_join_makes(minor: int) -> None:
    worker, member = names(f"v1.{minor}.0", "worker"), names(f"v1.{minor}.0", "control_plane")
    only_control_planes = {"NumCPU", "Mem", "KubernetesVersion", "Firewalld", "HTTPProxyCIDR", "ImagePull", "Port-6443", "Port-10259"}
    only_control_planes |= {"Port-10257", "Port-2379", "Port-2380", "DirAvailable--var-lib-etcd"}
    only_control_planes |= {f"FileAvailable--etc-kubernetes-manifests-{path.rpartition('/')[2]}" for path in OWN_FILES}
    only_control_planes |= {"ControlPlaneEndpoint", "SharedCertificates"}
    assert member - worker == only_control_planes
    assert worker - member == {"FileAvailable--etc-kubernetes-pki-ca.crt"}
    assert {"FileAvailable--etc-kubernetes-kubelet.conf", "FileAvailable--etc-kubernetes-bootstrap-kubelet.conf"} <= worker & member
    assert {"IsPrivilegedUser", "CRI", "Swap", "SystemVerification", "Hostname", "KubeletVersion", "Port-10250", "HTTPProxy"} <= worker
    assert ("DirAvailable--etc-kubernetes-manifests" in worker) == (minor == 22)
    assert ("ContainerRuntimeVersion" in worker) == (minor >= 35)
    assert "ExternalEtcdVersion" not in names(f"v1.{minor}.0", "control_plane", **EXTERNAL)
    # A name says nothing of the family, so that from 1.27 on no forwarding is looked for.
    assert ("FileContent--proc-sys-net-ipv4-ip_forward" in worker) == (minor < 27)


DISCOVERIES: list[tuple[dict[str, Any], str]] = [
    ({}, "api.test"),
    ({"bootstrapToken": {"apiServerEndpoint": "192.0.2.9:6443", "unsafeSkipCAVerification": True}}, "192.0.2.9"),
    ({"file": {"kubeConfigPath": "/d.conf"}}, ""),
]


@pytest.mark.parametrize(("discovery", "host"), DISCOVERIES)
def test_the_way_to_the_cluster_does_not_lead_through_a_proxy(discovery: dict[str, Any], host: str) -> None:
    docs = documents(cluster=ENDPOINT, join={"discovery": discovery})
    checks, _plan = judged(docs, observed(docs), mode="join", proxy_env={"HTTPS_PROXY": "http://proxy.test"})
    assert (f"https://{host} would go through" in checks["HTTPProxy"]["found"]) if host else "HTTPProxy" not in checks


def test_images_are_pulled_for_control_planes_only() -> None:
    for becomes, pulled in (("worker", 0), ("control_plane", 1)):
        docs = joining(becomes=becomes)
        checks, plan = judged(docs, observed(docs, runtime={"images": ()}), certificate_key_given=True)
        assert plan is not None
        assert (len(plan.changes), "ImagePull" in checks) == (pulled, bool(pulled))


class Reading:
    """Files that remembers what was read of it, and every other adapter that a look goes through."""

    def __init__(self) -> None:
        self.read_paths: list[str] = []

    def read(self, path: str) -> None:
        self.read_paths.append(path)

    def __getattr__(self, name: str) -> Any:
        return lambda *given: "" if name == "kubelet_version" else None


def test_a_look_reads_what_readiness_is_judged_by() -> None:
    class World:
        files = Reading()
        probe = cri = clock = host = etcd_versions = Reading()

    docs = joining()
    seen = look(docs, World, select(docs, "join_control_plane"), "join_control_plane")
    assert isinstance(seen, Observed)
    assert {*CERTIFICATES, *KEYS, BOOTSTRAP_CONF, KUBELET_CONF} <= set(World.files.read_paths)
