# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The version of an etcd that somebody else runs, asked over its client port."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

_SECONDS = 10
_TRIES = 3
_PAUSE = 2


class EtcdVersions:
    """Asks external members what they run."""

    def ask(self, endpoints: tuple[str, ...], authority: str, certificate: str, key: str) -> Mapping[str, str]:
        """Give each endpoint's version, or what went wrong after an exclamation mark."""
        try:
            context = _context(authority, certificate, key)
        except (OSError, ssl.SSLError) as error:
            return dict.fromkeys(endpoints, f"!its certificates cannot be loaded: {error.strerror or error}")
        with ThreadPoolExecutor(max(1, len(endpoints))) as pool:
            return dict(zip(endpoints, pool.map(lambda endpoint: _version(endpoint, context), endpoints)))


def _context(authority: str, certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority or None)
    if certificate and key:
        context.load_cert_chain(certificate, key)
    return context


def _version(endpoint: str, context: ssl.SSLContext) -> str:
    problem = ""
    # etcd is inside the machine room; a proxy of the environment leads elsewhere.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        try:
            with opener.open(f"{endpoint.rstrip('/')}/version", timeout=_SECONDS) as answer:
                return str(json.loads(answer.read(65536)).get("etcdserver", ""))
        except urllib.error.URLError as error:
            problem = f"!it does not answer: {error.reason}"
        except (OSError, ValueError, AttributeError) as error:
            problem = f"!it does not answer as etcd does: {error}"
    return problem[:300]
