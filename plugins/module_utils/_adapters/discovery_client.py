# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks servers that may be anybody: one short request over TLS, cut off when it takes too long or gets too much."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from contextlib import suppress
from threading import Event, Timer
from typing import Callable
from urllib.parse import urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_transport import load_pair
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.discovery import (
    ANYBODY,
    AUTHORITY,
    HOST,
    Answer,
    DiscoverWithToken,
    Question,
)

# The whole of one try, however little at a time comes in.
_TRY_SECONDS = 10.0
# kubeadm looks every five seconds; a signature is there a moment after its token.
_PAUSE_SECONDS = 0.25
# More than etcd lets any object have.
_LONGEST = 4 * 1024 * 1024
# X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED.
_DATES = (9, 10)
# X509_V_FLAG_PARTIAL_CHAIN, which older versions of the ssl module have no name for.
_PARTIAL_CHAIN = 0x80000


class DiscoveryClient:
    """Talks to API servers before they are known, and fetches discovery files; nothing is taken from the environment."""

    applies = (DiscoverWithToken,)

    def apply(self, action: Action) -> None:
        """Refuse what was planned without a token."""
        raise Unusable(
            "token",
            "this host has not joined yet, and there is neither a token nor a discovery file to find the cluster with",
            "Give a token with ca_cert_hashes and api_server_endpoint, or JoinConfiguration.discovery in the documents",
        )

    def poll(self, question: Question, wanting: Callable[[Answer], str], seconds: float) -> tuple[Answer, str]:
        """Ask until nothing is wanting or the time is up; give the last answer and what it still lacks."""
        end = time.monotonic() + seconds
        while True:
            answer = self.ask(question, min(_TRY_SECONDS, max(1.0, end - time.monotonic())))
            missing = wanting(answer)
            if not missing or time.monotonic() + _PAUSE_SECONDS >= end:
                return answer, missing
            time.sleep(_PAUSE_SECONDS)

    def ask(self, question: Question, seconds: float = _TRY_SECONDS) -> Answer:
        """Ask once; what goes wrong is part of the answer."""
        try:
            parts = urlsplit(question.url)
            host, port = parts.hostname or "", parts.port or 443
            context = _context(question)
        except (ssl.SSLError, ValueError, OSError):
            return Answer(problem="its address or the certificates for it cannot be used")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            plain = socket.create_connection((host, port), timeout=seconds)
        except (OSError, UnicodeError) as error:
            return _failed(error)
        with plain, _Watch(plain, seconds) as watch:
            try:
                # An answer that ends without TLS having said so may have been cut short by anybody.
                name = question.server_name or host
                with context.wrap_socket(plain, server_hostname=name, suppress_ragged_eofs=False) as secured:
                    answer = _exchange(secured, host, port, target, question.token)
                return _SLOW if watch.fired else answer
            except (OSError, ValueError, http.client.HTTPException) as error:
                return _SLOW if watch.fired else _failed(error)


class _Watch:
    """Cuts a connection off after a time: a timeout of the socket would begin anew with every byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        # A handle of its own: TLS takes the other one over.
        self._handle = connection.dup()
        self._fired = Event()
        self._timer = Timer(seconds, self._cut)
        self._timer.daemon = True

    @property
    def fired(self) -> bool:
        """Whether the time was up."""
        return self._fired.is_set()

    def __enter__(self) -> _Watch:
        self._timer.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()
        self._timer.join()
        self._handle.close()

    def _cut(self) -> None:
        self._fired.set()
        with suppress(OSError):
            self._handle.shutdown(socket.SHUT_RDWR)


_SLOW = Answer(problem="no answer in time", passing=True)


def _exchange(secured: ssl.SSLSocket, host: str, port: int, target: str, token: str) -> Answer:
    connection = http.client.HTTPSConnection(host, port)
    connection.sock = secured
    headers = {"Accept": "application/json, */*", "User-Agent": "kubephase", "Connection": "close"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("GET", target, headers=headers)
    response = connection.getresponse()
    body = response.read(_LONGEST + 1)
    if len(body) > _LONGEST:
        return Answer(problem=f"it answers with more than {_LONGEST // 1024 // 1024} MiB")
    if response.length:
        return Answer(problem="the connection was closed in the middle of the answer", passing=True)
    return Answer(response.status, body)


def _failed(error: Exception) -> Answer:
    """Tell what went wrong, and whether a server that is starting, or a load balancer before it, may be the cause."""
    if isinstance(error, ssl.SSLCertVerificationError):
        clock = "; is the clock of this host right?" if error.verify_code in _DATES else ""
        return Answer(problem=f"its certificate does not fit: {error.verify_message}{clock}")
    if isinstance(error, ConnectionRefusedError):
        return Answer(problem="connection refused", passing=True)
    if isinstance(error, (TimeoutError, socket.timeout)):
        return _SLOW
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionError, http.client.IncompleteRead)):
        return Answer(problem="the connection was closed", passing=True)
    if isinstance(error, ssl.SSLError):
        reason = str(error.reason or "")
        if reason == "UNEXPECTED_EOF_WHILE_READING":
            # What later Pythons have an exception for.
            return Answer(problem="the connection was closed", passing=True)
        return Answer(problem=f"TLS failed ({reason or 'no reason given'})", passing="ALERT" in reason)
    if isinstance(error, (http.client.HTTPException, ValueError)) and not isinstance(error, UnicodeError):
        return Answer(problem="it does not answer as an HTTP server does")
    return Answer(problem=str(getattr(error, "strerror", "") or "there is no such host"), passing=not isinstance(error, UnicodeError))


def _context(question: Question) -> ssl.SSLContext:
    context = ssl.create_default_context() if question.trust == HOST else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.9 lets an answer that was cut short pass for a whole one; later ones do not.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    if question.trust == ANYBODY:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif question.trust == AUTHORITY:
        # A certificate that kubeadm made has no authority key identifier in some releases, which strict checking refuses;
        # and an authority need not be a root to be trusted.
        context.verify_flags = ssl.VerifyFlags((context.verify_flags & ~getattr(ssl, "VERIFY_X509_STRICT", 0)) | _PARTIAL_CHAIN)
        context.load_verify_locations(cadata=question.authority)
    if question.certificate:
        load_pair(context, question.certificate, question.key)
    return context
