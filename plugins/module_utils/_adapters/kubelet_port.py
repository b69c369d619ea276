# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What kubelets show to those who connect to them: whether their certificate is one of the cluster's."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import KubeletPlace, Serving

_SECONDS = 3.0
_AT_ONCE = 16


class KubeletPorts:
    """The ports of kubelets, each asked as the API server does that verifies them: by address, with the cluster's CA."""

    def look(self, places: Sequence[KubeletPlace], authority: bytes) -> tuple[Serving, ...]:
        """Connect to each of them, several at once."""
        if not places:
            return ()
        context = _context(authority)
        with ThreadPoolExecutor(min(_AT_ONCE, len(places))) as pool:
            return tuple(pool.map(lambda place: self._look(place, context), places))

    def connect(self, place: KubeletPlace) -> socket.socket:
        """Open a connection to a kubelet."""
        return socket.create_connection((place.address, place.port), _SECONDS)

    def _look(self, place: KubeletPlace, context: ssl.SSLContext) -> Serving:
        try:
            plain = self.connect(place)
            with plain, context.wrap_socket(plain, server_hostname=place.address) as connection:
                shown = connection.getpeercert() or {}
        except ssl.SSLCertVerificationError as error:
            return Serving(place.node, place.address, f"its certificate is not to be trusted: {error.verify_message}")
        except ssl.SSLError as error:
            # A kubelet that asks for its certificate and has none yet ends every handshake so.
            lacks = "INTERNAL_ERROR" in str(error.reason)
            return Serving(place.node, place.address, "it has no certificate yet" if lacks else f"TLS failed ({error.reason})")
        except OSError as error:
            told = "no answer in time" if isinstance(error, (TimeoutError, socket.timeout)) else error.strerror or type(error).__name__
            return Serving(place.node, place.address, f"it cannot be reached: {told}")
        until = time.gmtime(ssl.cert_time_to_seconds(str(shown["notAfter"])))
        return Serving(place.node, place.address, "", time.strftime("%Y-%m-%dT%H:%M:%SZ", until))


def _context(authority: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A certificate that kubeadm made has no authority key identifier in some releases, which strict checking refuses.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    try:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise Unusable("the cluster's CA", "its certificate cannot be read", "Restore ca.crt from a backup, and run again") from None
    return context
