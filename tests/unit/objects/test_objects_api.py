# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API adapter against a TLS server that says what it is told: patience, refusals, credentials, secrets."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.world import run

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import Transport
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    ObjectKey,
    PatchNode,
)

KINDS = {"resources": [{"name": "secrets", "kind": "Secret", "namespaced": True}, {"name": "nodes", "kind": "Node"}]}
SECRET = ObjectKey("v1", "Secret", "kube-system", "it")
MANIFEST = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "it", "namespace": "kube-system"},
    "stringData": {"a": "CANARY"},
}
PATH = "/api/v1/namespaces/kube-system/secrets/it"


class Server:
    """Answers with what is queued for a method and path, the last answer again and again; an answer of 0 hangs up."""

    def __init__(self, root: Path) -> None:
        self.answers: dict[tuple[str, str], list[tuple[int, Any]]] = {("GET", "/api/v1"): [(200, KINDS)]}
        self.asked: list[tuple[str, str, Any]] = []
        self.agents: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                path = self.path.partition("?")[0]
                outer.asked.append((self.command, self.path, body))
                outer.agents.add(self.headers["User-Agent"])
                queued = outer.answers.get((self.command, path), [(404, {"reason": "NotFound", "message": "no such thing"})])
                status, content = queued.pop(0) if len(queued) > 1 else queued[0]
                if status == 0:
                    self.close_connection = True
                    return
                payload = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_PATCH = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, format: str, *words: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        pki = root / "etc/kubernetes/pki"
        cluster = {
            "encryptionAlgorithm": "ECDSA-P256",
            "controlPlaneEndpoint": f"127.0.0.1:{self.port}",
            "apiServer": {"certSANs": ["127.0.0.1"]},
        }
        run(CertsPhase(), root, cluster, {"names": ["ca", "apiserver"]})
        run(KubeconfigPhase(), root, cluster, {"names": ["admin"]})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
        context.load_verify_locations(pki / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED  # whoever has no client certificate of this CA gets no answer at all
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def say(self, method: str, path: str, *answers: tuple[int, Any]) -> None:
        self.answers[method, path] = list(answers)

    def count(self, method: str) -> int:
        return sum(1 for asked, path, _ in self.asked if asked == method and path != "/api/v1")

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    root = tmp_path_factory.mktemp("root")
    server = Server(root)
    yield server, root
    server.stop()


@pytest.fixture
def server(shared: tuple[Server, Path]) -> Server:
    found = shared[0]
    found.answers = {("GET", "/api/v1"): [(200, KINDS)]}
    found.asked.clear()
    return found


@pytest.fixture
def root(shared: tuple[Server, Path]) -> Path:
    return shared[1]


def api(root: Path, **more: Any) -> Api:
    return Api(Files(str(root)), **{"deadline": 2.0, **more})


LIVE = {**MANIFEST, "metadata": {**MANIFEST["metadata"], "resourceVersion": "5"}}  # type: ignore[dict-item]
STARTING = (503, {"reason": "ServiceUnavailable", "message": "starting"})
CONFLICT = (409, {"reason": "Conflict", "message": "somebody else wrote"})


@pytest.mark.parametrize(
    "first", [[], [STARTING, STARTING], [(0, None)], [(429, {}), (500, {"message": "etcdserver: leader changed"}), (504, {})]]
)
def test_patience_with_a_server_that_is_starting(server: Server, root: Path, first: list[tuple[int, Any]]) -> None:
    server.say("GET", PATH, *first, (200, LIVE))
    assert api(root).get(SECRET) == LIVE
    assert server.count("GET") == len(first) + 1


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (403, {"reason": "Forbidden", "message": "secrets is forbidden"}, "could not be read: secrets is forbidden. Give the user of"),
        (401, {"reason": "Unauthorized"}, "does not accept the credentials of /etc/kubernetes/admin.conf"),
        (422, {"reason": "Invalid", "message": "it says CANARY"}, "could not be read: Invalid. Correct"),
        (400, {"message": "CANARY"}, "could not be read: status 400"),
        (500, {"message": ".spec.x: field not declared in schema"}, "could not be read: status 500"),
    ],
)
def test_a_refusal_is_told_and_not_tried_again(server: Server, root: Path, status: int, body: Any, told: str) -> None:
    server.say("GET", PATH, (status, body))
    with pytest.raises(Unusable) as refusal:
        api(root).get(SECRET)
    assert told in str(refusal.value)
    assert "CANARY" not in str(refusal.value)
    assert server.count("GET") == 1


def test_what_is_not_there(server: Server, root: Path) -> None:
    assert api(root).get(SECRET) is None
    assert api(root).get(ObjectKey("example.test/v1", "Unheard", "", "it")) is None
    assert api(root).observe([MANIFEST])[SECRET].live is None
    assert server.count("PATCH") == 0
    api(root).apply(DeleteObject(SECRET))


def test_forbidden_is_a_question(server: Server, root: Path) -> None:
    assert not api(root).forbidden(SECRET)
    server.say("GET", PATH, (403, {}))
    assert api(root).forbidden(SECRET)


def test_a_kind_that_is_about_to_be_defined_is_waited_for(server: Server, root: Path) -> None:
    server.say("GET", "/apis/example.test/v1", (404, {}), (404, {}), (200, {"resources": [{"name": "things", "kind": "Thing"}]}))
    server.say("PATCH", "/apis/example.test/v1/things/it", (201, {}))
    api(root).apply(ApplyObject({"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": "it"}}))
    assert server.asked[-1][0] == "PATCH"


def test_somebody_elses_object_is_never_touched(server: Server, root: Path) -> None:
    server.say("POST", "/api/v1/namespaces/kube-system/secrets", (409, {"reason": "AlreadyExists"}))
    with pytest.raises(Unusable, match="it is there already"):
        api(root).apply(CreateObject(MANIFEST))
    assert (server.count("POST"), server.count("PATCH")) == (1, 0)


def test_an_apply_forces_our_fields_under_our_name(server: Server, root: Path) -> None:
    server.say("PATCH", PATH, (200, LIVE))
    api(root).apply(ApplyObject(MANIFEST))
    method, path, body = server.asked[-1]
    assert (method, body) == ("PATCH", MANIFEST)
    assert "fieldManager=kubephase" in path
    assert "force=true" in path
    assert "dryRun" not in path


def test_a_node_is_read_again_when_somebody_wrote_in_between(server: Server, root: Path) -> None:
    def node(version: str, *taints: dict[str, str]) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "cp1", "resourceVersion": version},
            "spec": {"taints": list(taints)},
        }

    foreign = {"key": "x", "effect": "NoExecute"}
    server.say("GET", "/api/v1/nodes/cp1", (404, {}), (200, node("1")), (200, node("2", foreign)))
    server.say("PATCH", "/api/v1/nodes/cp1", CONFLICT, (200, {}))
    taint = {"key": "y", "effect": "NoSchedule"}
    api(root).apply(PatchNode("cp1", taints=(taint,)))
    sent = [body for method, _, body in server.asked if method == "PATCH"]
    assert sent == [
        {"metadata": {"resourceVersion": "1"}, "spec": {"taints": [taint]}},
        {"metadata": {"resourceVersion": "2"}, "spec": {"taints": [taint, foreign]}},
    ]


def test_a_conflict_that_does_not_end_is_told(server: Server, root: Path) -> None:
    server.say("GET", "/api/v1/nodes/cp1", (200, {"metadata": {"resourceVersion": "1"}}))
    server.say("PATCH", "/api/v1/nodes/cp1", CONFLICT)
    with pytest.raises(Unusable, match=r"Node cp1: it did not register, or others kept writing it for 0 s"):
        api(root, deadline=0.3).apply(PatchNode("cp1", labels={"a": ""}))
    assert server.count("PATCH") > 1


@pytest.mark.parametrize(("made_with", "given"), [(None, 0.3), (0.3, 60.0)], ids=["given a time", "made with one"])
def test_how_long_a_call_is_tried(server: Server, root: Path, made_with: float | None, given: float) -> None:
    server.say("GET", "/api/v1/nodes/cp1", (200, {"metadata": {"resourceVersion": "1"}}))
    server.say("PATCH", "/api/v1/nodes/cp1", CONFLICT)
    one = api(root, deadline=made_with)
    one.give_time(given)
    with pytest.raises(Unusable, match="others kept writing it for 0 s"):
        one.apply(PatchNode("cp1", labels={"a": ""}))


def test_a_server_that_does_not_answer_is_named(root: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(Unusable) as silence:
            api(root, server=url, deadline=0.3).get(SECRET)
    assert str(silence.value).startswith(f"API server {url}, with /etc/kubernetes/admin.conf: it does not answer: connection refused.")


def test_another_server_can_be_asked_with_the_same_file(server: Server, root: Path) -> None:
    one = api(root, server="https://127.0.0.1:1", deadline=0.1)
    one.talk_to("")
    assert one.get(SECRET) is None
    assert server.count("GET") == 1


def test_a_server_of_another_cluster_is_refused(server: Server, root: Path, tmp_path: Path) -> None:
    run(CertsPhase(), tmp_path, {"encryptionAlgorithm": "ECDSA-P256"}, {"names": ["ca"]})
    config = yaml.safe_load((root / "etc/kubernetes/admin.conf").read_text())
    foreign = (tmp_path / "etc/kubernetes/pki/ca.crt").read_bytes()
    config["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(foreign).decode()
    (root / "foreign.conf").write_text(yaml.safe_dump(config))
    with pytest.raises(Unusable, match="its certificate does not fit"):
        api(root, kubeconfig="/foreign.conf").get(SECRET)
    assert server.asked == []


def test_the_environment_leads_nowhere(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", "/nonexistent")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    server.say("GET", PATH, (200, LIVE))
    assert api(root).get(SECRET) == LIVE
    assert server.agents == {"kubephase"}


def edited(root: Path, name: str, **fields: Any) -> str:
    config = yaml.safe_load((root / "etc/kubernetes/admin.conf").read_text())
    (config["clusters"][0]["cluster"] if name == "cluster" else config["users"][0]["user"]).update(fields)
    (root / "edited.conf").write_text(yaml.safe_dump(config))
    return "/edited.conf"


@pytest.mark.parametrize(
    ("part", "fields", "told"),
    [
        ("cluster", {"server": "http://127.0.0.1"}, "its server is no https URL"),
        ("cluster", {"server": "https://127.0.0.1:many"}, "its server has no usable port"),
        ("cluster", {"certificate-authority-data": ""}, "it names no certificate authority"),
        ("cluster", {"certificate-authority-data": "%"}, "its certificate-authority-data is not a PEM in base64"),
        ("user", {"client-key-data": ""}, "neither a client certificate with its key nor a token"),
        ("user", {"client-key-data": base64.b64encode(b"CANARY").decode()}, "its certificates or its key cannot be read"),
        ("user", {"client-key-data": "", "client-key": "/gone.pem"}, "it points at /gone.pem, which does not exist"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(root: Path, part: str, fields: dict[str, str], told: str) -> None:
    with pytest.raises(Unusable) as refusal:
        api(root, kubeconfig=edited(root, part, **fields)).get(SECRET)
    assert told in str(refusal.value)
    assert "CANARY" not in str(refusal.value)


def test_no_kubeconfig_at_all(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"/etc/kubernetes/admin\.conf: there is no such kubeconfig"):
        Api(Files(str(tmp_path))).get(SECRET)
    (tmp_path / "broken.conf").write_text("a: b: c")
    with pytest.raises(Unusable, match="it is not valid YAML"):
        Api(Files(str(tmp_path)), "/broken.conf").get(SECRET)


def test_files_instead_of_embedded_data(server: Server, root: Path) -> None:
    config = yaml.safe_load((root / "etc/kubernetes/admin.conf").read_text())
    user = config["users"][0]["user"]
    for name in ("client-certificate", "client-key"):
        (root / f"{name}.pem").write_bytes(base64.b64decode(user.pop(f"{name}-data")))
        user[name] = f"/{name}.pem"
    (root / "pointing.conf").write_text(yaml.safe_dump(config))
    assert api(root, kubeconfig="/pointing.conf").get(SECRET) is None


def test_a_connection_that_the_server_closed_meanwhile_is_made_again(server: Server, root: Path) -> None:
    server.say("GET", PATH, (200, LIVE))
    one = api(root, deadline=0.0)
    one.get(SECRET)
    transport = one._transport
    assert isinstance(transport, Transport)
    assert transport._connection.sock is not None
    transport._connection.sock.shutdown(socket.SHUT_RDWR)
    assert one.get(SECRET) == LIVE
