# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tables of phases: what is in them by what a host becomes, and what is loaded for each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import health
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import INIT_PHASES, JOIN_PHASES
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import ContainerState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.waiting import HealthCheck
from ansible_collections.kubephase.cluster.plugins.module_utils._survey import control_plane, init, worker
from ansible_collections.kubephase.cluster.plugins.modules import phase_plan

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
COLLECTIONS = PLUGINS.parent / ".ansible" / "collections"
PREFIX = "ansible_collections.kubephase.cluster.plugins.module_utils."
SURVEY = """
import sys
from ansible_collections.kubephase.cluster.plugins.modules import phase_plan
_survey, world = phase_plan.make(becomes=%r)
print(*world._adapters)
print(*sys.modules)
"""
TABLES = {"init": init.PHASES, "control_plane": control_plane.PHASES, "worker": worker.PHASES}
# What a worker's looks ask only of control planes.
NOT_ASKED = {"health", "signing"}


def made(becomes: str) -> tuple[set[str], set[str]]:
    """The adapters and the modules that there are once the survey of such a host is made."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", SURVEY % becomes], env=environment, capture_output=True, text=True, check=True)
    adapters, loaded = done.stdout.splitlines()
    return set(adapters.split()), set(loaded.split())


def rooms(loaded: set[str]) -> set[str]:
    return {name[len(PREFIX) :].partition(".")[0] for name in loaded if name.startswith(PREFIX)}


def test_a_worker_loads_nothing_of_control_planes() -> None:
    _adapters, loaded = made("worker")
    assert "cryptography" not in loaded
    assert not rooms(loaded) & {"_addons", "_pki", "_tokens", "_upload_config", "_wait"}
    tables = {"init", "control_plane", "every_control_plane"}
    phases = ("_manifests.phase", "_kubelet.finalize", "_kubeconfig.kubeconfig", "_certs_upload.download_certs", "_guard.immutable")
    of_others = {f"{PREFIX}_survey.{name}" for name in tables} | {PREFIX + name for name in phases}
    assert not loaded & (of_others | {f"{PREFIX}_adapters.{name}" for name in ("api_super", "health", "signing")})


@pytest.mark.parametrize(("becomes", "other"), [("init", "control_plane"), ("control_plane", "init")])
def test_a_control_plane_loads_its_own_table(becomes: str, other: str) -> None:
    """And the means of the test before see what is loaded."""
    _adapters, loaded = made(becomes)
    assert {"cryptography", f"{PREFIX}_survey.{becomes}", f"{PREFIX}_manifests.phase"} <= loaded
    assert not loaded & {f"{PREFIX}_survey.{other}", f"{PREFIX}_survey.worker"}


def test_a_worker_has_the_adapters_that_its_phases_read_through() -> None:
    adapters, loaded = made("worker")
    pure = [
        name[len(PREFIX) :]
        for name in loaded
        if name.startswith(PREFIX) and not name.startswith((f"{PREFIX}_adapters", f"{PREFIX}_runner"))
    ]
    paths = [PLUGINS / "module_utils" / (name.replace(".", "/") + ".py") for name in pure]
    asked = {name for path in paths if path.exists() for name in re.findall(r"\bworld\.(\w+)", path.read_text())}
    assert {"files", "node_api", "systemd"} <= asked
    assert asked - NOT_ASKED <= adapters


@pytest.mark.parametrize(("becomes", "known"), [("init", INIT_PHASES), ("control_plane", JOIN_PHASES), ("worker", JOIN_PHASES)])
def test_phases_have_their_names_from_kubeadm(becomes: str, known: tuple[str, ...]) -> None:
    names = list(dict.fromkeys(each.name for each in TABLES[becomes] if not each.always))
    assert set(names) <= set(known)
    assert set(known) - set(names) <= ({"preflight"} if becomes != "worker" else set(known))
    assert [each.name for each in TABLES[becomes] if each.always][:3] == ["state"] * 3
    assert ("guard" in {each.name for each in TABLES[becomes]}) == (becomes != "worker")


@pytest.mark.parametrize(("created_later_by", "healthy"), [(-1, False), (1, True)], ids=["from before", "of the manifest"])
def test_who_answers_for_a_component_is_the_container_of_its_manifest(
    monkeypatch: pytest.MonkeyPatch, created_later_by: int, healthy: bool
) -> None:
    """A run that was killed just after a manifest was written leaves the next one to wait for it."""
    written = time.time() - 3
    container = ContainerState("1", "kube-scheduler", "CONTAINER_RUNNING", created=int((written + created_later_by) * 10**9))
    monkeypatch.setattr(Cri, "containers", lambda _cri, _socket, _name: (container,))
    monkeypatch.setattr(health, "answer_of", lambda _url: "")
    _survey, world = phase_plan.make()
    (seen,) = world.health.look([HealthCheck("kube-scheduler", "https://127.0.0.1:10259/livez", 1.0, written=written)])
    assert seen.healthy is healthy
