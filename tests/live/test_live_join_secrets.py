# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts join with, given by the user or minted by the run: used, and nowhere to be found afterwards."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from live.beginning import CERTIFICATE_KEY, TOKENS
from live.fleet import Fleet, virgin_fleet
from live.node import Node, remove
from live.playbook import Playbook, Report

GIVEN, MISTAKEN = TOKENS[0], f"{TOKENS[0].partition('.')[0]}.wr0ng5ecre7ha1f0"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
MINTED = Path(__file__).with_name("minted.yml")


@dataclass(frozen=True)
class Watched:
    """A cluster that was made in three runs, what each of them said, and where the controller kept its logs."""

    fleet: Fleet
    controller: Path
    given: Report
    mistaken: Report
    minted: Report
    secrets: dict[str, str] = field(repr=False)

    @property
    def traces(self) -> list[str]:
        """Every secret of the runs, as it is and as it would be stored."""
        tokens = [token.partition(".")[2] for token in (GIVEN, MISTAKEN, self.secrets["token"])]
        plain = [*tokens, CERTIFICATE_KEY, self.secrets["certificate_key"]]
        return [*plain, *(base64.b64encode(secret.encode()).decode().rstrip("=") for secret in plain)]


@pytest.fixture(scope="module")
def watched(place: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Make a cluster with given secrets, mistake one, and let the rest join with minted ones; one of those cannot."""
    instance = f"live-{place}-s"
    try:
        yield _make(virgin_fleet(instance, 3, 2), tmp_path_factory.mktemp("controller"), tmp_path_factory.mktemp("kept"))
    finally:
        remove(instance)


def _make(fleet: Fleet, controller: Path, kept: Path) -> Watched:
    surroundings = {
        "ANSIBLE_LOG_PATH": str(controller / "ansible.log"),
        "ANSIBLE_CACHE_PLUGIN": "jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(controller / "facts"),
        "ANSIBLE_LOCAL_TEMP": str(controller / "temporary"),
    }
    first = replace(fleet.site("cp1", "cp2", "w1"), environment=surroundings).using(
        kubephase_upload_certs=True,
        kubephase_init_configuration={"bootstrapTokens": [{"token": GIVEN}], "certificateKey": CERTIFICATE_KEY},
        kubephase_join_configuration=_joining(fleet, GIVEN),
    )
    given = first.play("-vvv", "--diff").succeeded()
    mistaken = replace(first, inventory=fleet.part("w2"), name="join").using(
        kubephase_init_configuration=None, kubephase_join_configuration=_joining(fleet, MISTAKEN)
    )
    mistake = mistaken.play("-vvv", "--diff")
    fleet["w2"].run("systemctl mask kubelet 2>&1")
    rest = replace(fleet.site("cp1", "cp2", "cp3", "w1", "w2"), environment=surroundings, name=str(MINTED))
    minted = rest.using(minted_kept_in=str(kept / "minted")).play("-vvv", "--diff")
    return Watched(fleet, controller, given, mistake, minted, json.loads((kept / "minted").read_text()))


def _joining(fleet: Fleet, token: str) -> dict[str, object]:
    # Nobody knows the pin of an authority that is yet to be made.
    discovery = {"token": token, "apiServerEndpoint": f"{fleet['cp1'].address}:6443", "unsafeSkipCAVerification": True}
    return {"discovery": {"bootstrapToken": discovery}, "controlPlane": {"certificateKey": CERTIFICATE_KEY}}


def left_on(node: Node, traces: Iterable[str]) -> str:
    """Name the files and log lines of a node in which a secret is found."""
    words = " ".join(f"-e {trace}" for trace in traces)
    return node.run(
        f"grep -rlF {words} --exclude-dir=pods --exclude-dir=io.containerd.runtime.v2.task"
        " /tmp /var/tmp /root /etc /var/log /run /var/lib/kubelet 2>/dev/null || true;"
        f"journalctl --no-pager -o cat | grep -F {words} || true"
    )


def found_in(text: str, traces: Iterable[str]) -> list[str]:
    """Name the secrets that a text gives away."""
    return [trace for trace in traces if trace in text]


def changed_hosts(report: Report) -> set[str]:
    """Name the hosts on which something was changed."""
    return {host for host, _target in report.changes}


def minted_in(report: Report) -> bool:
    """Tell whether a run has made secrets of its own."""
    return any(row["module"] == "join_secrets" and row["state"] == "ok" for row in report.rows)


def test_the_given_secrets_were_used(watched: Watched) -> None:
    """Without this, that no trace is found would prove nothing."""
    fleet = watched.fleet
    nodes = fleet["cp1"].kubectl("get nodes -o name").split()
    assert {f"node/{fleet[name].name}" for name in ("cp1", "cp2", "w1")} <= set(nodes)
    assert not minted_in(watched.given)
    assert base64.b64encode(GIVEN.partition(".")[2].encode()).decode() in fleet["cp1"].kubectl("-n kube-system get secrets -o yaml")


def test_the_mistaken_token_was_refused(watched: Watched) -> None:
    assert watched.mistaken.code != 0
    assert "signature" in watched.mistaken.failure
    assert watched.mistaken.changes == set()


def test_the_minted_secrets_were_used_and_removed(watched: Watched) -> None:
    fleet = watched.fleet
    assert watched.minted.code != 0
    assert minted_in(watched.minted)
    assert f"node/{fleet['cp3'].name}" in fleet["cp1"].kubectl("get nodes -o name").split()
    failed = {row["host"] for row in watched.minted.rows if row["state"] == "failed"}
    assert failed == {fleet["w2"].name}
    assert "Failed: " + fleet["w2"].name in watched.minted.output
    assert watched.secrets["run"] not in fleet["cp1"].kubectl("get secrets,roles,rolebindings -A -o name")


def test_the_runs_left_no_trace_on_the_controller(watched: Watched) -> None:
    for report in (watched.given, watched.mistaken, watched.minted):
        assert found_in(report.output, watched.traces) == []
        assert found_in(repr(report.rows), watched.traces) == []
    assert (watched.controller / "ansible.log").stat().st_size > 100000
    files = [path for path in watched.controller.rglob("*") if path.is_file()]
    assert [str(path) for path in files if found_in(path.read_text(errors="replace"), watched.traces)] == []


@pytest.mark.parametrize("name", ["cp1", "cp2", "cp3", "w1"])
def test_the_runs_left_no_trace_on_a_member(watched: Watched, name: str) -> None:
    assert left_on(watched.fleet[name], watched.traces) == ""


def test_a_host_that_failed_keeps_what_it_joins_with_and_loses_it_when_it_joins(watched: Watched) -> None:
    """The file is what a kubelet joins with; its token has ended with the run."""
    fleet = watched.fleet
    worker = fleet["w2"]
    assert left_on(worker, watched.traces).split() == [BOOTSTRAP]
    assert worker.run(f"stat -c %a {BOOTSTRAP}") == "600\n"
    worker.run("systemctl unmask kubelet 2>&1")
    mended = fleet.site("cp1", "cp2", "cp3", "w1", "w2").play("-vvv", "--diff").succeeded()
    assert changed_hosts(mended) == {worker.name}
    assert found_in(mended.output, watched.traces) == []
    assert left_on(worker, watched.traces) == ""


def test_a_mistake_beside_a_secret_leaves_no_trace(watched: Watched) -> None:
    fleet = watched.fleet
    wrong = _joining(fleet, GIVEN + "%")
    wrong["controlPlane"] = {"certificateKey": CERTIFICATE_KEY + "x"}
    playbook: Playbook = replace(fleet.site("cp1", "cp2"), name="join")
    report = playbook.using(kubephase_join_configuration=wrong).play("-vvv", "--diff")
    assert report.code != 0
    assert "certificateKey" in report.output
    assert "bootstrapToken.token" in report.output
    assert found_in(report.output, watched.traces) == []
