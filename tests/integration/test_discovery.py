# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery through real Ansible, always in check mode because its file is the machine's own: the token's way, and its traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from integration.play import play
from unit.discovery.clusters import Authority, Server, cluster_info, jws, kubeconfig

TOKEN = "canary.t0k3nt0k3nt0k3n1"
LOGIN = "canar2.t0k3nt0k3nt0k3n2"


@pytest.fixture
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The cluster's authority."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority) -> Iterator[Server]:
    """The cluster, which knows the token of the documents."""
    text = kubeconfig(authority.pem)
    made = Server(authority.context(), lambda count, path: cluster_info(text, **{"jws-kubeconfig-canary": jws(text, *TOKEN.split("."))}))
    yield made
    made.stop()


def host(server: Server, authority: Authority, **fields: Any) -> dict[str, Any]:
    by_token = {"token": TOKEN, "apiServerEndpoint": server.endpoint, "caCertHashes": [authority.pin], **fields}
    join = {
        "discovery": {"bootstrapToken": by_token, "tlsBootstrapToken": LOGIN},
        "nodeRegistration": {"name": "w1"},
        "timeouts": {"discovery": "2s"},
    }
    return {"w1": {"kubephase_cluster_configuration": {"kubernetesVersion": "v1.37.1"}, "kubephase_join_configuration": join}}


TASKS = [{"kubephase.cluster.cluster_discovery": {"becomes": "worker"}}]


def traces(place: Path, output: str) -> list[str]:
    """Where the secret of a token shows up, of all that a run printed and left behind."""
    left = [path for path in place.rglob("*") if path.is_file() and path.name not in ("inventory.yml", "play.yml")]
    texts = {"output": output, **{str(path): path.read_text(errors="replace") for path in left}}
    return [name for name, text in texts.items() if "t0k3nt0k3n" in text]


@pytest.mark.parametrize("wrong", [False, True])
def test_tokens_of_the_documents_reach_the_module_and_nothing_else(
    tmp_path: Path, server: Server, authority: Authority, wrong: bool
) -> None:
    fields = {"caCertHashes": ["sha256:" + "0" * 64]} if wrong else {}
    log = str(tmp_path / "ansible.log")
    played = play(tmp_path, TASKS, "--check", "--diff", "-vvvv", hosts=host(server, authority, **fields), ANSIBLE_LOG_PATH=log)
    assert len(server.requests) == (1 if wrong else 2)
    assert (played.code != 0) == wrong, played.output
    assert ("another one than that of the pins" if wrong else "logs in with: token canar2") in played.output
    assert "Traceback" not in played.output
    assert traces(tmp_path, played.output) == []


def test_what_the_task_says_wins_over_the_documents(tmp_path: Path, server: Server, authority: Authority) -> None:
    given = {"becomes": "worker", "token": TOKEN, "api_server_endpoint": server.endpoint, "ca_cert_hashes": [authority.pin]}
    hosts = host(server, authority, apiServerEndpoint="192.0.2.1:6443", token="others.t0k3nt0k3nt0k3n3")
    played = play(tmp_path, [{"kubephase.cluster.cluster_discovery": given}], "--check", "--diff", "-v", hosts=hosts)
    assert played.code == 0, played.output
    assert played.recap("w1")["changed"] == 1
    assert "logs in with: token canary" in played.output
    assert traces(tmp_path, played.output) == []
