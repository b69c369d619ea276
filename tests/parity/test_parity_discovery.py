# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery against a real API server: cluster-info by our own phase, signed by the real controller manager."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.discovery_client import DiscoveryClient
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pins
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.phase import BOOTSTRAP, DiscoveryPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.bootstrap_token import BootstrapTokenPhase
from ansible_collections.kubephase.cluster.tests.parity.apiserver import ONE_WORKER, ApiServer, our_api
from ansible_collections.kubephase.cluster.tests.parity.apiserver_programs import RELEASE, end_with_parent, free_ports, program

__all__ = ["our_api"]
pytestmark = ONE_WORKER

TOKEN = "abcdef.0123456789abcdef"
INIT = {"localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}, "nodeRegistration": {"name": "cp1"}}


@pytest.fixture
def signer(our_api: ApiServer, tmp_path: Path) -> Iterator[ApiServer]:
    """The API server with tokens and the one controller that signs cluster-info with them."""
    (port,) = free_ports(1)
    words = [
        f"--kubeconfig={our_api.kubeconfig}",
        "--controllers=bootstrap-signer-controller",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={tmp_path}",
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(program("kube-controller-manager")), *words],
            stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            preexec_fn=end_with_parent,
        )
    documents = {"ClusterConfiguration": {"kubernetesVersion": f"v{RELEASE}"}, "InitConfiguration": {**INIT, "bootstrapTokens": [{}]}}
    world = our_api.world(mint=Mint(our_api.api()))
    execute(BootstrapTokenPhase(), world, documents, {"state": "present", "create": "always", "tokens": [TOKEN]})
    yield our_api
    process.kill()
    process.wait()


def join(server: ApiServer, root: Path, token: str = TOKEN, pin: str = "", discovery: Any = None) -> Outcome:
    world = World(files=Files(str(root)), discovery=DiscoveryClient(), host=Host())
    documents = {
        "ClusterConfiguration": {"kubernetesVersion": f"v{RELEASE}"},
        "JoinConfiguration": {
            "nodeRegistration": {"name": "w1", "criSocket": "unix:///var/run/containerd/containerd.sock"},
            "timeouts": {"discovery": "20s" if token == TOKEN else "2s"},
            "discovery": discovery or {},
        },
    }
    hashes = [pin or pins((server.pki / "ca.crt").read_bytes())[0]]
    given = {"tls_bootstrap_token": token} if discovery else {"token": token, "api_server_endpoint": server.url, "ca_cert_hashes": hashes}
    return execute(DiscoveryPhase(), world, documents, {"becomes": "worker", **given})


def test_a_real_cluster_is_found_and_lets_us_in(signer: ApiServer, tmp_path: Path) -> None:
    outcome = join(signer, tmp_path)
    assert (outcome.changed, outcome.facts["server"]) == (True, signer.url)
    assert not join(signer, tmp_path).changed
    # The token is good for what joining nodes may read, and for nothing else.
    api = Api(Files(str(tmp_path)), BOOTSTRAP)
    assert api.get(ObjectKey("v1", "Node", "", "nobody")) is None
    assert api.forbidden(ObjectKey("v1", "Secret", "kube-system", "bootstrap-token-abcdef"))


@pytest.mark.parametrize(
    ("token", "pin", "told"),
    [
        ("abcdef.0123456789abcdeg", "", "its signature does not fit the token's secret"),
        ("zzzzzz.0123456789abcdef", "", "has no signature of the token zzzzzz"),
        (TOKEN, "sha256:" + "0" * 64, "its certificate authority is another one than that of the pins"),
    ],
)
def test_who_comes_with_something_else_is_not_led_there(signer: ApiServer, tmp_path: Path, token: str, pin: str, told: str) -> None:
    join(signer, tmp_path)  # so that the signature is there
    empty = tmp_path / "empty"
    with pytest.raises(Unusable, match=told):
        join(signer, empty, token, pin)
    assert not empty.exists()


def test_a_discovery_file_made_of_cluster_info(signer: ApiServer, tmp_path: Path) -> None:
    found = signer.object(ObjectKey("v1", "ConfigMap", "kube-public", "cluster-info"))
    (tmp_path / "discovery.conf").write_text(found["data"]["kubeconfig"])
    outcome = join(signer, tmp_path, discovery={"file": {"kubeConfigPath": "/discovery.conf"}})
    assert (outcome.facts["method"], outcome.facts["server"], outcome.warnings) == ("file", signer.url, ())
