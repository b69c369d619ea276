# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet-finalize phase: where kubelet.conf points, and when the kubelet is restarted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.kubelet.kubelet_cases import Services, run
from unit.world import changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.finalize import KubeletFinalizePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

CONF = "etc/kubernetes/kubelet.conf"
PEM = "/var/lib/kubelet/pki/kubelet-client-current.pem"
WRITTEN = f"the kubelet rotates {PEM}, and this file does not point at it"
OLD = "it still runs with an older kubelet.conf"


def kubeconfig(**user: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": {"server": "https://192.0.2.10:6443", "certificate-authority-data": "QUJD"}}],
        "contexts": [{"name": "it", "context": {"cluster": "kubernetes", "user": "system:node:cp1"}}],
        "current-context": "it",
        "users": [{"name": "other", "user": {"token": "canary"}}, {"name": "system:node:cp1", "user": user}],
    }


EMBEDDED = kubeconfig(**{"client-certificate-data": "Y2FuYXJ5", "client-key-data": "Y2FuYXJ5"})
POINTING = kubeconfig(**{"client-certificate": PEM, "client-key": PEM})


# The moment at which the kubelet of these tests started.
START = time.time() - 300


def write(root: Path, document: Any, since_start: float = -300) -> None:
    path = root / CONF
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    path.chmod(0o600)
    os.utime(path, (START + since_start, START + since_start))


def rotate(root: Path, path: str = PEM) -> None:
    (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    (root / path.lstrip("/")).write_text("certificate and key\n")


def finalize(root: Path, services: Services, **given: Any) -> Any:
    return run(KubeletFinalizePhase(), root, services, **given)


def running() -> Services:
    return Services(started=START)


@pytest.mark.parametrize(
    ("document", "pem", "since_start", "reasons"),
    [
        (EMBEDDED, False, -300, []),
        (EMBEDDED, True, -300, [WRITTEN, OLD]),
        (POINTING, True, -300, []),
        # A run was killed between the write and the restart.
        (POINTING, True, 200, [OLD]),
        (POINTING, True, -0.01, [OLD]),
        (POINTING, True, 0.3, [OLD]),
        (POINTING, True, -0.3, []),
        # A renewed certificate that nobody rotates.
        (EMBEDDED, False, 200, [OLD]),
        (kubeconfig(**{"client-certificate": "/old.pem", "client-key": "/old.pem"}), True, -300, [WRITTEN, OLD]),
        (kubeconfig(**{"client-certificate": PEM, "client-key": PEM, "client-key-data": "Y2FuYXJ5"}), True, -300, [WRITTEN, OLD]),
        (None, False, -300, []),
    ],
)
def test_what_is_done(tmp_path: Path, document: Any, pem: bool, since_start: float, reasons: list[str]) -> None:
    services = running()
    if document:
        write(tmp_path, document, since_start)
    if pem:
        rotate(tmp_path)
    before = snapshot(tmp_path)
    outcome = finalize(tmp_path, services)
    assert [change.reason for change in outcome.plan.changes] == reasons
    assert len(services.restarts) == (OLD in reasons)
    assert outcome.plan.facts["rotation"] is pem
    if WRITTEN not in reasons:
        assert snapshot(tmp_path) == before
    assert not finalize(tmp_path, services).changed


@pytest.mark.parametrize("version", ["v1.22.17", "v1.29.15", "v1.30.5", "v1.37.1"])
def test_only_the_credentials_of_the_node_change(tmp_path: Path, version: str) -> None:
    write(tmp_path, EMBEDDED)
    rotate(tmp_path)
    finalize(tmp_path, running(), version=version)
    assert yaml.safe_load((tmp_path / CONF).read_text()) == POINTING
    assert (tmp_path / CONF).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "pem"),
    [
        ({"cert-dir": "/srv/pki/"}, "/srv/pki/kubelet-client-current.pem"),
        ([{"name": "cert-dir", "value": "/a"}, {"name": "cert-dir", "value": "/b"}], "/b/kubelet-client-current.pem"),
    ],
)
def test_cert_dir_is_honoured(tmp_path: Path, arguments: Any, pem: str) -> None:
    write(tmp_path, EMBEDDED)
    rotate(tmp_path)  # the usual place, which is not the one in use
    init = {"nodeRegistration": {"kubeletExtraArgs": arguments}}
    assert not finalize(tmp_path, running(), init=init).changed
    rotate(tmp_path, pem)
    outcome = finalize(tmp_path, running(), init=init)
    assert outcome.plan.facts["client_certificate"] == pem
    assert yaml.safe_load((tmp_path / CONF).read_text())["users"][1]["user"] == {"client-certificate": pem, "client-key": pem}


def edited(change: Callable[[Any], Any]) -> Any:
    document = yaml.safe_load(yaml.safe_dump(EMBEDDED))
    change(document)
    return document


@pytest.mark.parametrize(
    ("version", "document", "error"),
    [
        ("v1.37.1", "a: b: c", "it is not valid YAML"),
        ("v1.37.1", "", "it is not a kubeconfig"),
        ("v1.37.1", None, "it does not exist, although the kubelet rotates its certificate. Run the kubeconfig phase"),
        ("v1.37.1", edited(lambda it: it.pop("current-context")), "its current context leads to no context"),
        ("v1.37.1", edited(lambda it: it["users"].pop()), "its current context leads to no user named 'system:node:cp1'"),
        ("v1.29.15", edited(lambda it: it["users"][1].update(name="x") or it["contexts"][0]["context"].update(user="x")),
         "it has no user system:node:cp1"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_clear_error(tmp_path: Path, version: str, document: Any, error: str) -> None:
    if document is not None:
        write(tmp_path, document)
    rotate(tmp_path)
    services = running()
    before = snapshot(tmp_path)
    with pytest.raises(Unusable, match=rf"/etc/kubernetes/kubelet\.conf: {error}"):
        finalize(tmp_path, services, version=version)
    assert (snapshot(tmp_path), services.restarts) == (before, [])


def test_by_context_a_user_of_another_name_is_found(tmp_path: Path) -> None:
    def renamed(document: Any) -> None:
        document["users"][1]["name"] = "somebody"
        document["contexts"][0]["context"]["user"] = "somebody"

    write(tmp_path, edited(renamed))
    rotate(tmp_path)
    assert finalize(tmp_path, running(), version="v1.30.5").changed


def test_check_mode_reports_the_same_and_shows_no_credential(tmp_path: Path) -> None:
    write(tmp_path, EMBEDDED)
    rotate(tmp_path)
    services, before = running(), snapshot(tmp_path)
    checked = finalize(tmp_path, services, check=True)
    assert (snapshot(tmp_path), services.restarts) == (before, [])
    real = finalize(tmp_path, services)
    assert (changes(checked), checked.plan.facts) == (changes(real), real.plan.facts)
    assert "Y2FuYXJ5" not in repr(real.plan)
    assert "canary" not in repr(real.plan)


def test_a_kubelet_that_does_not_run_is_left_to_kubelet_start(tmp_path: Path) -> None:
    write(tmp_path, POINTING)
    rotate(tmp_path)
    assert not finalize(tmp_path, Services()).changed
    write(tmp_path, EMBEDDED)
    outcome = finalize(tmp_path, Services())
    assert [change.reason for change in outcome.plan.changes] == [WRITTEN, "it is not running"]


def test_a_time_in_the_future_is_mended_once(tmp_path: Path) -> None:
    write(tmp_path, POINTING, since_start=86400)
    rotate(tmp_path)
    services = running()
    assert len(finalize(tmp_path, services).plan.changes) == 2
    assert not finalize(tmp_path, services).changed
    assert yaml.safe_load((tmp_path / CONF).read_text()) == POINTING


@pytest.mark.parametrize(("config", "url"), [("healthzPort: 12345\n", "http://127.0.0.1:12345/healthz"), ("a: b: c", ""), ("[]", "")])
def test_a_restarted_kubelet_is_asked_by_the_configuration_on_disk(tmp_path: Path, config: str, url: str) -> None:
    write(tmp_path, EMBEDDED)
    rotate(tmp_path)
    (tmp_path / "var/lib/kubelet/config.yaml").write_text(config)
    services = running()
    finalize(tmp_path, services)
    assert [restart.health_url for restart in services.restarts] == [url]


@pytest.mark.parametrize("becomes", ["worker", "control_plane"])
@pytest.mark.parametrize("version", ["v1.22.17", "v1.37.1"])
def test_on_a_host_that_joined_there_is_nothing_to_do(tmp_path: Path, becomes: str, version: str) -> None:
    """Its kubelet wrote kubelet.conf itself, after it had started and with another user's name."""
    joined = kubeconfig(**{"client-certificate": PEM, "client-key": PEM})
    joined["users"][1]["name"] = joined["contexts"][0]["context"]["user"] = "default-auth"
    write(tmp_path, joined, since_start=0.3)
    rotate(tmp_path)
    services, before = running(), snapshot(tmp_path)
    outcome = finalize(tmp_path, services, becomes=becomes, version=version)
    assert (outcome.changed, services.restarts, snapshot(tmp_path)) == (False, [], before)
    assert outcome.plan.facts == {"rotation": True, "client_certificate": PEM, "kubelet_restart": ""}


def test_without_a_kubelet_there_is_one_error(tmp_path: Path) -> None:
    write(tmp_path, EMBEDDED)
    rotate(tmp_path)
    with pytest.raises(Unusable, match="this host has no such unit"):
        finalize(tmp_path, Services(known=False))
