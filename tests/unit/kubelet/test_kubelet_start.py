# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-start phase: which files are written, which are kept, and when the kubelet is restarted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.kubelet.kubelet_cases import Services, run
from unit.world import changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

DIRECTORY = "var/lib/kubelet"
ALL = ["kubeadm-flags.env", "instance-config.yaml", "config.yaml"]
LATER = datetime(2040, 1, 1, tzinfo=timezone.utc)


def start(root: Path, services: Services, **given: Any) -> Any:
    return run(KubeletStartPhase(), root, services, **given)


def targets(outcome: Any) -> list[str]:
    return [change.target.rpartition("/")[2] for change in outcome.plan.changes]


@pytest.fixture
def running(tmp_path: Path) -> tuple[Path, Services]:
    """A host whose kubelet runs with the files of the phase."""
    services = Services()
    start(tmp_path, services)
    services.restarts.clear()
    return tmp_path, services


@pytest.mark.parametrize(
    ("version", "files"),
    [
        ("v1.22.17", ["kubeadm-flags.env", "config.yaml"]),
        ("v1.33.13", ["kubeadm-flags.env", "config.yaml"]),
        ("v1.34.10", ALL),
        ("v1.37.1", ALL),
    ],
)
def test_on_a_virgin_host_everything_is_written_and_the_kubelet_started(tmp_path: Path, version: str, files: list[str]) -> None:
    services = Services()
    outcome = start(tmp_path, services, version=version)
    assert targets(outcome) == [*files, "manifests", "kubelet.service"]
    assert [(restart.name, restart.reload_units) for restart in services.restarts] == [("kubelet", True)]
    assert (tmp_path / "etc/kubernetes/manifests").stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / DIRECTORY).iterdir()} == dict.fromkeys(files, 0o644)
    assert (tmp_path / DIRECTORY).stat().st_mode & 0o777 == 0o700
    assert outcome.plan.facts["kubelet_restart"] == "it is not running"


def test_the_socket_of_the_node_is_merged_last(tmp_path: Path) -> None:
    start(tmp_path, Services(), kubelet={"containerRuntimeEndpoint": "unix:///given.sock"})
    socket = "unix:///var/run/containerd/containerd.sock"
    assert (tmp_path / DIRECTORY / "instance-config.yaml").read_text() == f'containerRuntimeEndpoint: "{socket}"\n'
    assert yaml.safe_load((tmp_path / DIRECTORY / "config.yaml").read_text())["containerRuntimeEndpoint"] == socket


def test_nothing_moves_when_run_again(running: tuple[Path, Services]) -> None:
    root, services = running
    before = snapshot(root)
    outcome = start(root, services)
    assert (outcome.changed, services.restarts, outcome.plan.facts["kubelet_restart"]) == (False, [], "")
    assert {fact["done"] for fact in outcome.plan.facts["kubelet_files"]} == {"kept"}
    assert snapshot(root) == before


def test_check_mode_reports_the_same_and_touches_nothing(tmp_path: Path) -> None:
    services = Services()
    checked = start(tmp_path, services, check=True)
    assert (snapshot(tmp_path), services.restarts) == ({}, [])
    real = start(tmp_path, services)
    assert (changes(checked), checked.plan.facts) == (changes(real), real.plan.facts)


def aged(root: Path, name: str, seconds: float) -> None:
    os.utime(root / DIRECTORY / name, (seconds, seconds))


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        # A run was killed between the write and the restart.
        (lambda root, started: aged(root, "config.yaml", started + 5), "it still runs with an older config.yaml"),
        (lambda root, started: aged(root, "kubeadm-flags.env", started + 0.001), "it still runs with an older kubeadm-flags.env"),
        # In the same second as the start, before and after it.
        (lambda root, started: aged(root, "config.yaml", started + 0.3), "it still runs with an older config.yaml"),
        (lambda root, started: aged(root, "config.yaml", started - 0.3), ""),
        (lambda root, started: aged(root, "config.yaml", started - 0.04), ""),
        # The kernel's stamp may be a tick older than the write.
        (lambda root, started: aged(root, "config.yaml", started - 0.005), "it still runs with an older config.yaml"),
        # The kubelet does not read this one.
        (lambda root, started: aged(root, "instance-config.yaml", started + 5), ""),
        (
            lambda root, started: [aged(root, name, started + 5) for name in ALL],
            "it still runs with an older kubeadm-flags.env and config.yaml",
        ),
    ],
)
def test_a_kubelet_older_than_its_files_is_restarted_once(tmp_path: Path, deed: Callable[[Path, float], None], reason: str) -> None:
    services = Services()
    start(tmp_path, services)
    services.restarts.clear()
    services.started = time.time() - 60
    for name in ALL:
        aged(tmp_path, name, services.started - 60)
    deed(tmp_path, services.started)
    before = snapshot(tmp_path)
    outcome = start(tmp_path, services)
    assert outcome.plan.facts["kubelet_restart"] == reason
    assert len(services.restarts) == bool(reason)
    assert not start(tmp_path, services).changed
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ALL)
def test_what_differs_is_written_anew(running: tuple[Path, Services], name: str) -> None:
    root, services = running
    (root / DIRECTORY / name).write_text("a: b\n")
    outcome = start(root, services)
    assert targets(outcome) == [name] + (["kubelet.service"] if name != "instance-config.yaml" else [])
    assert outcome.plan.changes[0].reason == "it differs from what the documents ask for"
    assert not start(root, services).changed


def test_a_changed_document_changes_one_file_and_restarts_once(running: tuple[Path, Services]) -> None:
    root, services = running
    outcome = start(root, services, kubelet={"maxPods": 200})
    assert targets(outcome) == ["config.yaml", "kubelet.service"]
    change = outcome.plan.changes[0]
    assert set(change.after.splitlines()) - set(change.before.splitlines()) == {"maxPods: 200"}
    assert len(services.restarts) == 1


def test_the_same_in_another_layout_is_kept(running: tuple[Path, Services]) -> None:
    root, services = running
    path = root / DIRECTORY / "config.yaml"
    path.write_text("# mine\n" + yaml.safe_dump(yaml.safe_load(path.read_text()), default_flow_style=True))
    aged(root, "config.yaml", (services.started or 0) - 60)
    assert not start(root, services).changed


def test_a_file_that_is_no_yaml_is_written_anew_without_being_shown(running: tuple[Path, Services]) -> None:
    root, services = running
    (root / DIRECTORY / "config.yaml").write_text("a: b: canary")
    outcome = start(root, services)
    assert targets(outcome) == ["config.yaml", "kubelet.service"]
    assert outcome.plan.changes[0].before == "not valid YAML\n"


def test_a_time_in_the_future_is_mended_once(running: tuple[Path, Services]) -> None:
    root, services = running
    aged(root, "config.yaml", LATER.timestamp())
    outcome = start(root, services)
    assert [change.reason for change in outcome.plan.changes] == [
        "its time lies in the future, so that nobody could tell whether the kubelet has read it",
        "it still runs with an older config.yaml",
    ]
    assert not start(root, services).changed


def test_a_wide_mode_is_narrowed_without_a_restart(running: tuple[Path, Services]) -> None:
    root, services = running
    (root / DIRECTORY / "config.yaml").chmod(0o666)
    (root / DIRECTORY / "kubeadm-flags.env").chmod(0o600)
    outcome = start(root, services)
    assert (targets(outcome), services.restarts) == (["config.yaml"], [])
    assert (root / DIRECTORY / "config.yaml").stat().st_mode & 0o777 == 0o644


def test_headers_are_not_shown(running: tuple[Path, Services]) -> None:
    root, services = running
    first = start(root, services, kubelet={"staticPodURLHeader": {"Authorization": ["Bearer canary1"]}})
    second = start(root, services, kubelet={"staticPodURLHeader": {"Authorization": ["Bearer canary2"]}})
    assert "canary" not in str(changes(first)) + str(changes(second)) + repr(second.plan)
    assert "canary2" in (root / DIRECTORY / "config.yaml").read_text()


def test_without_a_kubelet_there_is_one_error_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"kubelet\.service: this host has no such unit, or it is masked\. Install the kubelet"):
        start(tmp_path, Services(known=False))
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_directory_of_static_pods_that_is_there_is_left_alone(tmp_path: Path, mode: int) -> None:
    (tmp_path / "etc/kubernetes/manifests").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/manifests").chmod(mode)
    assert "manifests" not in targets(start(tmp_path, Services()))
    assert (tmp_path / "etc/kubernetes/manifests").stat().st_mode & 0o777 == mode


def test_the_directory_of_static_pods_is_there_before_the_kubelet_looks_for_it(tmp_path: Path) -> None:
    outcome = start(tmp_path, Services())
    assert [change.target for change in outcome.plan.changes][-2:] == ["/etc/kubernetes/manifests", "kubelet.service"]


@pytest.mark.parametrize(
    ("kubelet", "arguments", "url"),
    [
        ({}, [], "http://127.0.0.1:10248/healthz"),
        ({"healthzPort": 12345, "healthzBindAddress": "::1"}, [], "http://[::1]:12345/healthz"),
        ({"healthzPort": 0}, [], ""),
        ({"healthzPort": 0}, [{"name": "healthz-port", "value": "777"}], "http://127.0.0.1:777/healthz"),
        ({}, [{"name": "healthz-port", "value": "0"}], ""),
        ({}, [{"name": "healthz-bind-address", "value": "192.0.2.10"}], "http://192.0.2.10:10248/healthz"),
    ],
)
def test_where_a_started_kubelet_is_asked(tmp_path: Path, kubelet: Any, arguments: Any, url: str) -> None:
    services = Services()
    start(tmp_path, services, kubelet=kubelet, init={"nodeRegistration": {"kubeletExtraArgs": arguments}})
    assert [restart.health_url for restart in services.restarts] == [url]


def test_systemd_resolved_decides_the_resolver(tmp_path: Path) -> None:
    start(tmp_path, Services(resolved=True))
    found = yaml.safe_load((tmp_path / DIRECTORY / "config.yaml").read_text())
    assert found["resolvConf"] == "/run/systemd/resolve/resolv.conf"


PATCHES = {"patches": {"directory": "/patches"}}


def patch(root: Path, name: str, text: str) -> None:
    (root / "patches").mkdir(exist_ok=True)
    (root / "patches" / name).write_text(text)


def test_patches_are_applied_before_the_socket(tmp_path: Path) -> None:
    patch(tmp_path, "kubeletconfiguration+merge.yaml", "maxPods: 42\ncontainerRuntimeEndpoint: unix:///patched.sock\n")
    patch(tmp_path, "kube-apiserver.yaml", "metadata: {labels: {a: b}}\n")
    start(tmp_path, Services(), init=PATCHES)
    found = yaml.safe_load((tmp_path / DIRECTORY / "config.yaml").read_text())
    assert (found["maxPods"], found["containerRuntimeEndpoint"]) == (42, "unix:///var/run/containerd/containerd.sock")
    assert "labels" not in found.get("metadata", {})


def test_patches_of_the_kubelet_came_with_1_25(tmp_path: Path) -> None:
    patch(tmp_path, "kubeletconfiguration.yaml", "maxPods: 42\n")
    start(tmp_path, Services(), version="v1.24.17", init=PATCHES)
    assert "maxPods" not in (tmp_path / DIRECTORY / "config.yaml").read_text()


@pytest.mark.parametrize(("text", "error"), [("a: b: c", "kubeletconfiguration.yaml"), ("[]", "must be a map of fields")])
def test_a_bad_patch_is_named(tmp_path: Path, text: str, error: str) -> None:
    patch(tmp_path, "kubeletconfiguration.yaml", text)
    with pytest.raises(ManyUnusable, match=error):
        start(tmp_path, Services(), init=PATCHES)
    assert not (tmp_path / DIRECTORY).exists()


def test_a_directory_of_patches_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="/patches: there is no such directory"):
        start(tmp_path, Services(), init=PATCHES)
