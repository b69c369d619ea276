# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The TLS bootstrap of the kubelet on this host: waited for, and explained when it does not come about."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Iterable
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import api_credentials
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import Api
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import Reply
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.healthz import answer_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.bootstrap import AwaitBootstrap, names, user_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService

KUBELET = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"
_SERVICE = "kubelet"
_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
_EXPLAINING_SECONDS = 3.0
_LOG_LINES = 12
_LOG_WIDTH = 300
# A kubelet without a cluster says the same many times a second; what differs is to be seen.
_LINES_WITH_REPEATS = 600
_STAMP = re.compile(r"^[IWEF]\d{4} \S+\s+\d+ ")


class NodeApi(Api):
    """The API as the kubelet of this host is known to it."""

    def __init__(self, files: Any, kubeconfig: str = KUBELET, server: str = "", deadline: float | None = None) -> None:
        super().__init__(files, kubeconfig, server, deadline)

    def admitted(self) -> bool:
        """Say whether the kubelet has its certificate: only then does its kubeconfig lead anywhere."""
        return api_credentials.usable(self._files, self._kubeconfig)


class BootstrapApi(Api):
    """The API as the bootstrap credentials lead to it; nothing is written with them."""

    applies: tuple[type[Action], ...] = ()

    def __init__(self, files: Any, kubeconfig: str = BOOTSTRAP, server: str = "", deadline: float | None = None) -> None:
        super().__init__(files, kubeconfig, server, deadline)

    def _body(self, reply: Reply, what: str, done: str) -> Manifest:
        if reply.status == 401:
            found = "the API server does not accept its credentials: a token expires, and may be deleted"
            raise Unusable(self._kubeconfig, found, "Join with a token that is valid: discovery then writes the file anew")
        return super()._body(reply, what, done)


class TlsBootstrap:
    """The kubelet of this host on its way into the cluster."""

    applies = (AwaitBootstrap,)

    def __init__(self, files: Any, systemd: Any) -> None:
        self._files = files
        self._systemd = systemd

    def apply(self, action: Action) -> dict[str, Any]:
        """Wait for its health, then for its certificate."""
        if not isinstance(action, AwaitBootstrap):
            raise TypeError(type(action).__name__)
        begun = time.monotonic()
        if action.health_url:
            said = _until(lambda: answer_of(action.health_url), action.health_seconds, action.poll_seconds)
            if said:
                raise self._explained(action.health_url, f"the kubelet is not healthy after {action.health_seconds:.0f} s: {said}", [])
        self._wake(action)
        if _until(lambda: self._missing(action.kubeconfig), action.seconds, action.poll_seconds):
            found = f"the kubelet has no certificate of the cluster after {action.seconds:.0f} s"
            raise self._explained(action.kubeconfig, found, self._requests(action))
        return {"bootstrap_seconds": round(time.monotonic() - begun, 3)}

    def _wake(self, action: AwaitBootstrap) -> None:
        """Start a kubelet anew whose server has just come: by itself it asks for a certificate, and registers, ever more rarely."""
        if not action.late_server_url or not self._missing(action.kubeconfig):
            return

        def absent() -> str:
            # One that has got its certificate has found its server, and would still register late.
            return self._missing(action.kubeconfig) and answer_of(action.late_server_url)

        if not _until(absent, action.seconds, action.poll_seconds):
            self._systemd.apply(RestartService(_SERVICE, health_url=action.health_url))

    def _missing(self, kubeconfig: str) -> str:
        return "" if api_credentials.usable(self._files, kubeconfig) else "it leads to no credentials"

    def _requests(self, action: AwaitBootstrap) -> list[str]:
        """Tell what became of the request for a certificate, as far as who asks for it may know."""
        api = BootstrapApi(self._files, action.bootstrap_kubeconfig, deadline=_EXPLAINING_SECONDS)
        try:
            listed = api.list("certificates.k8s.io/v1", "CertificateSigningRequest")
        except Unusable as problem:
            return [f"what became of its request cannot be seen: {problem.where}: {problem.found}"]
        own = [each for each in listed if _asks_for(each, user_of(action.node))]
        if not own:
            return [f"the cluster has no request for a certificate of {user_of(action.node)}"]
        newest = max(own, key=lambda each: str(each["metadata"].get("creationTimestamp") or ""))
        return [f"its request {newest['metadata']['name']} {_fate(newest)}"]

    def _explained(self, where: str, found: str, more: list[str]) -> Unusable:
        # What an earlier process complained about may be mended.
        since = self._systemd.state(_SERVICE).started or 0.0
        told = _told_once(self._systemd.journal(_SERVICE, _LINES_WITH_REPEATS, since))
        lines = [f"kubelet: {line[:_LOG_WIDTH]}" for line in told]
        return Unusable(where, "\n  ".join([found, *more, *lines]) + "\n", "Mend what keeps it from joining, and run again")


def _until(ask: Callable[[], str], seconds: float, pause: float) -> str:
    """Ask until nothing is wrong any more; what still is when the time is up is returned."""
    end = time.monotonic() + seconds
    while True:
        said = ask()
        if not said or time.monotonic() >= end:
            return said
        time.sleep(pause)


def _asks_for(request: Manifest, user: str) -> bool:
    spec = request.get("spec") or {}
    try:
        pem = base64.b64decode(str(spec.get("request") or ""))
    except (binascii.Error, ValueError):
        return False
    return spec.get("signerName") == _SIGNER and names(pem, user)


def _fate(request: Manifest) -> str:
    status = request.get("status") or {}
    if status.get("certificate"):
        return "was granted: the kubelet has yet to fetch its certificate"
    conditions = {str(each.get("type")): str(each.get("message") or "") for each in status.get("conditions") or ()}
    for kind in ("Denied", "Failed"):
        if kind in conditions:
            return f"has {'been denied' if kind == 'Denied' else 'failed'}: {conditions[kind] or 'no reason was given'}"
    if "Approved" in conditions:
        return "is approved, and nobody has signed it: look at kube-controller-manager, which holds the CA's key"
    return "waits for approval: look at kube-controller-manager, and at the binding kubeadm:node-autoapprove-bootstrap"


def _told_once(lines: Iterable[str]) -> list[str]:
    """The last lines of a log, each message once."""
    newest: dict[str, str] = {}
    for line in lines:
        told = _STAMP.sub("", line)
        # The same message comes with ever other numbers in what follows it.
        message = told.partition(" err=")[0]
        newest.pop(message, None)
        newest[message] = told
    return list(newest.values())[-_LOG_LINES:]
