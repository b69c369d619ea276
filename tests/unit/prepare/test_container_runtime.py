# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime: whose file is written, whose is kept, and when containerd is restarted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from unit.prepare.prepare_cases import PAUSE, RUNNING, docs, refusals, targets

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, RemoveFile, RequireFile, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.container_runtime import ContainerRuntimePhase, Observed
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.owned import is_own, stamped
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.runtime_files import CRICTL, PROXY

# In the standard library from 3.11 on; what is written is the same whatever runs it.
tomllib = pytest.importorskip("tomllib")

CONFIG = "/etc/containerd/config.toml"
HOSTS = "/etc/containerd/certs.d/docker.io/hosts.toml"
CRI = "io.containerd.grpc.v1.cri"
OLD = 1_000_000_000.0


def file(path: str, content: bytes, mode: int = 0o644, mtime: float = OLD) -> FileState:
    return FileState(path, content, mode, mtime)


def seen(*files: FileState, **changes: Any) -> Observed:
    ready: dict[str, Any] = {"privileged": True, "version": "1.7.24", "service": RUNNING}
    return Observed(**{**ready, "files": {each.path: each for each in files}, **changes})


def plan(found: Observed, documents: Documents | None = None, **options: Any) -> Plan:
    return ContainerRuntimePhase().plan(documents or docs(), found, options)


def written(made: Plan) -> dict[str, FileState]:
    """The files that a plan writes, as the next look finds them."""
    actions = [change.action for change in made.changes if isinstance(change.action, WriteFile)]
    return {action.path: file(action.path, action.content, action.mode) for action in actions}


def config(made: Plan) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(written(made)[CONFIG].content.decode())
    return found


def test_nothing_is_there_yet() -> None:
    made = plan(seen())
    assert targets(made) == [CRICTL, CONFIG, "containerd.service"]
    cri = config(made)["plugins"][CRI]
    assert cri["sandbox_image"] == PAUSE
    assert cri["containerd"]["runtimes"]["runc"]["options"] == {"SystemdCgroup": True}
    assert cri["cni"] == {"bin_dir": "/opt/cni/bin", "conf_dir": "/etc/cni/net.d"}
    assert config(made)["version"] == 2
    assert written(made)[CRICTL].content.decode().splitlines()[1:] == [
        "runtime-endpoint: unix:///run/containerd/containerd.sock",
        "image-endpoint: unix:///run/containerd/containerd.sock",
    ]
    assert made.changes[-1].action == RestartService("containerd", reload_units=True)
    assert made.facts["restart"] == "its configuration changes"


OPTIONS = {
    "registry_mirrors": {
        "docker.io": ["https://mirror.example.com"],
        "r.example.com": {"endpoints": ["http://10.0.0.1:5000"], "skip_verify": True},
    },
    "registry_credentials": {
        "docker.io": {"username": "puller", "password": "canary-pass"},
        "r.example.com": {"identity_token": "canary-token"},
    },
    "proxy_env": {"HTTP_PROXY": "http://user:canary-proxy@proxy:3128", "NO_PROXY": "10.0.0.0/8"},
    "settings": {"plugins": {CRI: {"restrict_oom_score_adj": True}}},
}


@pytest.mark.parametrize("version", ["1.6.20~ds1", "2.4.2"])
def test_a_second_run_changes_nothing(version: str) -> None:
    found = seen(version=version)
    made = plan(found, **OPTIONS)
    again = plan(replace(found, files=written(made)), **OPTIONS)
    assert again.changes == ()
    assert again.warnings == ()


def test_the_words_of_containerd_two() -> None:
    made = plan(seen(version="2.1.4"), docs(kubelet={"cgroupDriver": "cgroupfs"}), registry_credentials={"r.io": {"auth": "x"}})
    found = config(made)
    images, runtime = (found["plugins"][f"io.containerd.cri.v1.{name}"] for name in ("images", "runtime"))
    assert found["version"] == 3
    assert images["pinned_images"] == {"sandbox": PAUSE}
    assert images["registry"] == {"config_path": "/etc/containerd/certs.d", "configs": {"r.io": {"auth": {"auth": "x"}}}}
    assert runtime["containerd"]["runtimes"]["runc"]["options"] == {"SystemdCgroup": False}
    assert runtime["cni"] == {"conf_dir": "/etc/cni/net.d"}


def test_documents_decide_on_pause_image_and_socket() -> None:
    documents = docs("v1.28.15", socket="unix:///run/other/containerd.sock", cluster={"imageRepository": "r.example.com/k8s"})
    found = config(plan(seen(), documents))
    assert found["plugins"][CRI]["sandbox_image"] == "r.example.com/k8s/pause:3.9"
    assert found["grpc"] == {"address": "/run/other/containerd.sock"}


def test_mirrors_credentials_and_proxy() -> None:
    made = plan(seen(), **OPTIONS)
    files = written(made)
    assert tomllib.loads(files[HOSTS].content.decode()) == {
        "server": "https://registry-1.docker.io",
        "host": {"https://mirror.example.com": {"capabilities": ["pull", "resolve"]}},
    }
    assert config(made)["plugins"][CRI]["registry"]["configs"] == {
        "registry-1.docker.io": {"auth": {"username": "puller", "password": "canary-pass"}},
        "r.example.com": {"auth": {"identitytoken": "canary-token"}},
    }
    assert config(made)["plugins"][CRI]["restrict_oom_score_adj"] is True
    assert (files[CONFIG].mode, files[PROXY].mode, files[HOSTS].mode) == (0o600, 0o600, 0o644)
    assert files[PROXY].content.decode().splitlines()[1:] == [
        "[Service]",
        'Environment="HTTP_PROXY=http://user:canary-proxy@proxy:3128"',
        'Environment="NO_PROXY=10.0.0.0/8"',
    ]


def test_no_secret_is_shown_wherever_it_was() -> None:
    first = plan(seen(), **OPTIONS)
    other = {"registry_credentials": {"docker.io": {"username": "puller", "password": "other-canary"}}, "replace": True}
    theirs = file(CONFIG, b'[a.auth]\n  password = "canary-hand"\n  auth = "canary-auth"\n')
    plans = [
        first,
        plan(replace(seen(), files=written(first)), **other),
        plan(seen(theirs), **other),
        plan(seen(theirs), registry_credentials=other["registry_credentials"]),
    ]
    for made in plans:
        shown = str([(change.target, change.reason, change.before, change.after) for change in made.changes]) + str(made.facts)
        assert "canary" not in shown + str(made.warnings)
    # Nor a digest by which a guess could be tried.
    assert "sha256:…" in plans[0].changes[-2].after


def test_restart_only_when_something_is_newer_than_the_process() -> None:
    files = written(plan(seen()))
    assert plan(replace(seen(), files=files)).changes == ()
    fresh = {path: replace(each, mtime=RUNNING.started + 5) for path, each in files.items()}  # type: ignore[operator]
    made = plan(replace(seen(), files=fresh))
    assert targets(made) == ["containerd.service"]
    assert made.facts["restart"] == f"it started before {CONFIG} was written"
    stopped = plan(replace(seen(), files=files, service=replace(RUNNING, active=False, started=None)))
    assert stopped.facts["restart"] == "it is not running"
    mirrors = plan(replace(seen(), files=files), registry_mirrors={"docker.io": "https://m"})
    assert targets(mirrors) == [HOSTS]  # read at each pull


def test_a_service_that_does_not_start_at_boot_is_enabled() -> None:
    files = written(plan(seen()))
    made = plan(replace(seen(), files=files, service=replace(RUNNING, enabled=False)))
    assert [(change.target, change.reason) for change in made.changes] == [("containerd.service", "it does not start with the host")]


HAND = f"""version = 2
[plugins."{CRI}"]
  sandbox_image = "{PAUSE}"  # by hand
[plugins."{CRI}".containerd.runtimes.runc.options]
  SystemdCgroup = true
""".encode()


def test_a_file_by_hand_that_says_what_is_needed_is_kept_without_a_word() -> None:
    made = plan(seen(file(CONFIG, HAND), file(CRICTL, b"runtime-endpoint: unix:///var/run/containerd/containerd.sock\ntimeout: 10\n")))
    assert (made.changes, made.warnings) == ((), ())


def test_the_settings_of_containerd_two_by_hand() -> None:
    text = HAND.replace(b"version = 2", b"version = 3").replace(
        f'plugins."{CRI}".cont'.encode(), b"plugins.'io.containerd.cri.v1.runtime'.cont"
    )
    text = text.replace(f'plugins."{CRI}"'.encode(), b"plugins.'io.containerd.cri.v1.images'.pinned_images").replace(
        b"sandbox_image", b"sandbox"
    )
    assert plan(seen(file(CONFIG, text), version="2.1.0")).warnings == ()


def test_a_file_by_hand_that_differs_is_kept_and_told() -> None:
    theirs = HAND.replace(b"true", b"false")
    made = plan(seen(file(CONFIG, theirs)))
    assert targets(made) == [CRICTL]
    assert made.warnings == (
        f"{CONFIG} was written or edited by hand and is kept: "
        f'plugins."{CRI}".containerd.runtimes.runc.options.SystemdCgroup is false, not true; '
        "set replace to have it replaced, with a copy kept beside it",
    )
    assert "-  SystemdCgroup = false" in made.facts["differences"]
    assert "+  SystemdCgroup = true" in made.facts["differences"]


def test_a_file_by_hand_is_replaced_when_told_and_a_copy_kept() -> None:
    theirs = HAND.replace(b"true", b"false")
    made = plan(seen(file(CONFIG, theirs, 0o640)), replace=True)
    assert targets(made) == [CRICTL, f"{CONFIG}.kubephase-backup", CONFIG, "containerd.service"]
    files = written(made)
    assert (files[f"{CONFIG}.kubephase-backup"].content, files[f"{CONFIG}.kubephase-backup"].mode) == (theirs, 0o640)
    assert is_own(files[CONFIG].content)
    assert made.warnings == ()


def test_ours_once_edited_is_theirs() -> None:
    ours = written(plan(seen()))[CONFIG].content
    edited = ours.replace(b"SystemdCgroup = true", b"SystemdCgroup = false")
    assert is_own(ours)
    assert not is_own(edited)
    assert "is kept" in plan(seen(file(CONFIG, edited))).warnings[0]


def test_the_distributions_own_is_replaced() -> None:
    made = plan(seen(file(CONFIG, b"version = 2\n"), pristine=frozenset({CONFIG})))
    assert CONFIG in targets(made)


@pytest.mark.parametrize("files", [(), (file(CONFIG, b"version = 2\n"),)], ids=["none", "the distribution's"])
def test_the_runtime_of_a_node_keeps_its_settings(files: tuple[FileState, ...]) -> None:
    made = plan(seen(*files, pristine=frozenset({CONFIG}), joined=True))
    assert targets(made) == [CRICTL]
    assert "is that of a node that runs with it and is kept" in made.warnings[0]
    assert CONFIG in targets(plan(seen(*files, pristine=frozenset({CONFIG}), joined=True), replace=True))
    ours = file(CONFIG, stamped("version = 2\n"))
    assert CONFIG in targets(plan(seen(ours, joined=True)))


def test_files_of_ours_that_are_not_wanted_go() -> None:
    files = written(plan(seen(), **OPTIONS))
    other = file("/etc/containerd/certs.d/other/hosts.toml", b'server = "https://other"\n')
    made = plan(replace(seen(), files={**files, other.path: other}))
    removed = [change.action.path for change in made.changes if isinstance(change.action, RemoveFile)]
    assert sorted(removed) == sorted([HOSTS, "/etc/containerd/certs.d/r.example.com/hosts.toml", PROXY])


def test_a_mode_that_others_can_read_is_narrowed() -> None:
    options = {"registry_credentials": {"r.io": {"auth": "x"}}}
    files = written(plan(seen(), **options))
    made = plan(replace(seen(), files={**files, CONFIG: replace(files[CONFIG], mode=0o644)}), **options)
    assert [(change.target, change.after) for change in made.changes] == [(CONFIG, "mode: 0600\n")]


def test_without_containerd_it_is_foreseen_and_then_refused() -> None:
    made = plan(seen(version="", service=replace(RUNNING, known=False, active=False, enabled=False, started=None)))
    assert isinstance(made.changes[0].action, RequireFile)
    assert CONFIG in targets(made)


def test_another_runtime_is_left_alone() -> None:
    made = plan(seen(version=""), docs(socket="unix:///var/run/crio/crio.sock"))
    assert targets(made) == [CRICTL]
    assert "is not containerd" in made.warnings[0]


def test_no_root() -> None:
    assert refusals(plan, seen(privileged=False))[0].startswith("privileges: ")


@pytest.mark.parametrize(
    ("options", "count", "word"),
    [
        (
            {"registry_mirrors": {"docker.io": ["ftp://x"], "a b": ["https://x"], "c": {"endpoints": ["https://x"], "speed": 1}}},
            3,
            "mirror",
        ),
        ({"registry_credentials": {"r.io": {"username": "u"}, "s.io": "canary"}}, 2, "credentials"),
    ],
)
def test_bad_registries_are_told_all_at_once(options: dict[str, Any], count: int, word: str) -> None:
    found = refusals(lambda: plan(seen(), **options))
    assert len(found) == count
    assert "canary" not in str(found)


def test_a_stamp_covers_every_byte() -> None:
    text = stamped("a = 1\n")
    assert is_own(text)
    assert not is_own(text + b" ")
    assert not is_own(text.split(b"\n", 1)[1])
