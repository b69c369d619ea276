# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime through crictl: a stand-in for crictl answers as real runtimes do, behind a real socket."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import PullImages

UNIMPLEMENTED = 'time="x" level=fatal msg="getting runtime config: rpc error: code = Unimplemented desc = unknown method RuntimeConfig"'


def ready(status: bool = True, **config: Any) -> dict[str, Any]:
    condition = {"type": "RuntimeReady", "status": status, "reason": "Broken", "message": "no shim"}
    network = {"type": "NetworkReady", "status": False, "reason": "NetworkPluginNotReady", "message": ""}
    return {"status": {"conditions": [condition, network]}, "config": config}


def runc(**options: Any) -> dict[str, Any]:
    return {"containerd": {"defaultRuntimeName": "runc", "runtimes": {"runc": {"runtimeType": "io.containerd.runc.v2", **options}}}}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory with a socket that somebody listens on."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "cri.sock"))
        server.listen()
        yield tmp_path


class Crictl:
    """A crictl that prints what it is told and writes down how it was called."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.endpoint = f"unix://{place}/cri.sock"
        (place / "answers").mkdir()
        program = place / "crictl"
        program.write_text(
            f'#!/bin/sh\necho "$@" >> {place}/calls\nshift 6\nname=$1\n'
            f'[ "$name" = pull ] && name="pull-$(echo "$2" | tr / _)"\n'
            f"sleep $(cat {place}/answers/$name.sleep 2>/dev/null || echo 0)\n"
            f"cat {place}/answers/$name.err >&2 2>/dev/null\ncat {place}/answers/$name.out 2>/dev/null\n"
            f"exit $(cat {place}/answers/$name.rc 2>/dev/null || echo 0)\n"
        )
        program.chmod(0o755)
        self.adapter = Cri(str(program))

    def answers(self, command: str, output: Any = "", error: str = "", code: int = 0, seconds: float = 0) -> None:
        stem = command.replace("/", "_")
        text = output if isinstance(output, str) else json.dumps(output)
        for suffix, content in (("out", text), ("err", error), ("rc", str(code)), ("sleep", str(seconds))):
            (self._place / "answers" / f"{stem}.{suffix}").write_text(content)

    def calls(self) -> list[str]:
        """What was asked, without the endpoint."""
        path = self._place / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        prefix = f"--runtime-endpoint {self.endpoint} --image-endpoint {self.endpoint} --timeout 10s "
        assert all(line.startswith(prefix) for line in lines)
        return [line[len(prefix) :] for line in lines]


@pytest.fixture
def crictl(place: Path) -> Crictl:
    made = Crictl(place)
    made.answers("info", ready(sandboxImage="registry.k8s.io/pause:3.10", **runc(options={"SystemdCgroup": True})))
    made.answers("images", {"images": [{"repoTags": ["a:1", "a:2"], "repoDigests": ["a@sha256:0"]}, {"repoTags": None}]})
    made.answers("runtime-config", "", UNIMPLEMENTED, 1)
    return made


def test_a_runtime_tells_what_it_is(crictl: Crictl) -> None:
    found = crictl.adapter.look(crictl.endpoint)
    assert (found.problem, found.sandbox_image, found.cgroup_driver) == ("", "registry.k8s.io/pause:3.10", "systemd")
    assert (found.images, found.tells_config) == (("a:1", "a:2", "a@sha256:0"), False)
    assert sorted(crictl.calls()) == ["images -o json", "info", "runtime-config"]


def test_a_runtime_tells_its_version(crictl: Crictl) -> None:
    crictl.answers("version", "Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  1.7.27~ds1\nRuntimeApiVersion:  v1\n")
    assert crictl.adapter.version(crictl.endpoint) == "containerd 1.7.27~ds1"
    crictl.answers("version", "", "no answer", 1)
    with pytest.raises(Unusable, match="does not tell its version: no answer"):
        crictl.adapter.version(crictl.endpoint)


def test_a_socket_without_its_scheme_will_do_and_the_config_need_not_be_asked(crictl: Crictl) -> None:
    assert crictl.adapter.look(crictl.endpoint[len("unix://") :], config=False).tells_config is None
    assert sorted(crictl.calls()) == ["images -o json", "info"]


@pytest.mark.parametrize(
    ("answer", "tells", "driver"),
    [
        (({"linux": {"cgroupDriver": "SYSTEMD"}},), True, "systemd"),
        (({"linux": {"cgroupDriver": "CGROUPFS"}},), True, "cgroupfs"),
        (({"linux": {"cgroupDriver": 1}},), True, "cgroupfs"),
        (({},), True, "systemd"),
        (("", "Incorrect Usage: No help topic for 'runtime-config'", 3), None, "systemd"),
    ],
)
def test_the_config_of_a_runtime(crictl: Crictl, answer: tuple[Any, ...], tells: bool | None, driver: str) -> None:
    crictl.answers("runtime-config", *answer)
    found = crictl.adapter.look(crictl.endpoint)
    assert (found.tells_config, found.cgroup_driver) == (tells, driver)


@pytest.mark.parametrize(
    ("config", "driver"),
    [
        (runc(options={"SystemdCgroup": False}), "cgroupfs"),
        (runc(options=None), "cgroupfs"),
        ({"containerd": {"defaultRuntimeName": "kata", "runtimes": {"kata": {"runtimeType": "io.containerd.kata.v2"}}}}, ""),
        ({}, ""),
        ({"containerd": ["odd"]}, ""),
    ],
)
def test_the_cgroup_driver_of_containerd(crictl: Crictl, config: dict[str, Any], driver: str) -> None:
    crictl.answers("info", ready(**config))
    assert crictl.adapter.look(crictl.endpoint).cgroup_driver == driver


@pytest.mark.parametrize(
    ("command", "answer", "words"),
    [
        ("info", (ready(False),), "RuntimeReady is not true: Broken, no shim"),
        ("info", ("", "fatal: unknown service runtime.v1.RuntimeService", 1), "unknown service"),
        ("images", ("", "E1 noise\nfatal: http://jane:canary@r.test/v2 refused", 1), "http://***@r.test/v2 refused"),
        ("info", ("", 'time="x" level=fatal msg="pulling: \\"r/a\\" refused"', 1), 'pulling: "r/a" refused'),
        ("info", ("", f"fatal {'x' * 400}: the cause", 1), "…xxxx"),
        ("info", ("", f"fatal {'x' * 400}: the cause", 1), "xxxx: the cause"),
        ("info", ("", "", 7), "crictl ended with 7"),
    ],
)
def test_a_runtime_that_is_of_no_use(crictl: Crictl, command: str, answer: tuple[Any, ...], words: str) -> None:
    crictl.answers(command, *answer)
    found = crictl.adapter.look(crictl.endpoint)
    assert words in found.problem
    assert "canary" not in repr(found)


def test_a_network_that_is_not_ready_is_no_fault_of_the_runtime(crictl: Crictl) -> None:
    assert crictl.adapter.look(crictl.endpoint).problem == ""


def test_sockets_that_nobody_answers_are_seen_without_crictl(tmp_path: Path) -> None:
    assert Cri("/none").look(f"unix://{tmp_path}/none.sock").problem == f"{tmp_path}/none.sock does not exist"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "dead.sock"))
    assert Cri("/none").look(f"unix://{tmp_path}/dead.sock").problem == f"nobody listens on {tmp_path}/dead.sock"


def test_images_are_pulled_one_after_the_other(crictl: Crictl) -> None:
    crictl.adapter.apply(PullImages(crictl.endpoint, ("r/a:1", "r/b:1")))
    assert crictl.calls() == ["pull r/a:1", "pull r/b:1"]


def test_images_are_pulled_all_at_once(crictl: Crictl) -> None:
    for name in "abc":
        crictl.answers(f"pull-r/{name}:1", seconds=1)
    start = time.monotonic()
    crictl.adapter.apply(PullImages(crictl.endpoint, ("r/a:1", "r/b:1", "r/c:1"), serial=False))
    assert time.monotonic() - start < 2.5
    assert len(crictl.calls()) == 3


def test_every_image_that_cannot_be_pulled_is_named(crictl: Crictl) -> None:
    for name in "ac":
        crictl.answers(f"pull-r/{name}:1", "", f"fatal: {name} not found", 1)
    before = {"name": "Mem", "outcome": "passed"}
    action = PullImages(crictl.endpoint, ("r/a:1", "r/b:1", "r/c:1"), tries=2, checks=(before,))
    with pytest.raises(ManyUnusable) as report:
        crictl.adapter.apply(action)
    assert [finding.where for finding in report.value.findings] == ["ImagePull r/a:1", "ImagePull r/c:1"]
    assert "fatal: a not found" in str(report.value)
    told = report.value.facts["checks"]
    assert told[0] == before
    assert (told[1]["name"], told[1]["outcome"]) == ("ImagePull", "failed")
    assert told[1]["found"] == "r/a:1: fatal: a not found; r/c:1: fatal: c not found"
    assert crictl.calls() == ["pull r/a:1", "pull r/a:1", "pull r/b:1", "pull r/c:1", "pull r/c:1"]


def test_a_pull_that_is_not_required_may_fail(crictl: Crictl) -> None:
    crictl.answers("pull-r/a:1", "", "fatal", 1)
    crictl.adapter.apply(PullImages(crictl.endpoint, ("r/a:1",), tries=1, required=False))
    assert crictl.calls() == ["pull r/a:1"]


def test_containers_of_a_component_newest_first(crictl: Crictl) -> None:
    listed = [
        {"id": "old", "metadata": {"name": "etcd", "attempt": 1}, "state": "CONTAINER_EXITED", "createdAt": "1"},
        {
            "id": "new",
            "metadata": {"name": "etcd", "attempt": 2},
            "state": "CONTAINER_RUNNING",
            "createdAt": "20",
            "labels": {"io.kubernetes.pod.name": "etcd-cp1"},
        },
    ]
    crictl.answers("ps", {"containers": listed})
    found = crictl.adapter.containers(crictl.endpoint, "etcd")
    assert [(each.identity, each.state, each.attempt, each.pod) for each in found] == [
        ("new", "running", 2, "etcd-cp1"),
        ("old", "exited", 1, ""),
    ]
    assert crictl.calls() == ["ps -a --label io.kubernetes.container.name=etcd -o json"]


def test_containers_that_cannot_be_listed(crictl: Crictl) -> None:
    crictl.answers("ps", "", "fatal: no answer", 1)
    with pytest.raises(Unusable, match="cannot be listed: fatal: no answer"):
        crictl.adapter.containers(crictl.endpoint, "etcd")


def test_logs_of_both_streams(crictl: Crictl) -> None:
    crictl.answers("logs", "out\n", "err\n")
    assert crictl.adapter.logs(crictl.endpoint, "abc", 5) == "out\nerr\n"
    crictl.answers("logs", "", "gone", 1)
    assert crictl.adapter.logs(crictl.endpoint, "abc") == "(no logs: gone)"
    assert crictl.calls()[0] == "logs --tail 5 abc"
