# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery by token against real servers on loopback: the cluster itself, a slow one, and all sorts of others."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from unit.discovery.clusters import (
    ADVERTISED,
    BOOTSTRAP,
    IDENTIFIER,
    SECRET,
    TOKEN,
    Authority,
    Joining,
    Reply,
    Server,
    cluster_info,
    jws,
    kubeconfig,
    status,
)
from unit.discovery.conftest import Start
from unit.world import changes, snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter

KEY = f"jws-kubeconfig-{IDENTIFIER}"


def by_token(host: Joining, server: Server, authority: Authority, **options: Any) -> Any:
    given = {"token": TOKEN, "api_server_endpoint": server.endpoint, "ca_cert_hashes": [authority.pin], **options}
    return host.run(**given)


def test_the_cluster_is_found_and_the_file_is_kubeadms(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    outcome = by_token(host, server, authority)
    content = (host.root / BOOTSTRAP).read_text()
    data = kubeconfig(authority.pem).partition("data: ")[2].partition("\n")[0]
    assert content == (
        f"apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {data}\n    server: {ADVERTISED}\n"
        "  name: kubernetes\ncontexts:\n- context:\n    cluster: kubernetes\n    user: tls-bootstrap-token-user\n"
        "  name: tls-bootstrap-token-user@kubernetes\ncurrent-context: tls-bootstrap-token-user@kubernetes\nkind: Config\n"
        f"users:\n- name: tls-bootstrap-token-user\n  user:\n    token: {TOKEN}\n"
    )
    assert (host.root / BOOTSTRAP).stat().st_mode & 0o7777 == 0o600
    assert dict(outcome.facts) == {
        "joined": False,
        "method": "token",
        "endpoint": f"https://{server.endpoint}",
        "server": ADVERTISED,
        "ca_cert_hashes": [authority.pin],
        "kubeconfig": {"path": f"/{BOOTSTRAP}", "done": "written", "reason": "it does not exist"},
    }
    assert [path for path, _headers in server.requests] == ["/api/v1/namespaces/kube-public/configmaps/cluster-info"] * 2
    assert all("authorization" not in headers for _path, headers in server.requests)
    assert outcome.warnings == ()


def test_nothing_that_is_shown_holds_the_secret(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    first = by_token(host, server, authority)
    other = "bcdefg.0123456789abcdef"
    text = kubeconfig(authority.pem)
    again = start(lambda count, path: cluster_info(text, **{"jws-kubeconfig-bcdefg": jws(text, *other.split("."))}))
    second = by_token(host, again, authority, token=other)
    assert second.changed
    for outcome in (first, second):
        said = repr(outcome.plan) + json.dumps(interpreter.diff(outcome.plan)) + json.dumps(dict(outcome.facts))
        assert SECRET not in said
        assert "0123456789abcdef" not in said
    assert "logs in with: token abcdef" in changes(second)[0][2]
    assert "logs in with: token bcdefg" in changes(second)[0][3]


def test_check_mode_tells_the_same_and_writes_nothing(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    checked = by_token(host, server, authority, check=True)
    assert snapshot(host.root) == {}
    assert changes(checked) == changes(by_token(host, server, authority))


def test_a_signature_that_comes_late_is_waited_for(host: Joining, start: Start, authority: Authority) -> None:
    text = kubeconfig(authority.pem)
    starting = [status(503), status(403), status(404), status(401), status(429), cluster_info(text, other="x")]
    server = start(lambda count, path: starting[count - 1] if count <= len(starting) else cluster_info(text))
    host.seconds = "20s"
    begun = time.monotonic()
    assert by_token(host, server, authority).changed
    assert len(server.requests) == len(starting) + 2
    assert time.monotonic() - begun < 15


def test_a_server_that_comes_up_late_is_waited_for(host: Joining, authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    host.seconds = "20s"
    started: list[Server] = []

    def begin() -> None:
        late = Server(authority.context(), lambda count, path: cluster_info(kubeconfig(authority.pem)))
        late.stop()
        listener = socket.create_server(("127.0.0.1", port))
        late._listener = listener
        threading.Thread(target=late._accept, daemon=True).start()
        started.append(late)

    threading.Timer(0.7, begin).start()
    outcome = host.run(token=TOKEN, api_server_endpoint=f"127.0.0.1:{port}", ca_cert_hashes=[authority.pin])
    assert outcome.changed
    started[0].stop()


@pytest.mark.parametrize("spelled", [str.lower, str.upper, lambda pin: "sha256:" + pin[7:].upper()])
def test_a_pin_in_any_case_and_any_authority_of_the_bundle(
    host: Joining, start: Start, authority: Authority, stranger: Authority, spelled: Callable[[str], str]
) -> None:
    bundle = stranger.pem + authority.pem
    server = start(lambda count, path: cluster_info(kubeconfig(bundle)))
    outcome = by_token(host, server, authority, ca_cert_hashes=["sha256:" + "0" * 64, spelled(authority.pin)])
    assert outcome.facts["ca_cert_hashes"] == [stranger.pin, authority.pin]
    assert "of its certificate authorities 1 have no pin" in outcome.warnings[0]


def test_without_pins_only_when_the_documents_say_so(host: Joining, start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)), stranger)
    with pytest.raises(Unusable, match="no pin of the cluster's certificate authority is given"):
        by_token(host, server, authority, ca_cert_hashes=[])
    assert server.connections == 0
    host.discovery = {"bootstrapToken": {"apiServerEndpoint": server.endpoint, "unsafeSkipCAVerification": True}}
    outcome = host.run(token=TOKEN)
    assert outcome.changed
    assert "believed without a pin" in outcome.warnings[0]
    assert len(server.requests) == 1


def test_unsafe_does_not_undo_pins(host: Joining, start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    found = {"apiServerEndpoint": server.endpoint, "unsafeSkipCAVerification": True, "caCertHashes": [stranger.pin]}
    host.discovery = {"bootstrapToken": found}
    with pytest.raises(Unusable, match="another one than that of the pins"):
        host.run(token=TOKEN)


def test_the_documents_and_what_the_task_says_instead(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    host.discovery = {"bootstrapToken": {"apiServerEndpoint": server.endpoint, "caCertHashes": [authority.pin]}}
    assert host.run(token=TOKEN, tls_bootstrap_token="fedcba.0123456789abcdef").changed
    assert host.written["users"][0]["user"] == {"token": "fedcba.0123456789abcdef"}
    host.discovery = {"bootstrapToken": {"apiServerEndpoint": "192.0.2.1:6443", "caCertHashes": ["sha256:" + "0" * 64]}}
    assert by_token(host, server, authority, api_server_endpoint=f"https://{server.endpoint}/").changed
    assert host.written["users"][0]["user"] == {"token": TOKEN}


def test_the_cluster_endpoint_is_asked_where_none_is_given(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    host.cluster = {"controlPlaneEndpoint": server.endpoint}
    assert host.run(token=TOKEN, ca_cert_hashes=[authority.pin]).facts["endpoint"] == f"https://{server.endpoint}"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"token": f"x{TOKEN}"}, "token: a text of 24 characters is not a bootstrap token"),
        ({"tls_bootstrap_token": "x" * 30}, "tls_bootstrap_token: a text of 30 characters is not a bootstrap token"),
        ({"ca_cert_hashes": ["md5:00"]}, "ca_cert_hashes: 'md5:00' is no pin"),
        ({"ca_cert_hashes": ["sha256:" + "0" * 63]}, "is no pin"),
        ({"api_server_endpoint": "127.0.0.1"}, "api_server_endpoint: '127.0.0.1' is not host:port"),
        ({"api_server_endpoint": "http://127.0.0.1:6443"}, "is not host:port"),
        ({"api_server_endpoint": "127.0.0.1:99999"}, "is not host:port"),
        ({"api_server_endpoint": ""}, "api_server_endpoint: no API server is named"),
    ],
)
def test_options_that_cannot_be(host: Joining, options: dict[str, Any], told: str) -> None:
    given = {"token": TOKEN, "api_server_endpoint": "127.0.0.1:1", "ca_cert_hashes": ["sha256:" + "0" * 64], **options}
    with pytest.raises(Unusable) as refusal:
        host.run(**given)
    assert told in str(refusal.value)
    assert SECRET not in str(refusal.value)


class Hostile:
    """What others may answer; each is a function of the authorities, the number of the request and its path."""

    def __init__(self, good: Authority, bad: Authority) -> None:
        self.text, self.good, self.bad = kubeconfig(good.pem), good, bad

    def reply(self, name: str, count: int) -> Reply:
        answer = getattr(self, name)
        return answer(count) if callable(answer) else answer

    def no_signature(self, count: int) -> Reply:
        return cluster_info(self.text, **{"jws-kubeconfig-zzzzzz": jws(self.text)})

    def wrong_secret(self, count: int) -> Reply:
        return cluster_info(self.text, **{KEY: jws(self.text, secret="0" * 16)})

    def no_algorithm(self, count: int) -> Reply:
        return cluster_info(self.text, **{KEY: jws(self.text, header={"alg": "none", "kid": IDENTIFIER})})

    def other_text_signed(self, count: int) -> Reply:
        return cluster_info(kubeconfig(self.bad.pem), **{KEY: jws(self.text)})

    def other_authority(self, count: int) -> Reply:
        return cluster_info(kubeconfig(self.bad.pem))

    def two_answers(self, count: int) -> Reply:
        return cluster_info(self.text if count == 1 else kubeconfig(self.good.pem, "https://elsewhere.test:6443"))

    def second_not_signed(self, count: int) -> Reply:
        return cluster_info(self.text) if count == 1 else cluster_info(self.text, other="x")

    def no_cluster(self, count: int) -> Reply:
        return cluster_info("apiVersion: v1\nclusters: []\nkind: Config\n")

    def lost_cluster(self, count: int) -> Reply:
        return cluster_info("clusters: [{name: a, cluster: {server: 'https://a.test:1'}}]\ncurrent-context: b\n")

    def plain_server(self, count: int) -> Reply:
        return cluster_info(kubeconfig(self.good.pem, "http://api.example.test:6443"))

    def no_verification(self, count: int) -> Reply:
        return cluster_info(kubeconfig(self.good.pem, **{"insecure-skip-tls-verify": True}))

    def no_authority(self, count: int) -> Reply:
        return cluster_info(kubeconfig(b"", **{"certificate-authority-data": None}))

    def bad_authority(self, count: int) -> Reply:
        return cluster_info(kubeconfig(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))

    def bad_base64(self, count: int) -> Reply:
        return cluster_info(kubeconfig(b"", **{"certificate-authority-data": "%%%"}))

    def no_kubeconfig(self, count: int) -> Reply:
        return cluster_info("", **{KEY: jws("")})

    def not_yaml(self, count: int) -> Reply:
        return cluster_info("a: b: c")

    def deep_yaml(self, count: int) -> Reply:
        return cluster_info("[" * 100_000)

    def long_yaml(self, count: int) -> Reply:
        return cluster_info("#" * 300_000)

    def not_json(self, count: int) -> Reply:
        return status(200, b"<html>welcome</html>")

    def deep_json(self, count: int) -> Reply:
        return status(200, b"[" * 2_000_000)

    def no_configmap(self, count: int) -> Reply:
        return status(200, b'{"kind": "Status"}')

    def data_is_a_list(self, count: int) -> Reply:
        return status(200, b'{"kind": "ConfigMap", "data": ["jws-kubeconfig-abcdef"]}')

    def redirect(self, count: int) -> Reply:
        return status(302, Location="https://elsewhere.test/")

    def huge(self, count: int) -> Reply:
        return status(200, b'{"kind": "ConfigMap", "x": "' + b"x" * 5_000_000 + b'"}')

    def huge_promise(self, count: int) -> Reply:
        return 200, {"Content-Length": "99999999999"}, b"x" * 5_000_000

    def no_http(self, count: int) -> Reply:
        return 0, {}, b"SSH-2.0-OpenSSH_9.2\r\n"

    def long_header(self, count: int) -> Reply:
        return 0, {}, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000

    def forbidden(self, count: int) -> Reply:
        return status(403)

    def cut_short(self, count: int) -> Reply:
        return 200, {"Content-Length": "1000"}, b'{"kind"'

    def cut_without_length(self, count: int) -> Reply:
        return 200, {"Content-Length": "", "Connection": "close"}, b'{"kind": "ConfigMap", "data": {'


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_signature", "within 2 s: its cluster-info has no signature of the token abcdef"),
        ("wrong_secret", "cannot be trusted: its signature does not fit the token's secret"),
        ("no_algorithm", "cannot be trusted: its signature is not of the kind HS256"),
        ("other_text_signed", "cannot be trusted: its signature does not fit the token's secret"),
        ("other_authority", "its certificate authority is another one than that of the pins: sha256:"),
        ("two_answers", "it answers differently to somebody who checks its certificate"),
        ("second_not_signed", "within 2 s: its cluster-info has no signature of the token abcdef"),
        ("no_cluster", "its kubeconfig has no cluster"),
        ("lost_cluster", "the current context of its kubeconfig leads to no cluster"),
        ("plain_server", "names the server 'http://api.example.test:6443', which is no https URL"),
        ("no_verification", "insecure-skip-tls-verify"),
        ("no_authority", "its kubeconfig has no certificate authority"),
        ("bad_authority", "the certificate authority in its kubeconfig cannot be read"),
        ("bad_base64", "the certificate-authority-data in its kubeconfig is not valid base64"),
        ("no_kubeconfig", "its cluster-info holds no kubeconfig"),
        ("not_yaml", "its kubeconfig is not valid YAML"),
        ("deep_yaml", "its kubeconfig is not valid YAML"),
        ("long_yaml", "its kubeconfig is longer than 256 KiB"),
        ("not_json", "what it answers is not JSON"),
        ("deep_json", "what it answers is not JSON"),
        ("no_configmap", "what it answers is not the ConfigMap cluster-info"),
        ("data_is_a_list", "what it answers is not the ConfigMap cluster-info"),
        ("redirect", "it leads on to another address, which no API server does"),
        ("huge", "it answers with more than 4 MiB"),
        ("huge_promise", "it answers with more than 4 MiB"),
        ("no_http", "it does not answer as an HTTP server does"),
        ("long_header", "it does not answer as an HTTP server does"),
        ("forbidden", "within 2 s: it lets nobody read cluster-info (status 403)"),
        ("cut_short", "within 2 s: the connection was closed in the middle of the answer"),
        ("cut_without_length", "what it answers is not JSON"),
    ],
)
def test_whoever_is_not_the_cluster_is_refused(
    host: Joining, start: Start, authority: Authority, stranger: Authority, name: str, told: str
) -> None:
    hostile = Hostile(authority, stranger)
    server = start(lambda count, path: hostile.reply(name, count))
    refused(host, server.endpoint, authority, told)


def refused(host: Joining, endpoint: str, authority: Authority, told: str) -> None:
    begun = time.monotonic()
    with pytest.raises(Unusable) as refusal:
        host.run(token=TOKEN, api_server_endpoint=endpoint, ca_cert_hashes=[authority.pin])
    assert told in str(refusal.value)
    assert str(refusal.value).startswith(f"https://{endpoint}: ")
    assert refusal.value.fix
    assert SECRET not in str(refusal.value)
    assert snapshot(host.root) == {}
    assert time.monotonic() - begun < 15


def test_a_server_with_somebody_elses_certificate(host: Joining, start: Start, authority: Authority, stranger: Authority) -> None:
    """It passes on what the cluster says, word for word, which is all that a token protects."""
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)), stranger)
    refused(host, server.endpoint, authority, "its certificate does not fit: ")
    assert len(server.requests) == 1


def test_a_certificate_for_another_address(host: Joining, start: Start, authority: Authority, tmp_path_factory: Any) -> None:
    elsewhere = Authority(tmp_path_factory.mktemp("elsewhere"), address="192.0.2.1")
    server = start(lambda count, path: cluster_info(kubeconfig(elsewhere.pem)), elsewhere)
    refused(host, server.endpoint, elsewhere, "its certificate does not fit: IP address mismatch")


def test_a_clock_that_is_behind(host: Joining, start: Start, tmp_path_factory: Any) -> None:
    tomorrow = Authority(tmp_path_factory.mktemp("tomorrow"), age=-600)
    server = start(lambda count, path: cluster_info(kubeconfig(tomorrow.pem)), tomorrow)
    refused(host, server.endpoint, tomorrow, "certificate is not yet valid; is the clock of this host right?")


def test_no_tls_at_all(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: (0, {}, b"HTTP/1.1 400 Bad Request\r\n\r\n"), None)
    refused(host, server.endpoint, authority, "TLS failed (")
    assert server.connections == 1


def test_nobody_there(host: Joining, authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    refused(host, f"127.0.0.1:{port}", authority, "within 2 s: connection refused")


def test_one_that_takes_the_call_and_says_nothing(host: Joining, authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        refused(host, f"127.0.0.1:{silent.getsockname()[1]}", authority, "within 2 s: no answer in time")


@pytest.mark.parametrize("beginning", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b""])
def test_one_that_never_ends(host: Joining, authority: Authority, tmp_path: Path, beginning: bytes) -> None:
    """A byte now and then keeps a timeout of the socket from ever running out."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        while True:
            plain, _address = listener.accept()
            try:
                with authority.context().wrap_socket(plain, server_side=True) as connection:
                    connection.recv(4096)
                    connection.sendall(beginning or b"H")
                    for _byte in range(1000):
                        connection.sendall(b"T")
                        time.sleep(0.05)
            except OSError:
                continue

    def run() -> None:
        try:
            drip()
        except OSError:
            return

    threading.Thread(target=run, daemon=True).start()
    refused(host, f"127.0.0.1:{listener.getsockname()[1]}", authority, "within 2 s: ")
    listener.close()


def test_proxies_of_the_environment_lead_nowhere(
    host: Joining, start: Start, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    assert by_token(host, server, authority).changed
