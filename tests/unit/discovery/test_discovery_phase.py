# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host has already: joined or not, a bootstrap kubeconfig that says the same or something else, no token yet."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.discovery.clusters import ADVERTISED, BOOTSTRAP, TOKEN, Authority, Joining, Server, cluster_info, kubeconfig
from unit.discovery.conftest import Start
from unit.world import changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.phase import DiscoveryPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

KUBELET = "etc/kubernetes/kubelet.conf"
PEM = "var/lib/kubelet/pki/kubelet-client-current.pem"


@pytest.fixture
def server(start: Start, authority: Authority) -> Server:
    """The cluster."""
    return start(lambda count, path: cluster_info(kubeconfig(authority.pem)))


def run(host: Joining, server: Server, authority: Authority, **options: Any) -> Any:
    return host.run(**{"token": TOKEN, "api_server_endpoint": server.endpoint, "ca_cert_hashes": [authority.pin], **options})


def edit(host: Joining, group: str, kind: str, **fields: Any) -> None:
    document = host.written
    document[group][0][kind].update(fields)
    (host.root / BOOTSTRAP).write_text(yaml.safe_dump(document))


def write_kubelet(root: Path, authority: bytes, text: str = "") -> None:
    (root / KUBELET).parent.mkdir(parents=True, exist_ok=True)
    document = {
        "clusters": [
            {"name": "default", "cluster": {"server": ADVERTISED, "certificate-authority-data": base64.b64encode(authority).decode()}}
        ],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "current-context": "default",
        "users": [{"name": "default", "user": {"client-certificate": f"/{PEM}", "client-key": f"/{PEM}"}}],
    }
    (root / KUBELET).write_text(text or yaml.safe_dump(document))


def test_a_host_that_has_joined_is_left_alone(host: Joining, server: Server, authority: Authority) -> None:
    write_kubelet(host.root, authority.pem)
    (host.root / PEM).parent.mkdir(parents=True)
    (host.root / PEM).write_text("pem")
    before = snapshot(host.root)
    outcome = run(host, server, authority)
    assert (outcome.changed, snapshot(host.root), server.connections) == (False, before, 0)
    assert dict(outcome.facts) == {
        "joined": True,
        "method": "",
        "endpoint": "",
        "server": ADVERTISED,
        "ca_cert_hashes": [authority.pin],
        "kubeconfig": {"path": f"/{BOOTSTRAP}", "done": "absent", "reason": ""},
    }
    assert host.run(token="no token").facts["joined"]


@pytest.mark.parametrize("text", ["", "a: b: c", "{}", "clusters: []\ncurrent-context: x\n"])
def test_a_kubelet_conf_that_leads_nowhere_is_no_joining(host: Joining, server: Server, authority: Authority, text: str) -> None:
    write_kubelet(host.root, authority.pem, text)
    outcome = run(host, server, authority)
    assert (outcome.changed, outcome.facts["joined"]) == (True, False)


def test_run_again_nothing_is_written(host: Joining, server: Server, authority: Authority) -> None:
    run(host, server, authority)
    before = snapshot(host.root)
    outcome = run(host, server, authority)
    assert (outcome.changed, outcome.facts["kubeconfig"]["done"], snapshot(host.root)) == (False, "kept", before)


@pytest.mark.parametrize(
    ("group", "kind", "fields", "reason"),
    [
        ("clusters", "cluster", {"server": "https://old.test:6443"}, "it names the server https://old.test:6443, the cluster is at"),
        ("clusters", "cluster", {"server": "https://192.0.2.10:6443"}, "it names the server https://192.0.2.10:6443, the cluster is at"),
        ("clusters", "cluster", {"certificate-authority-data": "eA=="}, "it trusts another certificate authority than the cluster's"),
        ("clusters", "cluster", {"certificate-authority-data": "%"}, "its certificate-authority-data is not valid base64"),
        ("users", "user", {"token": "bbbbbb.0123456789abcdef"}, "its user logs in with something else"),
        ("users", "user", {"client-key-data": "eA=="}, "its user logs in with something else"),
        ("contexts", "context", {"cluster": "gone"}, "its current context leads to no cluster named 'gone'"),
    ],
)
def test_a_file_that_says_something_else(
    host: Joining, server: Server, authority: Authority, group: str, kind: str, fields: dict[str, str], reason: str
) -> None:
    run(host, server, authority)
    whole = host.written
    edit(host, group, kind, **fields)
    outcome = run(host, server, authority)
    assert reason in changes(outcome)[0][1]
    assert host.written == whole


def test_the_name_of_the_cluster_in_it_does_not_matter(host: Joining, server: Server, authority: Authority) -> None:
    run(host, server, authority)
    host.cluster = {"clusterName": "mine"}
    assert not run(host, server, authority).changed


def test_a_file_that_kubelet_start_led_to_the_local_server_is_kept(host: Joining, server: Server, authority: Authority) -> None:
    host.becomes = "control_plane"
    run(host, server, authority)
    edit(host, "clusters", "cluster", server="https://192.0.2.10:6443")
    assert not run(host, server, authority).changed
    edit(host, "clusters", "cluster", server="https://192.0.2.11:6443")
    assert run(host, server, authority).changed


def test_a_mode_that_lets_others_read_the_token_is_narrowed(host: Joining, server: Server, authority: Authority) -> None:
    run(host, server, authority)
    (host.root / BOOTSTRAP).chmod(0o644)
    outcome = run(host, server, authority)
    assert (outcome.changed, outcome.facts["kubeconfig"]["done"]) == (True, "mode")
    assert (host.root / BOOTSTRAP).stat().st_mode & 0o7777 == 0o600


def test_without_a_token_check_mode_tells_the_change_and_a_real_run_refuses(host: Joining) -> None:
    outcome = host.run(check=True)
    assert [(change[0], change[1]) for change in changes(outcome)] == [
        (f"/{BOOTSTRAP}", "the cluster cannot be asked before there is a token")
    ]
    assert outcome.changed
    with pytest.raises(Unusable, match="there is neither a token nor a discovery file to find the cluster with"):
        host.run()
    assert snapshot(host.root) == {}


def test_a_survey_asks_nobody(host: Joining, server: Server, authority: Authority) -> None:
    outcome = run(host, server, authority, check=True, phase=DiscoveryPhase(asks=False))
    assert (outcome.changed, server.connections) == (True, 0)
    host.discovery = {"file": {"kubeConfigPath": "/gone"}}
    assert host.run(check=True, phase=DiscoveryPhase(asks=False)).changed


@pytest.mark.parametrize(("version", "there"), [("v1.33.13", True), ("v1.34.0", False)])
def test_preferences_by_release(host: Joining, server: Server, authority: Authority, version: str, there: bool) -> None:
    host.version = version
    run(host, server, authority)
    assert ("preferences" in host.written) == there
