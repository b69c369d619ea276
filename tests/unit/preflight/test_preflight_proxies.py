# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which connections would go through a proxy, judged as Go's HTTP client does."""

from __future__ import annotations

from typing import Any

import pytest
from unit.preflight.preflight_cases import ADDRESS, documents, judged, observed, outcomes

from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.proxies import proxy_for

PROXY = {"https_proxy": "http://jane:canary@proxy.test:3128"}


@pytest.mark.parametrize(
    ("host", "exceptions", "proxied"),
    [
        ("192.0.2.10", "", True),
        ("192.0.2.10", "*", False),
        ("192.0.2.10", "192.0.2.10", False),
        ("192.0.2.10", "192.0.2.10:443", False),
        ("192.0.2.10", "192.0.2.10:6443", True),
        ("192.0.2.10", "192.0.2.0/24", False),
        ("192.0.2.10", " 198.51.100.0/24 , 192.0.2.0/28 ", False),
        ("192.0.2.10", "2.0.0.0/8,example.test", True),
        ("192.0.2.10", "2.10", False),  # a domain to Go, and the end of the address
        ("2001:db8::1", "2001:db8::/32", False),
        ("2001:db8::1", "[2001:db8::1]:443", False),
        ("2001:db8::1", "2001:db8::2", True),
        ("api.example.test", "example.test", False),
        ("example.test", "example.test", False),
        ("example.test", ".example.test", True),
        ("api.example.test", ".example.test", False),
        ("api.example.test", "*.EXAMPLE.test", False),
        ("myexample.test", "example.test", True),
        ("127.0.0.1", "", False),
        ("localhost", "", False),
    ],
)
def test_exceptions(host: str, exceptions: str, proxied: bool) -> None:
    assert proxy_for(host, {**PROXY, "no_proxy": exceptions}) == ("proxy.test:3128" if proxied else "")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("proxy.test:8080", "proxy.test:8080"),
        ("https://proxy.test", "proxy.test"),
        ("http://u:can/ary@p:8/x", "p:8"),
        ("http://u:canary@", "(without a name)"),
    ],
)
def test_a_proxy_is_shown_without_its_password(given: str, shown: str) -> None:
    assert proxy_for("192.0.2.10", {"https_proxy": given}) == shown


def test_warnings_name_what_to_except() -> None:
    docs = documents(cluster={"networking": {"podSubnet": "10.244.0.0/16"}})
    seen = observed(docs, {"proxies": PROXY})
    assert outcomes(docs, seen) == {"HTTPProxy": "warned", "HTTPProxyCIDR": "warned"}
    checks, plan = judged(docs, seen)
    assert f"https://{ADDRESS}" in checks["HTTPProxy"]["found"]
    assert all(network in checks["HTTPProxyCIDR"]["found"] for network in ("10.96.0.0/12", "10.244.0.0/16"))
    assert plan is not None
    assert "canary" not in repr(plan) + repr(seen)
    excepted = {**PROXY, "no_proxy": "10.96.0.0/12,192.0.2.0/24"}
    assert outcomes(docs, observed(docs, {"proxies": excepted})) == {"HTTPProxyCIDR": "warned"}


@pytest.mark.parametrize(("mode", "hosts"), [("join", {"api.test"}), ("join_control_plane", {"api.test", ADDRESS}), ("init", {ADDRESS})])
def test_a_join_looks_at_the_server_that_it_asks(mode: str, hosts: set[str]) -> None:
    token = {"token": "abcdef.0123456789abcdef", "apiServerEndpoint": "api.test:6443", "unsafeSkipCAVerification": True}
    control_plane: dict[str, Any] = {"controlPlane": {}} if mode == "join_control_plane" else {}
    docs = documents(join={"discovery": {"bootstrapToken": token}, **control_plane}) if mode != "init" else documents()
    checks, _plan = judged(docs, observed(docs, {"proxies": PROXY}), mode=mode)
    found = {host for host in ("api.test", ADDRESS) if f"https://{host}" in checks["HTTPProxy"]["found"]}
    assert found == hosts


def test_the_variables_of_the_control_plane_go_before_those_of_this_run() -> None:
    docs = documents()
    seen = observed(docs, {"proxies": PROXY})
    assert outcomes(docs, seen, proxy_env={}) == {}
    given = {"HTTPS_PROXY": "http://other.test:1", "NO_PROXY": ADDRESS}
    checks, _plan = judged(docs, seen, proxy_env=given)
    assert (checks["HTTPProxy"]["outcome"], checks["HTTPProxyCIDR"]["outcome"]) == ("passed", "warned")
    assert "other.test:1" in checks["HTTPProxyCIDR"]["found"]
