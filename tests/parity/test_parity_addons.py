# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addon phase against kubeadm's own: each writes into an API server of its own, and the objects are compared one by one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._addons import coredns, kube_proxy
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.phase import AddonPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ApiServer, kubeadms_api, our_api
from ansible_collections.kubephase.cluster.tests.parity.cases import FIRST_V1BETA4_MINOR, RELEASES, minor_of
from ansible_collections.kubephase.cluster.tests.parity.oracle import DOCUMENT, kubeadm, run_kubeadm
from ansible_collections.kubephase.cluster.tests.parity.ours import documents

__all__ = ["kubeadms_api", "our_api"]

pytestmark = pytest.mark.xdist_group("apiserver-addons")

OLD, MIDDLE, NEW = "1.22.17", "1.28.15", "1.37.1"
PROXY_API = "kubeproxy.config.k8s.io/v1alpha1"
RICH_PROXY: dict[str, Any] = {
    "mode": "ipvs",
    "ipvs": {"strictARP": True, "syncPeriod": "90s", "excludeCIDRs": ["192.0.2.0/24"]},
    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "24h"},
    "clientConnection": {"qps": 5.5, "burst": 10},
    "metricsBindAddress": "0.0.0.0:10249",
    "nodePortAddresses": ["10.0.0.0/8"],
    "featureGates": {"AllAlpha": False},
    "configSyncPeriod": "15m",
    "hostnameOverride": "null",
    "oomScoreAdj": -998,
}
CLUSTERS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "networks": {"networking": {"podSubnet": "10.244.0.0/16", "serviceSubnet": "10.100.0.0/16", "dnsDomain": "corp.example.test"}},
    "images": {"imageRepository": "registry.example.test:5000/k8s", "dns": {"imageRepository": "dns.example.test", "imageTag": "v1.9.9"}},
    "endpoint": {"controlPlaneEndpoint": "api.example.test"},
}
PATCHES = {
    "corednsdeployment0+strategic.yaml": {
        "spec": {"template": {"spec": {"containers": [{"name": "coredns", "resources": {"limits": {"memory": "256Mi"}}}]}}}
    },
    "corednsdeployment1+json.yaml": [{"op": "replace", "path": "/spec/template/spec/priorityClassName", "value": "system-node-critical"}],
    "kubeproxydaemonset+merge.yaml": {"spec": {"template": {"metadata": {"annotations": {"example.test/patched": "yes"}}}}},
}
EDITED = "errors\n    rewrite name exact a.example.test b.example.test"


def document(release: str, cluster: dict[str, Any] | None = None, proxy: dict[str, Any] | None = None, **init: Any) -> str:
    """A kubeadm.yaml as the release reads it."""
    api = "kubeadm.k8s.io/v1beta4" if minor_of(release) >= FIRST_V1BETA4_MINOR else "kubeadm.k8s.io/v1beta3"
    parts: list[dict[str, Any]] = [
        {
            "apiVersion": api,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": "192.0.2.10"},
            "nodeRegistration": {"name": "cp1", "criSocket": "unix:///var/run/containerd/containerd.sock"},
            **init,
        },
        {"apiVersion": api, "kind": "ClusterConfiguration", "kubernetesVersion": f"v{release}", **(cluster or {})},
    ]
    if proxy is not None:
        parts.append({"apiVersion": PROXY_API, "kind": "KubeProxyConfiguration", **proxy})
    return "---\n".join(yaml.safe_dump(part) for part in parts)


def ours(server: ApiServer, text: str, check: bool = False, **options: Any) -> Outcome:
    return execute(AddonPhase(), server.world(), documents(text), options, check)


def theirs(server: ApiServer, release: str, text: str) -> None:
    server.kubeadm(release, text, "init", "phase", "addon", "all")


def same(kubeadms: ApiServer, mine: ApiServer) -> None:
    """Object by object, so that a failure names the one that differs."""
    expected, found = kubeadms.objects(), mine.objects()
    assert set(found) == set(expected)
    assert len(expected) >= 12
    for key, wanted in expected.items():
        assert found[key] == wanted, str(key)


CASES = [
    *(pytest.param(release, cluster, None, id=f"{name}-{release}") for release in RELEASES for name, cluster in CLUSTERS.items()),
    *(pytest.param(release, {}, RICH_PROXY, id=f"proxy-{release}") for release in RELEASES),
    pytest.param(OLD, {"featureGates": {"IPv6DualStack": True}}, None, id=f"dual-stack-gate-{OLD}"),
]


@pytest.mark.parametrize(("release", "cluster", "proxy"), CASES)
def test_the_same_objects_as_kubeadm_and_a_second_run_writes_nothing(
    release: str, cluster: dict[str, Any], proxy: dict[str, Any] | None, kubeadms_api: ApiServer, our_api: ApiServer
) -> None:
    text = document(release, cluster, proxy)
    theirs(kubeadms_api, release, text)
    first = ours(our_api, text)
    same(kubeadms_api, our_api)
    assert {change.reason for change in first.plan.changes} == {"it does not exist"}

    before = our_api.versions()
    assert not ours(our_api, text).changed
    assert our_api.versions() == before

    # What kubeadm wrote is as good as what we would write.
    assert [(change.target, change.reason) for change in ours(kubeadms_api, text, check=True).plan.changes] == []


def test_patches(kubeadms_api: ApiServer, our_api: ApiServer) -> None:
    for server in (kubeadms_api, our_api):
        directory = server.root / "etc/patches"
        directory.mkdir(exist_ok=True)
        for name, patch in PATCHES.items():
            (directory / name).write_text(yaml.safe_dump(patch))
    text = document(NEW, patches={"directory": "/etc/patches"})
    theirs(kubeadms_api, NEW, text)
    ours(our_api, text)
    same(kubeadms_api, our_api)
    pod = our_api.object(coredns.DEPLOYMENT)["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"memory": "256Mi"}
    assert our_api.object(kube_proxy.DAEMON_SET)["spec"]["template"]["metadata"]["annotations"] == {"example.test/patched": "yes"}


@pytest.mark.parametrize("release", RELEASES)
def test_a_customised_corefile_and_the_number_of_replicas_are_kept(release: str, kubeadms_api: ApiServer, our_api: ApiServer) -> None:
    text = document(release)
    kept: dict[str, Any] = {}
    for server in (kubeadms_api, our_api):
        theirs(server, release, text)
        live: Any = copy.deepcopy(server.api().get(coredns.CONFIG_MAP))
        corefile = live["data"]["Corefile"].replace("errors", EDITED, 1)
        _edit(server, coredns.CONFIG_MAP, {"data": {"Corefile": corefile, "other": "x"}})
        _edit(server, coredns.DEPLOYMENT, {"spec": {"replicas": 5}, "metadata": {"labels": {"example.test/mine": "1"}}})
        kept = {"Corefile": corefile, "other": "x"}
    changed = document(release, {"dns": {"imageTag": "v9.9.9"}})
    theirs(kubeadms_api, release, changed)
    outcome = ours(our_api, changed)
    assert [change.target for change in outcome.plan.changes] == ["Deployment kube-system/coredns"]
    assert our_api.object(coredns.CONFIG_MAP)["data"] == kept == kubeadms_api.object(coredns.CONFIG_MAP)["data"]
    mine, wanted = our_api.object(coredns.DEPLOYMENT), kubeadms_api.object(coredns.DEPLOYMENT)
    assert mine["spec"] == wanted["spec"]
    assert mine["spec"]["replicas"] == 5
    # kubeadm replaces the object whole, and with it what others put on it.
    assert mine["metadata"]["labels"]["example.test/mine"] == "1"
    before = our_api.versions()
    assert not ours(our_api, changed).changed
    assert our_api.versions() == before


def test_an_untouched_corefile_follows_the_release(kubeadms_api: ApiServer, our_api: ApiServer) -> None:
    for server in (kubeadms_api, our_api):
        theirs(server, MIDDLE, document(MIDDLE))
    theirs(kubeadms_api, NEW, document(NEW))
    outcome = ours(our_api, document(NEW))
    assert "ConfigMap kube-system/coredns" in [change.target for change in outcome.plan.changes]
    same(kubeadms_api, our_api)


def test_what_is_disabled_is_left_alone(our_api: ApiServer) -> None:
    text = document(NEW, {"dns": {"disabled": True}}, skipPhases=["addon/kube-proxy"])
    outcome = ours(our_api, text)
    assert not outcome.changed
    assert [(fact["name"], fact["reason"]) for fact in outcome.plan.facts["addons"]] == [
        ("coredns", "dns.disabled is set"),
        ("kube-proxy", "skipPhases names addon/kube-proxy"),
    ]
    assert our_api.objects() == {}


def test_a_manifest_of_the_users(our_api: ApiServer, tmp_path: Path) -> None:
    manifest = """
apiVersion: example.test/v1
kind: Widget
metadata: {name: first}
spec: {since: 2026-01-01, size: 3}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: net, namespace: net-system}, data: {a: b}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec:
  group: example.test
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Namespace
metadata: {name: net-system}
"""
    (our_api.root / "etc/net.yaml").write_text(manifest)
    text = document(NEW)
    outcome = ours(our_api, text, addons=[], manifest="/etc/net.yaml")
    assert [change.target for change in outcome.plan.changes] == [
        "Namespace net-system",
        "CustomResourceDefinition widgets.example.test",
        "Widget first",
        "ConfigMap net-system/net",
    ]
    assert our_api.object(ObjectKey("example.test/v1", "Widget", "", "first"))["spec"] == {"since": "2026-01-01", "size": 3}
    assert not ours(our_api, text, addons=[], manifest="/etc/net.yaml").changed
    changed = ours(our_api, text, addons=[], manifest_content=manifest.replace("a: b", "a: c"))
    assert [change.target for change in changed.plan.changes] == ["ConfigMap net-system/net"]


@pytest.mark.parametrize(
    ("cluster", "address"),
    [
        ({"networking": {"podSubnet": "fd00:1::/56", "serviceSubnet": "fd00:2::/112"}}, "2001:db8::10"),
        ({"networking": {"podSubnet": "10.1.0.0/16,fd00:1::/56", "serviceSubnet": "10.2.0.0/16,fd00:2::/112"}}, "192.0.2.10"),
        ({"networking": {"podSubnet": "fd00:1::/56,10.1.0.0/16", "serviceSubnet": "fd00:2::/112,10.2.0.0/16"}}, "2001:db8::10"),
    ],
    ids=["ipv6", "dual-stack", "dual-stack-ipv6-first"],
)
def test_other_address_families_as_kubeadm_prints_them(cluster: dict[str, Any], address: str, tmp_path: Path) -> None:
    text = document(NEW, cluster, localAPIEndpoint={"advertiseAddress": address})
    (tmp_path / "etc").mkdir()
    (tmp_path / DOCUMENT).write_text(text)
    docs = resolve(documents(text), NodeFacts("cp1", address))
    mine = {
        "coredns": (coredns.config_map(docs), *coredns.access(docs), coredns.deployment(docs, 2), coredns.service(docs)),
        "kube-proxy": (kube_proxy.config_map(docs), *kube_proxy.access(), kube_proxy.daemon_set(docs)),
    }
    for name, rendered in mine.items():
        printed = run_kubeadm(kubeadm(NEW), tmp_path, "init", "phase", "addon", name, "--print-manifest", "--config", f"/{DOCUMENT}")
        expected = {key_of(each): each for each in yaml.safe_load_all(printed[printed.index("---") :]) if each}
        found = {key_of(each): each for each in rendered}
        assert set(found) == set(expected)
        for key in (coredns.CONFIG_MAP, ObjectKey("v1", "ConfigMap", "kube-system", "kube-proxy")):
            assert found.get(key, {}).get("data") == expected.get(key, {}).get("data")
        service = ObjectKey("v1", "Service", "kube-system", "kube-dns")
        assert found.get(service, {}).get("spec") == expected.get(service, {}).get("spec")


def _edit(server: ApiServer, key: ObjectKey, patch: dict[str, Any]) -> None:
    """Change an object as a person with kubectl would."""
    api: Any = server.api()
    reply = api._send("PATCH", api._known_path(key), {"fieldManager": "kubectl-edit"}, patch, "application/merge-patch+json")
    assert reply.good, reply.message
