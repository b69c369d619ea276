# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The control-plane and etcd phases: what is written, what is kept, what is refused, what a diff tells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.world import Host, changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.phase import COMPONENTS, StaticPodPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

PLACE = "etc/kubernetes/manifests"
NEW = {"kubernetesVersion": "v1.37.1"}


def static_pods(
    root: Path, cluster: Mapping[str, Any] | None = None, init: Mapping[str, Any] | None = None, check: bool = False, **options: Any
) -> Outcome:
    documents = {"ClusterConfiguration": {**NEW, **(cluster or {})}, "InitConfiguration": dict(init or {})}
    return execute(StaticPodPhase(), World(files=Files(str(root)), host=Host()), documents, options, check)


def load(root: Path, component: str) -> Any:
    return yaml.safe_load((root / PLACE / f"{component}.yaml").read_text())


def command(root: Path, component: str) -> list[str]:
    words: list[str] = load(root, component)["spec"]["containers"][0]["command"]
    return words


def done(outcome: Outcome) -> dict[str, str]:
    return {fact["component"]: fact["done"] for fact in outcome.plan.facts["manifests"]}


def edit(root: Path, component: str, old: str, new: str) -> None:
    path = root / PLACE / f"{component}.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_virgin_host_gets_everything_with_its_modes(tmp_path: Path) -> None:
    outcome = static_pods(tmp_path)
    assert done(outcome) == dict.fromkeys(COMPONENTS, "written")
    assert sorted(path.name for path in (tmp_path / PLACE).iterdir()) == sorted(f"{name}.yaml" for name in COMPONENTS)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / PLACE).iterdir()} == {0o600}
    assert [(tmp_path / path).stat().st_mode & 0o777 for path in (PLACE, "var/lib/etcd", "etc/kubernetes")] == [0o700, 0o700, 0o755]
    assert [path.name for path in (tmp_path / "etc/kubernetes").iterdir()] == ["manifests"]


def test_nothing_is_staged_where_the_kubelet_looks(tmp_path: Path) -> None:
    writes = [change.action for change in static_pods(tmp_path).plan.changes if isinstance(change.action, WriteFile)]
    assert len(writes) == 4
    assert {(write.staging, write.directory_mode) for write in writes} == {("/etc/kubernetes", 0o700)}


def test_nothing_moves_when_run_again(tmp_path: Path) -> None:
    static_pods(tmp_path)
    before = snapshot(tmp_path)
    outcome = static_pods(tmp_path)
    assert (outcome.changed, done(outcome)) == (False, dict.fromkeys(COMPONENTS, "kept"))
    assert snapshot(tmp_path) == before


def test_check_mode_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    checked = static_pods(tmp_path, check=True)
    assert not list(tmp_path.iterdir())
    assert changes(checked) == changes(static_pods(tmp_path))


def test_a_text_of_the_same_meaning_is_kept(tmp_path: Path) -> None:
    static_pods(tmp_path)
    for path in (tmp_path / PLACE).iterdir():
        pod = yaml.safe_load(path.read_text())
        pod["metadata"]["creationTimestamp"] = None
        pod["spec"]["containers"][0]["env"] = []
        path.write_text("# by hand\n" + yaml.safe_dump(pod, default_flow_style=True))
    before = snapshot(tmp_path)
    assert not static_pods(tmp_path).changed
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("component", "old", "new"),
    [
        ("kube-apiserver", "--allow-privileged=true", "--allow-privileged=false"),
        ("kube-scheduler", "    - --leader-elect=true\n", ""),
        ("kube-controller-manager", "cpu: 200m", "cpu: 201m"),
        ("kube-apiserver", "readOnly: true", "readOnly: false"),
        ("etcd", "image: registry.k8s.io/etcd", "image: elsewhere/etcd"),
        ("etcd", "hostNetwork: true", "hostNetwork: false"),
        ("etcd", "failureThreshold: 24", "failureThreshold: 23"),
        ("etcd", "containers:", "containers: 7\n  was:"),
        ("etcd", "kind: Pod", "kind: [Pod"),
    ],
)
def test_a_deviation_is_mended_and_shown(tmp_path: Path, component: str, old: str, new: str) -> None:
    static_pods(tmp_path)
    expected = (tmp_path / PLACE / f"{component}.yaml").read_text()
    edit(tmp_path, component, old, new)
    outcome = static_pods(tmp_path)
    assert [change.target for change in outcome.plan.changes] == [f"/{PLACE}/{component}.yaml"]
    assert outcome.plan.changes[0].before != outcome.plan.changes[0].after == expected
    assert (tmp_path / PLACE / f"{component}.yaml").read_text() == expected


@pytest.mark.parametrize("path", [f"{PLACE}/etcd.yaml", PLACE, "var/lib/etcd"])
def test_a_wide_mode_is_narrowed_and_nothing_else(tmp_path: Path, path: str) -> None:
    static_pods(tmp_path)
    content = {name: state[0] for name, state in snapshot(tmp_path).items()}
    (tmp_path / path).chmod(0o755)
    outcome = static_pods(tmp_path)
    assert [(change.target, change.before) for change in outcome.plan.changes] == [(f"/{path}", "mode: 0755\n")]
    assert (tmp_path / path).stat().st_mode & 0o077 == 0
    assert {name: state[0] for name, state in snapshot(tmp_path).items()} == content
    assert not static_pods(tmp_path).changed


@pytest.mark.parametrize(
    ("cluster", "options", "expected"),
    [
        ({}, {"components": ["kube-scheduler"]}, ["kube-scheduler"]),
        ({}, {"components": ["etcd"]}, ["etcd"]),
        ({"etcd": {"external": {"endpoints": ["https://192.0.2.61:2379"]}}}, {}, list(COMPONENTS[1:])),
        ({"etcd": {"external": {"endpoints": ["https://192.0.2.61:2379"]}}}, {"components": ["etcd"]}, []),
    ],
)
def test_which_components(tmp_path: Path, cluster: dict[str, Any], options: dict[str, Any], expected: list[str]) -> None:
    assert list(done(static_pods(tmp_path, cluster, **options))) == expected
    assert (tmp_path / "var/lib/etcd").exists() is ("etcd" in expected)


def test_a_member_that_joins(tmp_path: Path) -> None:
    static_pods(tmp_path, components=["etcd"], initial_cluster=["cp0=https://192.0.2.9:2380", "cp1=https://192.0.2.10:2380"])
    words = command(tmp_path, "etcd")
    assert "--initial-cluster=cp0=https://192.0.2.9:2380,cp1=https://192.0.2.10:2380" in words
    assert "--initial-cluster-state=existing" in words


@pytest.mark.parametrize("first", [{"initial_cluster": ["cp0=https://192.0.2.9:2380", "cp1=https://192.0.2.10:2380"]}, {}])
@pytest.mark.parametrize("second", [{"initial_cluster": ["cp9=https://192.0.2.19:2380"]}, {}])
def test_a_member_with_data_keeps_its_initial_flags(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    static_pods(tmp_path, **first)
    before = command(tmp_path, "etcd")
    (tmp_path / "var/lib/etcd/member").mkdir()
    assert not static_pods(tmp_path, **second).changed
    args = {"etcd": {"local": {"extraArgs": {"quota-backend-bytes": "1"}}}}
    assert static_pods(tmp_path, args, **second).changed
    assert command(tmp_path, "etcd") == [*before, "--quota-backend-bytes=1"]


def test_a_member_without_data_follows_the_options(tmp_path: Path) -> None:
    static_pods(tmp_path)
    assert static_pods(tmp_path, initial_cluster=["cp1=https://192.0.2.10:2380"]).changed
    assert "--initial-cluster-state=existing" in command(tmp_path, "etcd")


def test_an_external_ca_has_nothing_to_sign_with(tmp_path: Path) -> None:
    (tmp_path / "etc/kubernetes/pki").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/pki/ca.crt").touch()
    static_pods(tmp_path)
    assert {"--cluster-signing-cert-file=", "--cluster-signing-key-file="} <= set(command(tmp_path, "kube-controller-manager"))


def env(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"apiServer": {"extraEnvs": [{"name": name, "value": value} for name, value in pairs]}}


def test_values_of_variables_are_not_told_and_their_changes_are_seen(tmp_path: Path) -> None:
    first = static_pods(tmp_path, env(("TOKEN", "canary-one")), proxy_env={"HTTPS_PROXY": "http://u:canary-two@proxy"})
    second = static_pods(tmp_path, env(("TOKEN", "canary-three")), proxy_env={"HTTPS_PROXY": "http://u:canary-two@proxy"})
    third = static_pods(tmp_path)
    assert "canary-three" not in (tmp_path / PLACE / "kube-apiserver.yaml").read_text()
    assert [change.target for change in second.plan.changes] == [f"/{PLACE}/kube-apiserver.yaml"]
    assert "TOKEN\n      value: <hidden, another value>" in second.plan.changes[0].after
    assert "HTTPS_PROXY\n      value: <hidden>" in second.plan.changes[0].after
    for outcome in (first, second, third):
        assert outcome.changed
        assert "canary" not in repr(changes(outcome)) + repr(outcome.plan)


def test_proxies_are_for_all_but_etcd_and_the_documents_win(tmp_path: Path) -> None:
    static_pods(tmp_path, env(("no_proxy", "own")), proxy_env={"no_proxy": "given", "HTTP_PROXY": "http://p", "FTP_PROXY": ""})
    found = {name: load(tmp_path, name)["spec"]["containers"][0].get("env") for name in COMPONENTS}
    given = [{"name": "HTTP_PROXY", "value": "http://p"}, {"name": "no_proxy", "value": "given"}]
    own = [{"name": "HTTP_PROXY", "value": "http://p"}, {"name": "no_proxy", "value": "own"}]
    assert found == {"etcd": None, "kube-apiserver": own, "kube-controller-manager": given, "kube-scheduler": given}


@pytest.mark.parametrize(
    ("cluster", "options", "said"),
    [
        ({"featureGates": {"RootlessControlPlane": True}}, {}, "featureGates.RootlessControlPlane: a control plane without root"),
        ({}, {"proxy_env": {"TOKEN": "canary"}}, "proxy_env.TOKEN: its name does not end in _proxy. Use extraEnvs"),
        ({}, {"proxy_env": {"http_proxy": 1}}, "proxy_env.http_proxy: its value is not a text"),
        ({}, {"initial_cluster": ["cp1"]}, "initial_cluster[0]: 'cp1' is no member. Give name=https"),
    ],
)
def test_what_is_refused(tmp_path: Path, cluster: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ManyUnusable) as refused:
        static_pods(tmp_path, cluster, **options)
    assert said in str(refused.value)
    assert "canary" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def patched(root: Path, files: Mapping[str, str], **options: Any) -> Outcome:
    for name, text in files.items():
        path = root / "patches" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return static_pods(root, init={"patches": {"directory": "/patches"}}, **options)


def test_patches_are_applied_and_kept(tmp_path: Path) -> None:
    files = {"kube-scheduler+merge.yaml": "metadata: {labels: {team: a}}", "etcd.yaml": "spec: {priority: 7}", "notes.txt": ""}
    patched(tmp_path, files)
    assert load(tmp_path, "kube-scheduler")["metadata"]["labels"]["team"] == "a"
    assert load(tmp_path, "etcd")["spec"]["priority"] == 7
    assert not patched(tmp_path, {}).changed
    outcome = patched(tmp_path, {"etcd.yaml": "spec: {priority: 8}", "kube-shceduler.yaml": "spec: {}"})
    assert done(outcome)["etcd"] == "rewritten"
    assert [warning.partition(" is not applied")[0] for warning in outcome.warnings] == ["/patches/kube-shceduler.yaml"]


def test_every_bad_patch_is_named_at_once(tmp_path: Path) -> None:
    bad = {
        "etcd+strange.yaml": "spec: {}",
        "kube-apiserver.yaml": "spec: ]canary",
        "sub/kube-scheduler+json.yaml": "spec: canary",
        "kube-scheduler.yaml": "a: canary\na: canary\n",
    }
    with pytest.raises(ManyUnusable) as refused:
        patched(tmp_path, bad)
    assert [str(finding).partition(":")[0] for finding in refused.value.findings] == [
        "/patches/etcd+strange.yaml",
        "/patches/kube-apiserver.yaml, line 1",
        "/patches/kube-scheduler.yaml, line 2",
        "/patches/sub/kube-scheduler+json.yaml",
    ]
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("etcd+merge.yaml", "kind: Job", "it is no longer a Pod"),
        ("etcd+merge.yaml", "metadata: {name: other}", "its name was changed"),
        ("etcd+merge.yaml", "spec: {containers: []}", "it has no containers"),
        ("etcd.yaml", "spec: {containers: [{name: etcd, command: [etcd, 1]}]}", "command of etcd is not a list of texts"),
        ("etcd.yaml", "spec: {containers: [{name: etcd, env: [{name: A, value: 1}]}]}", "env of etcd is not a list"),
        ("etcd.yaml", "spec: {containers: [{name: more}]}", "no name or no image"),
        ("etcd+json.yaml", "[{op: remove, path: /spec/nothing}]", "operation 0 (remove /spec/nothing): there is no such path"),
    ],
)
def test_a_pod_that_could_not_run_is_not_written(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ManyUnusable, match="patches") as refused:
        patched(tmp_path, {name: text})
    assert said in str(refused.value)
    assert not (tmp_path / "etc").exists()


def test_a_missing_directory_of_patches(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="/patches: there is no such directory on this host"):
        patched(tmp_path, {})


ETCD_ONLY = {"components": ["etcd"]}


def test_a_joining_node_has_its_own_patches(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/etcd.yaml").write_text("spec: {priority: 7}")
    join = {
        "controlPlane": {},
        "patches": {"directory": "/mine"},
        "timeouts": {"controlPlaneComponentHealthCheck": "1m"},
        "discovery": {"bootstrapToken": {"apiServerEndpoint": "192.0.2.9:6443", "unsafeSkipCAVerification": True}},
    }
    documents = {"ClusterConfiguration": NEW, "JoinConfiguration": join}
    execute(
        StaticPodPhase(), World(files=Files(str(tmp_path)), host=Host()), documents, {"components": ["etcd"], "becomes": "control_plane"}
    )
    pod = load(tmp_path, "etcd")
    assert (pod["spec"]["priority"], pod["spec"]["containers"][0]["startupProbe"]["failureThreshold"]) == (7, 6)
