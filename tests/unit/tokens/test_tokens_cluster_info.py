# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What stands beside the tokens: cluster-info, who may read it, and what joining nodes may do."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.tokens.cluster import ADMIN, CA, Cluster, perform, write_admin

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.cluster_info import CLUSTER_INFO

GROUP = "system:bootstrappers:kubeadm:default-node-token"
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host whose admin.conf leads to the cluster."""
    write_admin(tmp_path)
    return tmp_path


def phase(root: Path, cluster: Cluster, version: str = "v1.37.1") -> Any:
    return perform(BootstrapTokenPhase(), root, cluster, {"ClusterConfiguration": {"kubernetesVersion": version}})


@pytest.mark.parametrize(
    ("version", "has_binding"),
    [("v1.33.11", False), ("v1.33.12", True), ("v1.36.0", False), ("v1.37.1", True), ("v1.22.17", False)],
)
def test_bindings_by_release(root: Path, version: str, has_binding: bool) -> None:
    cluster = Cluster()
    phase(root, cluster, version=version)
    bound = {
        key.name: (found["roleRef"]["name"], found["subjects"][0]["kind"], found["subjects"][0]["name"])
        for key, found in cluster.objects.items()
        if key.kind == "ClusterRoleBinding"
    }
    approval = "system:certificates.k8s.io:certificatesigningrequests"
    expected = {
        "kubeadm:get-nodes": ("kubeadm:get-nodes", "Group", GROUP),
        "kubeadm:kubelet-bootstrap": ("system:node-bootstrapper", "Group", GROUP),
        "kubeadm:node-autoapprove-bootstrap": (f"{approval}:nodeclient", "Group", GROUP),
        "kubeadm:node-autoapprove-certificate-rotation": (f"{approval}:selfnodeclient", "Group", "system:nodes"),
    }
    if has_binding:
        expected["kubeadm:apiserver-kubelet-client"] = ("system:kubelet-api-admin", "User", "kube-apiserver-kubelet-client")
    assert bound == expected
    readers = cluster.objects[ObjectKey(RBAC, "RoleBinding", "kube-public", "kubeadm:bootstrap-signer-clusterinfo")]
    assert readers["subjects"][0]["name"] == "system:anonymous"


@pytest.mark.parametrize(("version", "preferences"), [("v1.33.13", "preferences: {}\n"), ("v1.34.0", "")])
def test_cluster_info_is_kubeadms_to_the_byte(root: Path, version: str, preferences: str) -> None:
    cluster = Cluster()
    phase(root, cluster, version=version)
    assert cluster.objects[CLUSTER_INFO]["data"]["kubeconfig"] == (
        f"apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {CA}\n"
        '    server: https://api.example.test:6443\n  name: ""\ncontexts: null\ncurrent-context: ""\nkind: Config\n'
        f"{preferences}users: null\n"
    )


def test_an_authority_in_a_file_of_its_own_is_put_inside(root: Path) -> None:
    write_admin(root, **{"certificate-authority-data": None, "certificate-authority": "pki/my-ca.crt", "tls-server-name": "api"})
    with pytest.raises(Unusable, match=r"admin\.conf: its certificate authority pki/my-ca\.crt is missing"):
        phase(root, Cluster())
    (root / "etc/kubernetes/pki").mkdir()
    (root / "etc/kubernetes/pki/my-ca.crt").write_text("mine")
    cluster = Cluster()
    phase(root, cluster)
    entry = yaml.safe_load(cluster.objects[CLUSTER_INFO]["data"]["kubeconfig"])["clusters"][0]["cluster"]
    assert entry == {
        "certificate-authority-data": base64.b64encode(b"mine").decode(),
        "server": "https://api.example.test:6443",
        "tls-server-name": "api",
    }


def test_signatures_of_the_controller_manager_stay(root: Path) -> None:
    cluster = Cluster()
    phase(root, cluster)
    cluster.objects[CLUSTER_INFO]["data"]["jws-kubeconfig-aaaaaa"] = "header..signature"
    assert not phase(root, cluster).changed
    write_admin(root, server="https://other.example.test:6443")
    outcome = phase(root, cluster)
    assert [change.target for change in outcome.plan.changes] == ["ConfigMap kube-public/cluster-info"]
    assert set(cluster.objects[CLUSTER_INFO]["data"]) == {"kubeconfig", "jws-kubeconfig-aaaaaa"}


@pytest.mark.parametrize(("version", "server"), [("v1.37.1", "https://192.0.2.10:6443"), ("v1.28.15", "")])
def test_the_server_that_the_release_asks(root: Path, version: str, server: str) -> None:
    cluster = Cluster(asked="nobody")
    phase(root, cluster, version=version)
    assert cluster.asked == server


def test_an_admin_conf_that_cannot_be_read_is_one_error(root: Path) -> None:
    (root / ADMIN).write_text("a: b: c")
    with pytest.raises(Unusable, match=r"admin\.conf: it is not valid YAML"):
        phase(root, Cluster())
