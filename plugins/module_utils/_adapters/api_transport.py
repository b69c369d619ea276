# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One connection to an API server: JSON over TLS, with nothing taken from the environment.

The kubernetes library is not used for it: importing it takes a second and 50 MB on a node, in each module call, and what
is needed of it here is a request with a client certificate.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_credentials import Credentials
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

_SECONDS = 15.0
_AGENT = "kubephase"


class NoAnswer(Exception):
    """The server did not answer; the text says how, without an address."""


@dataclass(frozen=True)
class Reply:
    """What the server said."""

    status: int
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def good(self) -> bool:
        """Whether it did what was asked."""
        return 200 <= self.status < 300

    @property
    def reason(self) -> str:
        """The machine-readable reason of a refusal."""
        return str(self.body.get("reason") or "")

    @property
    def message(self) -> str:
        """The server's own words about a refusal."""
        return str(self.body.get("message") or f"status {self.status}")


class Transport:
    """A connection that is kept open between requests, and made again when the server closed it."""

    def __init__(self, credentials: Credentials, source: str, server: str = "") -> None:
        self.server = server or credentials.server
        self._source = source
        self._token = credentials.token
        parts = urlsplit(self.server)
        try:
            port = parts.port or 443
        except ValueError:
            raise Unusable(source, "its server has no usable port", "Mend the server's URL in it") from None
        self._prefix = parts.path.rstrip("/")
        self._context = _context(credentials, source)
        self._connection = http.client.HTTPSConnection(parts.hostname or "", port, timeout=_SECONDS, context=self._context)

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Reply:
        """Send one request; NoAnswer when nobody is there, Unusable when it is not the server that we trust."""
        headers = {"Accept": "application/json", "User-Agent": _AGENT}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        payload = None
        if body is not None:
            headers["Content-Type"] = content_type
            payload = json.dumps(body).encode()
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        idle = self._connection.sock is not None
        try:
            return self._exchange(method, target, payload, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self._connection.close()
            if not idle:
                raise NoAnswer(told(error)) from None
            # A connection that was left open may have been closed by the server meanwhile; that says nothing about it.
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            raise Unusable(
                f"{self.server}, as {self._source} names it",
                f"its certificate does not fit: {error.verify_message}",
                "The file belongs to another cluster, or the certificate lacks this name: run the certs phase",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NoAnswer(told(error)) from None
        try:
            return self._exchange(method, target, payload, headers)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NoAnswer(told(error)) from None

    def _exchange(self, method: str, target: str, payload: bytes | None, headers: Mapping[str, str]) -> Reply:
        self._connection.request(method, target, body=payload, headers=dict(headers))
        response = self._connection.getresponse()
        content = response.read()
        try:
            body = json.loads(content) if content else {}
        except ValueError:
            body = {"message": content[:200].decode(errors="replace")}
        return Reply(response.status, body if isinstance(body, dict) else {})


def told(error: Exception) -> str:
    """Say in a few words why a server could not be talked to."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, (TimeoutError, socket.timeout)):
        return "no answer in time"
    if isinstance(error, (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)):
        return "the connection was closed"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason})"
    return str(getattr(error, "strerror", "") or type(error).__name__)


def _context(credentials: Credentials, source: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A certificate that kubeadm made has no authority key identifier in some releases, which strict checking refuses.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    try:
        context.load_verify_locations(cadata=credentials.authority)
        if credentials.certificate:
            load_pair(context, credentials.certificate, credentials.key)
    except (ssl.SSLError, ValueError):
        found = "its certificates or its key cannot be read"
        raise Unusable(source, found, "Run the kubeconfig phase, or restore the file from a backup") from None
    return context


def load_pair(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Hand the client certificate to the library, which takes it from a file only: one in memory, never on disk."""
    descriptor = os.memfd_create("kubephase", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, f"{certificate}\n{key}\n".encode())
        # With a password given, an encrypted key is refused instead of asked about on a terminal.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password="")
    finally:
        os.close(descriptor)
