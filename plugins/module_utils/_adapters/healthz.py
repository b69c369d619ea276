# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One question to a health endpoint of this host; no library is needed but the standard one."""

from __future__ import annotations

import http.client
import socket
import ssl
from urllib.parse import urlsplit

_TRY_SECONDS = 5.0


def answer_of(url: str) -> str:
    """Ask without looking at who answers: on this host, and nothing is told to whoever that is. Nothing means healthy."""
    where = urlsplit(url)
    host, port = where.hostname or "", where.port
    connection = http.client.HTTPConnection(host, port, timeout=_TRY_SECONDS)
    if where.scheme == "https":
        # Not the default context: reading the system's authorities, which none of these has, takes longer than the answer.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, port, timeout=_TRY_SECONDS, context=context)
    try:
        connection.request("GET", where.path)
        return judged(connection.getresponse().status)
    except ConnectionRefusedError:
        return "connection refused"
    except (TimeoutError, socket.timeout):
        return "no answer in time"
    except (OSError, http.client.HTTPException) as error:
        return str(getattr(error, "strerror", "") or type(error).__name__)
    finally:
        connection.close()


def judged(status: int) -> str:
    """Say what is wrong with a status, or nothing."""
    return "" if status == 200 else f"it answers with status {status}"
