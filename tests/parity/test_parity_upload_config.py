# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""upload-config and mark-control-plane: kubeadm's objects on one API server, ours on another, compared one by one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._objects.compare import essence
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import DeleteObject, Manifest, ObjectKey, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.cluster_admins import BINDING, ClusterAdminsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.mark import MarkControlPlanePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._upload_config.upload import UploadConfigPhase
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, SUPER_ADMIN, ApiServer, kubeadms_api, our_api
from ansible_collections.kubephase.cluster.tests.parity.cases import FIRST_V1BETA4_MINOR, RELEASES, Case, minor_of
from ansible_collections.kubephase.cluster.tests.parity.ours import documents

__all__ = ["kubeadms_api", "our_api"]

pytestmark = ONE_WORKER

NODE = ObjectKey("v1", "Node", "", "cp1")
CONFIG = ObjectKey("v1", "ConfigMap", "kube-system", "kubeadm-config")
FOREIGN_TAINT = {"key": "example.test/mine", "value": "yes", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}

HEAD = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: 192.0.2.10
nodeRegistration:
  name: cp1
  criSocket: unix:///var/run/containerd/containerd.sock
"""
DEFAULTS = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
"""
RICH = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: rich
controlPlaneEndpoint: api.example.test
imageRepository: registry.example.test/k8s
certificatesDir: /etc/kubernetes/elsewhere
apiServer:
  certSANs: [API.example.test, 192.0.2.77]
  extraArgs:
  - {name: v, value: "4"}
  - {name: audit-log-path, value: "-"}
  - {name: authorization-mode, value: "Node,RBAC,Webhook"}
  extraVolumes:
  - {name: audit, hostPath: /var/log/audit, mountPath: /var/log/audit, readOnly: true, pathType: DirectoryOrCreate}
  - {name: more, hostPath: /opt/more, mountPath: /opt/more}
controllerManager:
  extraArgs:
  - {name: node-cidr-mask-size, value: "24"}
scheduler:
  extraArgs:
  - {name: v, value: "yes"}
dns:
  imageRepository: registry.example.test/dns
  imageTag: v9.9.9
etcd:
  local:
    dataDir: /srv/etcd
    imageTag: 3.9.9-0
    extraArgs:
    - {name: quota-backend-bytes, value: "8589934592"}
    serverCertSANs: [etcd.example.test]
    peerCertSANs: [192.0.2.88]
networking:
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.100.0.0/16
  dnsDomain: example.test
"""
ONLY_V1BETA4 = """encryptionAlgorithm: ECDSA-P256
certificateValidityPeriod: 100h
caCertificateValidityPeriod: 1000h30m
proxy:
  disabled: true
"""
KUBELET = """---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
maxPods: 42
clusterDNS: [10.96.0.99]
"""
EXTERNAL = (
    DEFAULTS
    + """etcd:
  external:
    endpoints: ["https://192.0.2.50:2379", "https://192.0.2.51:2379"]
    caFile: /etc/etcd/ca.crt
    certFile: /etc/etcd/client.crt
    keyFile: /etc/etcd/client.key
"""
)
ENVIRONMENT = (
    DEFAULTS
    + """apiServer:
  extraEnvs:
  - {name: PLAIN, value: "on"}
  - {name: FROM, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  extraArgs:
  - {name: oidc-issuer-url, value: "https://a.example.test"}
  - {name: audit-log-path, value: "b"}
  - {name: oidc-issuer-url, value: "https://b.example.test"}
"""
)

EVERYWHERE = {"defaults": DEFAULTS, "rich": RICH, "kubelet": DEFAULTS + KUBELET, "external-etcd": EXTERNAL}
LATER = {"rich-v1beta4": RICH + ONLY_V1BETA4, "environment": ENVIRONMENT}
PAIRS = [(name, release) for release in RELEASES for name in (*EVERYWHERE, *(LATER if minor_of(release) >= FIRST_V1BETA4_MINOR else ()))]


def document(name: str, release: str, node_registration: str = "") -> str:
    """A kubeadm.yaml as the release reads it."""
    indented = "".join(f"  {line}\n" for line in node_registration.splitlines())
    case = Case(name, HEAD + indented + {**EVERYWHERE, **LATER}[name], 22, 99, "")
    text = case.document(release)
    return (
        text
        if minor_of(release) >= FIRST_V1BETA4_MINOR
        else yaml.safe_dump_all(with_argument_maps(each) for each in yaml.safe_load_all(text))
    )


def with_argument_maps(value: Any) -> Any:
    """Documents with extraArgs as v1beta3 has them."""
    if isinstance(value, list):
        return [with_argument_maps(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {each["name"]: each["value"] for each in part} if name == "extraArgs" else with_argument_maps(part)
        for name, part in value.items()
    }


def node(**fields: Any) -> Manifest:
    """A node as the kubelet registers it."""
    labels = {"kubernetes.io/hostname": "cp1", "example.test/foreign": "stays"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cp1", "labels": labels}, **fields}


def upload_by_kubeadm(server: ApiServer, release: str, text: str) -> None:
    """What kubeadm leaves at the end of upload-config."""
    if minor_of(release) >= 30:
        server.kubeadm(release, text, "init", "phase", "upload-config", "all")
        return
    # In these releases, rendering the manifests changes what is uploaded after it in the same process.
    skipped = ["preflight", "certs", "kubeconfig", "kubelet-start", "etcd", "wait-control-plane", "upload-certs"]
    skipped += ["mark-control-plane", "bootstrap-token", "kubelet-finalize", "addon"] + ["show-join-command"] * (minor_of(release) >= 26)
    server.kubeadm(release, text, "init", "--skip-phases", ",".join(skipped))


@pytest.mark.parametrize(("name", "release"), PAIRS)
def test_the_same_objects(name: str, release: str, kubeadms_api: ApiServer, our_api: ApiServer) -> None:
    text = document(name, release)
    for server in (kubeadms_api, our_api):
        server.make(node())
    upload_by_kubeadm(kubeadms_api, release, text)
    outcome = execute(UploadConfigPhase(), our_api.world(), documents(text), {})
    assert outcome.changed
    theirs, ours = kubeadms_api.objects(), our_api.objects()
    assert CONFIG in theirs
    assert ours == theirs

    before = our_api.versions()
    again = execute(UploadConfigPhase(), our_api.world(), documents(text), {})
    assert (again.changed, our_api.versions()) == (False, before)
    # What kubeadm left is as good as ours: nothing to do there.
    taken = execute(UploadConfigPhase(), kubeadms_api.world(), documents(text), {}, check=True)
    assert [change.reason for change in taken.plan.changes] == []


MARKS = {
    "default": "",
    "none": "taints: []",
    "own": "taints:\n- {key: example.test/a, value: b, effect: NoSchedule}\n- {key: example.test/c, effect: NoExecute}",
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("registration", MARKS)
@pytest.mark.parametrize("present", [[], [FOREIGN_TAINT]], ids=["clean", "tainted"])
def test_the_same_marks(
    registration: str, present: list[dict[str, str]], release: str, kubeadms_api: ApiServer, our_api: ApiServer
) -> None:
    text = document("defaults", release, MARKS[registration])
    for server in (kubeadms_api, our_api):
        server.make(node(spec={"taints": present}))
    kubeadms_api.kubeadm(release, text, "init", "phase", "mark-control-plane")
    execute(MarkControlPlanePhase(), our_api.world(), documents(text), {})
    theirs, ours = kubeadms_api.object(NODE), our_api.object(NODE)
    assert "node-role.kubernetes.io/control-plane" in theirs["metadata"]["labels"]
    assert ours == theirs

    before = our_api.versions()
    again = execute(MarkControlPlanePhase(), our_api.world(), documents(text), {})
    assert (again.changed, our_api.versions()) == (False, before)


def test_what_kubeadm_wrote_and_we_no_longer_want_goes_away(kubeadms_api: ApiServer) -> None:
    """kubeadm signs a configuration that it made up; once the user gives one, the signature must go."""
    kubeadms_api.make(node())
    upload_by_kubeadm(kubeadms_api, "1.37.1", document("defaults", "1.37.1"))
    key = ObjectKey("v1", "ConfigMap", "kube-system", "kubelet-config")
    assert "annotations" in kubeadms_api.object(key)["metadata"]
    wanted = documents(document("kubelet", "1.37.1"))
    checked = execute(UploadConfigPhase(), kubeadms_api.world(), wanted, {}, check=True)
    outcome = execute(UploadConfigPhase(), kubeadms_api.world(), wanted, {})
    told = [(change.target, change.reason, change.before, change.after) for change in outcome.plan.changes]
    assert told == [(change.target, change.reason, change.before, change.after) for change in checked.plan.changes]
    assert [target for target, *_ in told] == ["ConfigMap kube-system/kubelet-config"]
    assert "annotations" not in kubeadms_api.object(key)["metadata"]
    assert not execute(UploadConfigPhase(), kubeadms_api.world(), wanted, {}).changed


def test_check_mode_tells_the_truth_about_what_kubeadm_made(kubeadms_api: ApiServer) -> None:
    """kubeadm owns every default of what it created; those stay, and only what is really given up goes."""
    kubeadms_api.kubeadm("1.37.1", document("defaults", "1.37.1"), "init", "phase", "addon", "coredns")
    api, key = kubeadms_api.api(), ObjectKey("apps/v1", "Deployment", "kube-system", "coredns")
    live: Any = api.get(key)
    wanted: Any = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": "kube-system", "labels": live["metadata"]["labels"]},
        "spec": copy.deepcopy(live["spec"]),
    }
    pod = wanted["spec"]["template"]["spec"]
    # Defaults that nobody has to render.
    del wanted["spec"]["progressDeadlineSeconds"], pod["terminationGracePeriodSeconds"], pod["containers"][0]["terminationMessagePath"]
    wanted["spec"]["replicas"] = 7  # how many there are is for whoever scales them
    assert changes([wanted], api.observe([wanted])) == ()

    del pod["nodeSelector"], pod["containers"][0]["livenessProbe"]
    state = api.observe([wanted])[key]
    (change,) = changes([wanted], {key: state})
    template = "spec.template.spec."
    told = f"{template}containers[0].livenessProbe, {template}nodeSelector differ from what the documents ask for"
    assert change.reason == told
    api.apply(change.action)
    now: Any = api.get(key)
    assert essence(now) == essence(state.applied or {})
    assert now["spec"]["replicas"] == live["spec"]["replicas"] == 2
    assert changes([wanted], api.observe([wanted])) == ()


def test_fields_of_others_stay(our_api: ApiServer) -> None:
    text = document("defaults", "1.37.1")
    execute(UploadConfigPhase(), our_api.world(), documents(text), {})
    stranger = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config", "namespace": "kube-system", "labels": {"mine": "yes"}},
        "data": {"Notes": "mine"},
    }
    path = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
    our_api.api(SUPER_ADMIN)._send("PATCH", path, {"fieldManager": "stranger"}, stranger, "application/merge-patch+json")
    assert not execute(UploadConfigPhase(), our_api.world(), documents(text), {}).changed
    execute(UploadConfigPhase(), our_api.world(), documents(document("rich", "1.37.1")), {})
    found = our_api.object(CONFIG)
    assert (found["metadata"]["labels"], found["data"]["Notes"]) == ({"mine": "yes"}, "mine")
    assert "clusterName: rich" in found["data"]["ClusterConfiguration"]


def test_the_administrators_get_their_binding(our_api: ApiServer, kubeadms_api: ApiServer) -> None:
    text = document("defaults", "1.37.1")
    for server in (our_api, kubeadms_api):
        server.api(SUPER_ADMIN).apply(DeleteObject(key_of(BINDING)))
    kubeadms_api.kubeadm("1.37.1", text, "init", "phase", "upload-config", "kubeadm")
    outcome = execute(ClusterAdminsPhase(), our_api.world(), documents(text), {})
    assert [change.reason for change in outcome.plan.changes] == ["it does not exist"]
    assert our_api.object(key_of(BINDING)) == kubeadms_api.object(key_of(BINDING))
    assert our_api.api().get(CONFIG) is None  # admin.conf may ask
    assert not execute(ClusterAdminsPhase(), our_api.world(), documents(text), {}).changed
