# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An API server on loopback with nodes whose pods do as a test says: kubelets, scheduler and controllers in a few lines."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from unit.world import run

from ansible_collections.kubephase.cluster.plugins.module_utils._kubeconfig.kubeconfig import KubeconfigPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.certs import CertsPhase

KINDS = {
    "resources": [
        {"name": "namespaces", "kind": "Namespace"},
        {"name": "nodes", "kind": "Node"},
        {"name": "pods", "kind": "Pod", "namespaced": True},
        {"name": "services", "kind": "Service", "namespaced": True},
    ]
}
READY = {"type": "Ready", "status": "True"}
# Says what becomes of a step that a pod on a node takes, at its so many-th try; nothing means that it succeeds.
Fate = Callable[[str, str, int], str]


def ready_node(name: str, condition: dict[str, str] | None = None) -> dict[str, Any]:
    """A Node."""
    return {"metadata": {"name": name}, "status": {"conditions": [condition or READY]}}


class SmallCluster:
    """Objects by their path, and the doings of nodes."""

    def __init__(self, root: Path, nodes: list[dict[str, Any]], fate: Fate = lambda node, step, count: "") -> None:
        self.objects: dict[str, Any] = {f"/api/v1/nodes/{node['metadata']['name']}": node for node in nodes}
        self.made: list[str] = []
        self.account_after = 2
        self._fate = fate
        self._lock = threading.Lock()
        self._serve()
        cluster = {
            "encryptionAlgorithm": "ECDSA-P256",
            "controlPlaneEndpoint": f"127.0.0.1:{self._server.server_address[1]}",
            "apiServer": {"certSANs": ["127.0.0.1"]},
        }
        run(CertsPhase(), root, cluster, {"names": ["ca", "apiserver"]})
        run(KubeconfigPhase(), root, cluster, {"names": ["admin"]})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(root / "etc/kubernetes/pki/apiserver.crt", root / "etc/kubernetes/pki/apiserver.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def left(self) -> list[str]:
        """What is there beside the nodes."""
        return [path for path in self.objects if "/nodes/" not in path]

    def _serve(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                with outer._lock:
                    status, content = outer._answer(self.command, self.path.partition("?")[0], body)
                payload = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, format: str, *words: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def _answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if path == "/api/v1":
            return 200, KINDS
        if method == "POST":
            return self._make(path, body)
        if method == "DELETE":
            gone = [each for each in self.objects if each == path or each.startswith(f"{path}/")]
            for each in gone:
                del self.objects[each]
            return (200 if gone else 404), {}
        if path in self.objects:
            return 200, self.objects[path]
        if path.endswith(("/nodes", "/pods", "/namespaces")):
            deep = path.count("/") + 1
            items = [each for place, each in self.objects.items() if place.startswith(f"{path}/") and place.count("/") == deep]
            return 200, {"items": [self._lived(each) for each in items]}
        return 404, {"message": "no such thing"}

    def _make(self, path: str, body: Any) -> tuple[int, Any]:
        if path.endswith("/pods") and self.account_after > 0:
            self.account_after -= 1
            return 403, {"message": 'pods "x" is forbidden: error looking up service account: serviceaccount "default" not found'}
        name = body["metadata"]["name"]
        self.made.append(f"{body['kind']} {name}")
        if body["kind"] == "Service":
            body["spec"]["clusterIP"] = "10.96.0.9"
        self.objects[f"{path}/{name}"] = body
        return 201, body

    def _lived(self, found: Any) -> Any:
        """A pod as far as it has come."""
        if found.get("kind") != "Pod":
            return found
        name, spec = found["metadata"]["name"], found["spec"]
        terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        node = terms[0]["matchFields"][0]["values"][0]
        if name.startswith("answer-"):
            stuck = self._fate(node, "answers", 0)
            waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": stuck}}}
            running = {"conditions": [READY], "podIP": "10.244.0.9"}
            return {**found, "status": {"containerStatuses": [waiting]} if stuck else running}
        count = int(name.rpartition("-")[2])
        ended = []
        for container in spec["containers"]:
            said = self._fate(node, container["name"], count)
            ended.append({"name": container["name"], "state": {"terminated": {"exitCode": 1 if said else 0, "message": said}}})
        return {**found, "status": {"containerStatuses": ended}}
