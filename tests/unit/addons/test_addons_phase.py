# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The addon phase: what is applied, what is kept and what is said, around what a cluster already has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.tokens.cluster import Cluster, everything_said, perform, write_admin

from ansible_collections.kubephase.cluster.plugins.module_utils._addons import coredns
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.corefile import default_corefile
from ansible_collections.kubephase.cluster.plugins.module_utils._addons.phase import AddonPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey

DEPLOYMENT = "Deployment kube-system/coredns"
CONFIG_MAP = "ConfigMap kube-system/coredns"
DNS_OBJECTS = 6
PROXY_OBJECTS = 6
OLD_COREFILE = default_corefile("cluster.local", False).replace("ttl 30", "upstream")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host that belongs to a cluster."""
    write_admin(tmp_path)
    return tmp_path


def addon(root: Path, live: Cluster, init: dict[str, Any] | None = None, check: bool = False, **options: Any) -> Any:
    documents: dict[str, Any] = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", **options.pop("cluster", {})}}
    if init:
        documents["InitConfiguration"] = init
    return perform(AddonPhase(), root, live, documents, check, **options)


def targets(outcome: Any) -> list[str]:
    return [change.target for change in outcome.plan.changes]


def done(outcome: Any) -> dict[str, str]:
    return {fact["name"]: fact["done"] for fact in outcome.plan.facts["addons"]}


def test_a_fresh_cluster_gets_both_and_a_second_run_changes_nothing(root: Path) -> None:
    cluster = Cluster()
    outcome = addon(root, cluster)
    assert len(cluster.objects) == DNS_OBJECTS + PROXY_OBJECTS
    assert done(outcome) == {"coredns": "applied", "kube-proxy": "applied"}
    assert cluster.asked == "https://192.0.2.10:6443"
    again = addon(root, cluster)
    assert not again.changed
    assert done(again) == {"coredns": "kept", "kube-proxy": "kept"}


def test_before_the_first_run_nobody_is_asked_and_everything_would_be_made(tmp_path: Path) -> None:
    outcome = addon(tmp_path, Cluster(), check=True)
    assert len(outcome.plan.changes) == DNS_OBJECTS + PROXY_OBJECTS
    assert {change.reason for change in outcome.plan.changes} == {"it does not exist"}


@pytest.mark.parametrize(("chosen", "objects"), [(["coredns"], DNS_OBJECTS), (["kube-proxy"], PROXY_OBJECTS), ([], 0), (None, 12)])
def test_only_what_was_chosen(root: Path, chosen: list[str] | None, objects: int) -> None:
    assert len(addon(root, Cluster(), addons=chosen).plan.changes) == objects


@pytest.mark.parametrize(
    ("cluster", "init", "left_out"),
    [
        ({"dns": {"disabled": True}}, {}, {"coredns": "dns.disabled is set"}),
        ({"proxy": {"disabled": True}}, {}, {"kube-proxy": "proxy.disabled is set"}),
        ({}, {"skipPhases": ["addon/coredns"]}, {"coredns": "skipPhases names addon/coredns"}),
        ({}, {"skipPhases": ["addon"]}, {"coredns": "skipPhases names addon", "kube-proxy": "skipPhases names addon"}),
    ],
)
def test_what_the_documents_disable_is_left_alone(
    root: Path, cluster: dict[str, Any], init: dict[str, Any], left_out: dict[str, str]
) -> None:
    live = Cluster()
    addon(root, live)
    live.objects[coredns.DEPLOYMENT]["spec"]["template"] = {}
    before = live.writes
    outcome = addon(root, live, init, cluster=cluster)
    assert {fact["name"]: fact["reason"] for fact in outcome.plan.facts["addons"] if fact["reason"] and not fact["objects"]} == left_out
    assert targets(outcome) == ([] if "coredns" in left_out else [DEPLOYMENT])
    assert live.writes == before + len(outcome.plan.changes)


@pytest.mark.parametrize(
    ("corefile", "image", "changed", "warned"),
    [
        (default_corefile("cluster.local", False), "x/coredns:v1.10.1", [CONFIG_MAP, DEPLOYMENT], False),
        ("", "x/coredns:v1.10.1", [CONFIG_MAP, DEPLOYMENT], False),
        ("example.test {\n  log\n  loop\n  ready\n}", "x/coredns:v1.10.1", [DEPLOYMENT], False),
        (OLD_COREFILE, "x/coredns:v1.10.1", [DEPLOYMENT], False),
        (OLD_COREFILE, "registry.test:5000/x/coredns:v1.6.7@sha256:00", [], True),
    ],
    ids=["kubeadm's own", "empty", "customised", "customised, nothing newly gone", "customised, to be migrated"],
)
def test_the_corefile_decides_what_is_kept(root: Path, corefile: str, image: str, changed: list[str], warned: bool) -> None:
    cluster = Cluster()
    addon(root, cluster, addons=["coredns"])
    cluster.objects[coredns.CONFIG_MAP]["data"]["Corefile"] = corefile
    cluster.objects[coredns.DEPLOYMENT]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    outcome = addon(root, cluster, addons=["coredns"])
    assert targets(outcome) == changed
    assert any("option upstream of plugin kubernetes is gone since 1.7.0" in line for line in outcome.warnings) is warned
    assert (cluster.objects[coredns.CONFIG_MAP]["data"]["Corefile"] == corefile) is (CONFIG_MAP not in changed)
    assert not addon(root, cluster, addons=["coredns"]).changed


def test_a_corefile_without_its_deployment_gets_one(root: Path) -> None:
    cluster = Cluster()
    addon(root, cluster, addons=["coredns"])
    cluster.objects[coredns.CONFIG_MAP]["data"]["Corefile"] = OLD_COREFILE
    del cluster.objects[coredns.DEPLOYMENT]
    assert targets(addon(root, cluster, addons=["coredns"])) == [DEPLOYMENT]


def test_patches_reach_the_deployment_and_the_daemon_set(root: Path) -> None:
    (root / "patches").mkdir()
    patch = 'spec: {template: {spec: {nodeSelector: {"example.test/zone": a}}}}'
    (root / "patches/corednsdeployment.yaml").write_text(patch)
    (root / "patches/kubeproxydaemonset+merge.yaml").write_text(patch)
    cluster = Cluster()
    addon(root, cluster, {"patches": {"directory": "/patches"}}, proxy_env={"HTTPS_PROXY": "http://proxy.test"})
    daemon_set = cluster.objects[ObjectKey("apps/v1", "DaemonSet", "kube-system", "kube-proxy")]
    for made in (cluster.objects[coredns.DEPLOYMENT], daemon_set):
        assert made["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "example.test/zone": "a"}
    assert [each["name"] for each in daemon_set["spec"]["template"]["spec"]["containers"][0]["env"]] == ["NODE_NAME", "HTTPS_PROXY"]


def test_a_manifest_of_the_users_comes_last_and_hides_its_secrets(root: Path) -> None:
    text = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: net}, stringData: {password: canary-7}}"
    (root / "net.yaml").write_text(text)
    cluster = Cluster()
    outcome = addon(root, cluster, addons=["kube-proxy"], manifest="/net.yaml")
    assert targets(outcome)[-1] == "Secret net/s"
    assert outcome.plan.facts["addons"][-1]["objects"] == ["Secret net/s"]
    assert "canary-7" not in everything_said(outcome)
    assert cluster.objects[ObjectKey("v1", "Secret", "net", "s")]["stringData"] == {"password": "canary-7"}


def test_a_manifest_that_is_not_there(root: Path) -> None:
    with pytest.raises(Unusable, match=r"/net\.yaml: there is no such manifest on this host"):
        addon(root, Cluster(), manifest="/net.yaml")


def test_a_broken_manifest_stops_before_any_write(root: Path) -> None:
    cluster = Cluster()
    with pytest.raises(ManyUnusable, match=r"document 1: kind and metadata\.name are missing"):
        addon(root, cluster, manifest_content="apiVersion: v1")
    assert cluster.writes == 0


def test_a_proxy_configuration_that_is_not_recommended_is_warned_of(root: Path) -> None:
    documents = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}, "KubeProxyConfiguration": {"mode": "ipvs"}}
    outcome = perform(AddonPhase(), root, Cluster(), documents)
    assert any("mode ipvs is deprecated" in line for line in outcome.warnings)
