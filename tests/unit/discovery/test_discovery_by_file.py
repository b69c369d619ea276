# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery by file and by address: whose server and authority count, who logs in, and which files are refused."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding
from unit.discovery.clusters import ADVERTISED, TOKEN, Authority, Joining, Reply, Server, cluster_info, kubeconfig, status
from unit.discovery.conftest import Start
from unit.world import snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import load_certificates
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile

FILE = "/root/discovery.conf"
CANARY = "canary-t0ken"


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def discovery_file(server: str, user: Mapping[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig for joining nodes; cluster fields that are None are left out."""
    entry = {name: value for name, value in {"server": server, **cluster}.items() if value is not None}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "theirs", "cluster": entry}],
        "contexts": [{"name": "joiner@theirs", "context": {"cluster": "theirs", "user": "joiner" if user else ""}}],
        "current-context": "joiner@theirs",
        "users": [{"name": "joiner", "user": dict(user)}] if user else [],
    }


def put(host: Joining, document: Any, path: str = FILE) -> None:
    place = host.root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(document if isinstance(document, bytes) else yaml.safe_dump(document).encode())
    host.discovery = {"file": {"kubeConfigPath": FILE}}


@pytest.fixture
def server(start: Start, authority: Authority) -> Server:
    """The cluster, whose cluster-info names another server."""
    return start(lambda count, path: cluster_info(kubeconfig(authority.pem + b"\n")))


def test_a_file_without_a_user_and_a_token_to_log_in_with(host: Joining, server: Server, authority: Authority) -> None:
    mine = f"https://{server.endpoint}"
    put(host, discovery_file(mine, **{"certificate-authority-data": encoded(authority.pem)}))
    outcome = host.run(tls_bootstrap_token=TOKEN)
    assert host.written["clusters"] == [
        {"name": "kubernetes", "cluster": {"server": mine, "certificate-authority-data": encoded(authority.pem)}}
    ]
    assert host.written["users"] == [{"name": "tls-bootstrap-token-user", "user": {"token": TOKEN}}]
    assert (outcome.facts["method"], outcome.facts["endpoint"], outcome.facts["server"]) == ("file", FILE, mine)
    assert f"cluster-info {ADVERTISED}: the file counts" in outcome.warnings[0]
    assert not host.run(tls_bootstrap_token=TOKEN).changed
    assert not host.run(token=TOKEN).changed


@pytest.mark.parametrize(
    ("version", "own_user", "server_of", "authority_of"),
    [
        ("v1.26.15", True, "cluster-info", "cluster-info"),
        ("v1.26.15", False, "file", "file"),
        ("v1.27.0", True, "file", "file"),
        ("v1.37.1", True, "file", "file"),
        ("v1.37.1", False, "file", "file"),
    ],
)
def test_whose_server_and_authority_count(
    host: Joining, server: Server, authority: Authority, version: str, own_user: bool, server_of: str, authority_of: str
) -> None:
    host.version = version
    mine = f"https://{server.endpoint}"
    put(host, discovery_file(mine, {"token": CANARY} if own_user else None, **{"certificate-authority-data": encoded(authority.pem)}))
    host.run(tls_bootstrap_token=TOKEN)
    entry = host.written["clusters"][0]["cluster"]
    assert entry["server"] == {"file": mine, "cluster-info": ADVERTISED}[server_of]
    newline = {"file": b"", "cluster-info": b"\n"}[authority_of]
    assert base64.b64decode(entry["certificate-authority-data"]) == authority.pem + newline


def test_the_files_own_user_is_kept_and_asks(host: Joining, server: Server, authority: Authority) -> None:
    put(host, discovery_file(f"https://{server.endpoint}", {"token": CANARY}, **{"certificate-authority-data": encoded(authority.pem)}))
    host.cluster = {"clusterName": "mine"}
    outcome = host.run()
    assert host.written["users"] == [{"name": "joiner", "user": {"token": CANARY}}]
    assert host.written["contexts"] == [{"name": "joiner@theirs", "context": {"cluster": "mine", "user": "joiner"}}]
    assert server.requests[0][1]["authorization"] == f"Bearer {CANARY}"
    assert CANARY not in repr(outcome.plan) + json.dumps(dict(outcome.facts))
    assert not host.run().changed


def test_a_token_makes_up_for_a_user_that_cannot_log_in_here(host: Joining, server: Server, authority: Authority) -> None:
    user = {"exec": {"command": "/bin/false"}}
    put(host, discovery_file(f"https://{server.endpoint}", user, **{"certificate-authority-data": encoded(authority.pem)}))
    assert host.run(tls_bootstrap_token=TOKEN).changed
    assert host.written["users"] == [{"name": "tls-bootstrap-token-user", "user": {"token": TOKEN}}]


def test_files_that_the_file_points_at_are_embedded(host: Joining, server: Server, authority: Authority) -> None:
    put(host, authority.pem, "/root/ca.pem")
    put(host, f"{CANARY}\n".encode(), "/elsewhere/token")
    put(host, discovery_file(f"https://{server.endpoint}", {"tokenFile": "/elsewhere/token"}, **{"certificate-authority": "ca.pem"}))
    host.run()
    assert base64.b64decode(host.written["clusters"][0]["cluster"]["certificate-authority-data"]) == authority.pem
    assert host.written["users"][0]["user"] == {"token": CANARY}


def test_a_client_certificate_is_shown_to_the_cluster(host: Joining, authority: Authority) -> None:
    key = generate_key("ECDSA-P256")
    (leaf,) = load_certificates("leaf", authority.leaf.public_bytes(Encoding.PEM))
    profile = Profile("joiner", leaf.not_after, leaf.not_before, client=True)
    certificate = sign(profile, key.public_key(), authority.certificate, authority.key).public_bytes(Encoding.PEM)
    context = authority.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem.decode())
    server = Server(context, lambda count, path: cluster_info(kubeconfig(authority.pem)))
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(private_pem(key))}
    put(host, discovery_file(f"https://{server.endpoint}", user, **{"certificate-authority-data": encoded(authority.pem)}))
    host.seconds = "5s"
    host.run()
    assert host.written["users"][0]["user"] == user
    server.stop()


def test_an_authority_that_the_file_lacks_comes_from_cluster_info(
    host: Joining, server: Server, authority: Authority, stranger: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(host, discovery_file(f"https://{server.endpoint}"))
    with monkeypatch.context() as patched:
        (tmp_path / "trusted.pem").write_bytes(authority.pem)
        patched.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
        host.run(tls_bootstrap_token=TOKEN)
    assert base64.b64decode(host.written["clusters"][0]["cluster"]["certificate-authority-data"]) == authority.pem + b"\n"
    (tmp_path / "trusted.pem").write_bytes(stranger.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))
    with pytest.raises(Unusable, match="its certificate does not fit"):
        host.run(tls_bootstrap_token=TOKEN)


def test_cluster_info_that_may_not_be_read_is_done_without(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: status(403))
    put(host, discovery_file(f"https://{server.endpoint}", {"token": CANARY}, **{"certificate-authority-data": encoded(authority.pem)}))
    outcome = host.run()
    assert outcome.changed
    assert "so the file alone counts" in outcome.warnings[0]


def test_an_authority_that_neither_has_is_missed(
    trusting: Joining, start: Start, stranger: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(lambda count, path: status(403), stranger)
    put(trusting, discovery_file(f"https://{server.endpoint}", {"token": CANARY}))
    with pytest.raises(Unusable, match="its kubeconfig has no certificate authority"):
        trusting.run()
    assert trusting.written is None


@pytest.mark.parametrize("reply", [cluster_info(""), cluster_info("a: b: c"), cluster_info("- a list")])
def test_cluster_info_that_says_nothing_is_done_without(host: Joining, start: Start, authority: Authority, reply: Reply) -> None:
    server = start(lambda count, path: reply)
    put(host, discovery_file(f"https://{server.endpoint}", {"token": CANARY}, **{"certificate-authority-data": encoded(authority.pem)}))
    assert host.run().changed


GOOD: dict[str, Any] = {"token": CANARY}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (None, f"{FILE}: there is no such discovery file on this host"),
        (b"a: b: c", "its kubeconfig is not valid YAML"),
        (b"\xff\xfe\x00", "its kubeconfig is not valid YAML"),
        (b"just a text", "it holds no kubeconfig"),
        (b"", "it holds no kubeconfig"),
        ({"clusters": []}, "its kubeconfig has no cluster"),
        ({"clusters": "all"}, "its kubeconfig has no cluster"),
        ({**discovery_file("https://a.test:1", GOOD), "current-context": "gone"}, "leads to no cluster"),
        (discovery_file("http://127.0.0.1:1", GOOD), "'http://127.0.0.1:1', which is no https URL"),
        (discovery_file("", GOOD), "which is no https URL"),
        (discovery_file("https://a.test:1", GOOD, **{"insecure-skip-tls-verify": True}), "insecure-skip-tls-verify"),
        (discovery_file("https://a.test:1", GOOD, **{"certificate-authority-data": "%"}), "is not valid base64"),
        (discovery_file("https://a.test:1", GOOD, **{"certificate-authority-data": encoded(b"x")}), "cannot be read (not certificates"),
        (discovery_file("https://a.test:1", GOOD, **{"certificate-authority": "/gone"}), "points at /gone, which does not exist"),
        (discovery_file("https://a.test:1", {"tokenFile": "/gone"}), "its tokenFile points at /gone, which does not exist"),
        (discovery_file("https://a.test:1", {"client-key-data": encoded(b"canary-t0ken")}), "a client certificate or a key, but not both"),
        (discovery_file("https://a.test:1", {"exec": {"command": "x"}}), "its user logs in by exec, which is not supported"),
        (discovery_file("https://a.test:1", {"token": "canary-t0ken\r\nHost: x"}), "characters in it that no token has"),
        (discovery_file("https://a.test:1"), "it has no user, and no token is given"),
    ],
)
def test_files_that_are_refused(host: Joining, document: Any, told: str) -> None:
    if document is not None:
        put(host, document)
    host.discovery = {"file": {"kubeConfigPath": FILE}}
    before = snapshot(host.root)
    with pytest.raises(Unusable) as refusal:
        host.run()
    assert told in str(refusal.value)
    assert str(refusal.value).startswith(f"{FILE}: ")
    assert CANARY not in str(refusal.value)
    assert snapshot(host.root) == before


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (status(500), "within 2 s: it answers with status 500"),
        (status(401), "within 2 s: it does not let anybody in (status 401)"),
        (status(302, Location="https://elsewhere.test"), "it leads on to another address"),
        (status(200, b"<html>"), "what it answers is not JSON"),
        (cluster_info("clusters: [{name: a, cluster: {}}]"), "leads to no cluster"),
        (cluster_info("clusters: [{name: '', cluster: {server: 'http://a.test:1'}}]"), "which is no https URL"),
    ],
)
def test_servers_that_are_not_the_files_cluster(host: Joining, start: Start, authority: Authority, reply: Reply, told: str) -> None:
    server = start(lambda count, path: reply)
    put(host, discovery_file(f"https://{server.endpoint}", GOOD, **{"certificate-authority-data": encoded(authority.pem)}))
    with pytest.raises(Unusable) as refusal:
        host.run()
    assert told in str(refusal.value)
    assert f"https://{server.endpoint}" in str(refusal.value)
    assert CANARY not in str(refusal.value)
    assert host.written is None


def test_a_server_of_another_authority(host: Joining, start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)), stranger)
    put(host, discovery_file(f"https://{server.endpoint}", GOOD, **{"certificate-authority-data": encoded(authority.pem)}))
    with pytest.raises(Unusable, match="its certificate does not fit"):
        host.run()
    assert server.requests == []


class Web:
    """A web server that the host trusts, with the discovery file of a cluster."""

    def __init__(self, start: Start, trusted: Authority, reply: Any) -> None:
        self.server = start(lambda count, path: reply() if callable(reply) else reply, trusted)
        self.url = f"https://{self.server.endpoint}/discovery.conf?signature={CANARY}"


@pytest.fixture
def trusting(host: Joining, stranger: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Joining:
    """A host whose trust store knows somebody else's authority."""
    (tmp_path / "store.pem").write_bytes(stranger.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "store.pem"))
    return host


def test_a_file_from_an_address(trusting: Joining, start: Start, server: Server, authority: Authority, stranger: Authority) -> None:
    document = discovery_file(f"https://{server.endpoint}", GOOD, **{"certificate-authority-data": encoded(authority.pem)})
    web = Web(start, stranger, status(200, yaml.safe_dump(document).encode()))
    trusting.discovery = {"file": {"kubeConfigPath": web.url}}
    outcome = trusting.run()
    assert trusting.written["users"][0]["user"] == GOOD
    assert web.server.requests[0][0] == f"/discovery.conf?signature={CANARY}"
    assert outcome.facts["method"] == "https"
    assert outcome.facts["endpoint"] == f"https://{web.server.endpoint}/discovery.conf"


@pytest.mark.parametrize(("version", "told"), [("v1.37.1", "it answers with status 404"), ("v1.36.4", "")])
def test_a_status_that_is_not_good_by_release(
    trusting: Joining, start: Start, server: Server, authority: Authority, stranger: Authority, version: str, told: str
) -> None:
    document = discovery_file(f"https://{server.endpoint}", GOOD, **{"certificate-authority-data": encoded(authority.pem)})
    web = Web(start, stranger, status(404, yaml.safe_dump(document).encode()))
    trusting.version, trusting.discovery = version, {"file": {"kubeConfigPath": web.url}}
    if told:
        with pytest.raises(Unusable, match=told):
            trusting.run()
    else:
        assert trusting.run().changed


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (status(301, Location="http://elsewhere.test/"), "it leads on to another address, which is not followed"),
        (status(200, b"<html>no</html>"), "it holds no kubeconfig"),
        (status(200, b"x" * 5_000_000), "it answers with more than 4 MiB"),
        ((0, {}, b"nonsense\r\n"), "it does not answer as an HTTP server does"),
        (
            status(200, yaml.safe_dump(discovery_file("https://a.test:1", {"tokenFile": "/etc/shadow"})).encode()),
            "points at a file on this host",
        ),
        (
            status(200, yaml.safe_dump(discovery_file("https://a.test:1", GOOD, **{"certificate-authority": "/x"})).encode()),
            "points at a file",
        ),
    ],
)
def test_addresses_that_are_refused(trusting: Joining, start: Start, stranger: Authority, reply: Reply, told: str) -> None:
    web = Web(start, stranger, reply)
    trusting.discovery = {"file": {"kubeConfigPath": web.url}}
    with pytest.raises(Unusable) as refusal:
        trusting.run()
    assert told in str(refusal.value)
    assert str(refusal.value).startswith(f"https://{web.server.endpoint}/discovery.conf: ")
    assert CANARY not in str(refusal.value)
    assert trusting.written is None


@pytest.mark.parametrize("polite", [True, False])
def test_a_file_that_may_have_been_cut_short_on_the_way(
    trusting: Joining, start: Start, server: Server, authority: Authority, stranger: Authority, polite: bool
) -> None:
    """Without a length only TLS tells that all was said; anybody on the way can end the connection below it."""
    document = discovery_file(f"https://{server.endpoint}", GOOD, **{"certificate-authority-data": encoded(authority.pem)})
    web = Web(start, stranger, (200, {"Content-Length": ""}, yaml.safe_dump(document).encode()))
    web.server.polite = polite
    trusting.discovery = {"file": {"kubeConfigPath": web.url}}
    if polite:
        assert trusting.run().changed
    else:
        with pytest.raises(Unusable, match="the connection was closed"):
            trusting.run()


def test_an_address_that_the_host_does_not_trust(trusting: Joining, start: Start, authority: Authority) -> None:
    web = Web(start, authority, status(200))
    trusting.discovery = {"file": {"kubeConfigPath": web.url}}
    with pytest.raises(Unusable, match="its certificate does not fit"):
        trusting.run()


@pytest.mark.parametrize("location", ["https://user:canary-t0ken@a.test/x", "https:///x"])
def test_addresses_that_cannot_be(host: Joining, location: str) -> None:
    host.discovery = {"file": {"kubeConfigPath": location}}
    with pytest.raises(Unusable) as refusal:
        host.run()
    assert "JoinConfiguration.discovery.file.kubeConfigPath: " in str(refusal.value)
    assert CANARY not in str(refusal.value)
