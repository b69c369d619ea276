# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Kubernetes API: objects read, compared by the server itself, and written by server-side apply."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Callable
from urllib.parse import quote

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_credentials, api_fields
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import NoAnswer, Reply, Transport
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.nodes import marks
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import (
    ApplyObject,
    CreateObject,
    DeleteObject,
    Manifest,
    ObjectKey,
    ObjectState,
    PatchNode,
    key_of,
)

ADMIN = "/etc/kubernetes/admin.conf"
SUPER_ADMIN = "/etc/kubernetes/super-admin.conf"
_APPLY_PATCH = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
PAUSE = 0.2
DEADLINE_SECONDS = 30.0
# What a server says that is starting or overloaded; and how an internal error reads that comes from its etcd. Others are for
# good: an unknown field in a manifest is one, too.
_PASSING = (429, 502, 503, 504)
_ETCD_TROUBLE = ("etcdserver", "rpc error", "context deadline")
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet")


class Api:
    """An API server as one kubeconfig leads to it; server overrides the one that the file names."""

    applies: tuple[type[Action], ...] = (ApplyObject, CreateObject, DeleteObject, PatchNode)

    def __init__(self, files: Any, kubeconfig: str = ADMIN, server: str = "", deadline: float | None = None) -> None:
        self._files = files
        self._kubeconfig = kubeconfig
        self._server = server
        self._deadline = DEADLINE_SECONDS if deadline is None else deadline
        self._deadline_is_fixed = deadline is not None
        self._transport: Transport | None = None
        self._stand_in: Transport | None = None
        self._given_up = False
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    def talk_to(self, server: str) -> None:
        """Use this server from now on, with the credentials of the same kubeconfig; nothing means the one that it names."""
        if server != self._server:
            self._server, self._transport, self._stand_in, self._given_up = server, None, None, False

    def give_time(self, seconds: float) -> None:
        """Try calls for so long, unless it was made with a time of its own."""
        if not self._deadline_is_fixed:
            self._deadline = seconds

    def get(self, key: ObjectKey) -> Manifest | None:
        """Return an object, or None when there is none."""
        path = self._path(key)
        if path is None:
            return None
        reply = self._send("GET", path)
        return None if reply.status == 404 else self._body(reply, str(key), "read")

    def forbidden(self, key: ObjectKey) -> bool:
        """Say whether the user of this kubeconfig may not read an object."""
        path = self._path(key)
        return path is not None and self._send("GET", path, alone=True).status == 403

    def rejected(self) -> bool:
        """Say whether the server does not know the user of this kubeconfig, such as one whose token has expired."""
        return self._send("GET", "/version", alone=True).status == 401

    def list(
        self, api_version: str, kind: str, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> tuple[Manifest, ...]:
        """List objects of a kind, of one namespace or of all."""
        path = self._path(ObjectKey(api_version, kind, namespace, ""))
        if path is None:
            return ()
        query = {name: value for name, value in (("labelSelector", label_selector), ("fieldSelector", field_selector)) if value}
        body = self._body(self._send("GET", path, query), f"{kind} objects", "listed")
        # The server leaves out of each item what it says once for the whole list.
        return tuple({"apiVersion": api_version, "kind": kind, **item} for item in body.get("items") or ())

    def observe(self, manifests: Iterable[Manifest]) -> dict[ObjectKey, ObjectState]:
        """Return each object as it is and as it would be after its manifest was applied."""
        return {key_of(manifest): self._observed(manifest) for manifest in manifests}

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, ApplyObject):
            self._apply_object(action.manifest)
        elif isinstance(action, CreateObject):
            self._create(action.manifest)
        elif isinstance(action, DeleteObject):
            self._delete(action.key)
        elif isinstance(action, PatchNode):
            self._patch_node(action)

    def _observed(self, manifest: Manifest) -> ObjectState:
        key, states = key_of(manifest), []

        def attempt() -> bool:
            live = self.get(key)
            if live is None:
                states.append(ObjectState(None, None))
                return True
            sent = _with_live_replicas(manifest, live)
            applied = self._apply_patch(sent, {"dryRun": "All"})
            pruned = api_fields.foreseen(live, applied, sent)
            if pruned != applied:
                # Only the server knows which of the fields that would go it then sets to a default.
                reply = self._send("PUT", self._known_path(key), {"dryRun": "All", "fieldManager": api_fields.MANAGER}, pruned)
                if reply.status == 409:
                    return False
                applied = self._body(reply, str(key), "applied")
            states.append(ObjectState(live, applied))
            return True

        self._until(attempt, key)
        return states[0]

    def _apply_object(self, manifest: Manifest) -> None:
        def attempt() -> bool:
            live = self.get(key_of(manifest))
            if live is not None:
                owners = api_fields.taken_over(live)
                if owners is not None and not self._hand_over(manifest, live, owners):
                    return False
            self._apply_patch(manifest if live is None else _with_live_replicas(manifest, live), {})
            return True

        self._until(attempt, key_of(manifest))

    def _hand_over(self, manifest: Manifest, live: Manifest, owners: Any) -> bool:
        """Make kubeadm's fields ours, so that those which we leave out go away; False when somebody wrote in between."""
        key = key_of(manifest)
        patch = [
            {"op": "replace", "path": "/metadata/managedFields", "value": owners},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        ]
        reply = self._send("PATCH", self._known_path(key), {"fieldManager": api_fields.MANAGER}, patch, _JSON_PATCH)
        if reply.status in (404, 409):
            return False
        self._body(reply, str(key), "taken over from kubeadm")
        return True

    def _apply_patch(self, manifest: Manifest, query: Mapping[str, str]) -> Manifest:
        key = key_of(manifest)
        asked = {"fieldManager": api_fields.MANAGER, "force": "true", **query}
        return self._body(self._send("PATCH", self._known_path(key), asked, manifest, _APPLY_PATCH), str(key), "applied")

    def _create(self, manifest: Manifest) -> None:
        key = key_of(manifest)
        path = self._known_path(key._replace(name=""))
        reply = self._send("POST", path, {"fieldManager": api_fields.MANAGER}, manifest)
        if reply.status == 409:
            raise Unusable(str(key), "it is there already, and whoever made it keeps it", "Choose another name, or delete it first")
        self._body(reply, str(key), "created")

    def _delete(self, key: ObjectKey) -> None:
        path = self._path(key)
        if path is None:
            return
        reply = self._send("DELETE", path, {"propagationPolicy": "Background"})
        if reply.status != 404:
            self._body(reply, str(key), "deleted")

    def _patch_node(self, action: PatchNode) -> None:
        key = ObjectKey("v1", "Node", "", action.name)

        def attempt() -> bool:
            node = self.get(key)
            if node is None:
                return False
            patch = marks(node, action)
            if not patch:
                return True
            # Taints are one atomic list: the version makes sure that nobody's taint is lost between the read and this.
            patch.setdefault("metadata", {})["resourceVersion"] = node["metadata"]["resourceVersion"]
            reply = self._send("PATCH", self._known_path(key), {"fieldManager": api_fields.MANAGER}, patch, _MERGE_PATCH)
            if reply.status == 409:
                return False
            self._body(reply, str(key), "marked")
            return True

        self._until(attempt, key, "it did not register, or others kept writing it", "Look at the kubelet's log on that node, and run again")

    def _until(
        self,
        attempt: Callable[[], bool],
        key: ObjectKey,
        found: str = "others kept writing it at the same time",
        fix: str = "Find out which controller writes it, and run again",
    ) -> None:
        end = time.monotonic() + self._deadline
        while not attempt():
            if time.monotonic() > end:
                raise Unusable(str(key), f"{found} for {self._deadline:.0f} s", fix)
            time.sleep(PAUSE)

    def _path(self, key: ObjectKey) -> str | None:
        """Where an object lives, or the collection of its kind without a name; None when the server does not know the kind."""
        kinds = self._kinds.get(key.api_version) or self._discover(key.api_version)
        found = kinds.get(key.kind)
        if found is None:
            return None
        plural, namespaced = found
        base = f"/api/{key.api_version}" if "/" not in key.api_version else f"/apis/{key.api_version}"
        middle = f"/namespaces/{quote(key.namespace or 'default')}" if namespaced and (key.namespace or key.name) else ""
        return base + middle + f"/{plural}" + (f"/{quote(key.name)}" if key.name else "")

    def _known_path(self, key: ObjectKey) -> str:
        """The same, waiting for a kind that an object applied just before may be about to define."""
        found: list[str] = []

        def attempt() -> bool:
            if key.kind not in self._kinds.get(key.api_version, {}):
                self._kinds.pop(key.api_version, None)
            path = self._path(key)
            found.extend([path] if path else [])
            return bool(path)

        self._until(attempt, key, f"the API server knew no kind {key.kind} of {key.api_version}", "Install what defines it, or correct it")
        return found[0]

    def _discover(self, api_version: str) -> dict[str, tuple[str, bool]]:
        reply = self._send("GET", f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}")
        if reply.status == 404:
            return {}
        resources = self._body(reply, f"API {api_version}", "listed").get("resources") or ()
        kinds = {each["kind"]: (each["name"], bool(each.get("namespaced"))) for each in resources if "/" not in each["name"]}
        self._kinds[api_version] = kinds
        return kinds

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        alone: bool = False,
    ) -> Reply:
        """Ask; what admin.conf may not even look at, because its binding has yet to be made, super-admin.conf looks at."""
        if self._transport is None:
            self._transport = self._connected(self._kubeconfig)
        reply = self._answer(self._transport, method, path, query, body, content_type)
        looking = method == "GET" or "dryRun" in (query or {})
        if reply.status != 403 or alone or not looking or self._kubeconfig != ADMIN or not self._files.exists(SUPER_ADMIN):
            return reply
        if self._stand_in is None:
            self._stand_in = self._connected(SUPER_ADMIN)
        return self._answer(self._stand_in, method, path, query, body, content_type)

    def _connected(self, kubeconfig: str) -> Transport:
        return Transport(api_credentials.load(self._files, kubeconfig), kubeconfig, self._server)

    def _answer(self, transport: Transport, method: str, path: str, query: Mapping[str, str] | None, body: Any, content_type: str) -> Reply:
        """Ask until there is an answer that a moment's patience would not change."""
        # Who was silent for so long once is not waited for again: a survey asks for many phases.
        end = time.monotonic() + (0 if self._given_up else self._deadline)
        while True:
            try:
                reply = transport.send(method, path, query, body, content_type)
                if not _passes(reply) or time.monotonic() > end:
                    return reply
            except NoAnswer as silence:
                if time.monotonic() > end:
                    self._given_up = True
                    raise Unusable(
                        f"API server {transport.server}, with {self._kubeconfig}",
                        f"it does not answer: {silence}",
                        "See that kube-apiserver runs on its host (crictl ps -a), then run again",
                    ) from None
            time.sleep(PAUSE)

    def _body(self, reply: Reply, what: str, done: str) -> Manifest:
        """The body of a good reply; a refusal becomes an error with the server's reason."""
        if reply.good:
            return reply.body
        if reply.status == 401:
            found, fix = f"the API server does not accept the credentials of {self._kubeconfig}", "Renew the file with the kubeconfig phase"
        elif reply.status == 403:
            found, fix = f"it could not be {done}: {reply.message}", f"Give the user of {self._kubeconfig} the right to do so"
        else:
            # What the server says of a Secret may quote from it.
            said = reply.reason or f"status {reply.status}" if what.startswith("Secret ") else reply.message
            found, fix = f"it could not be {done}: {said}", "Correct what the API server objects to, and run again"
        raise Unusable(what, found, fix)


def _passes(reply: Reply) -> bool:
    return reply.status in _PASSING or (reply.status == 500 and any(sign in reply.message for sign in _ETCD_TROUBLE))


def _with_live_replicas(manifest: Manifest, live: Manifest) -> Manifest:
    """How many replicas run is for whoever scales them; a manifest says it only once."""
    if manifest.get("kind") not in _SCALED or "replicas" not in (manifest.get("spec") or {}):
        return manifest
    count = (live.get("spec") or {}).get("replicas", manifest["spec"]["replicas"])
    return {**manifest, "spec": {**manifest["spec"], "replicas": count}}
