# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet's certificate manager as tables: template, deadline, changed names, pauses, fates, figures, files."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._serving import figures
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import Fate, fate_of, server_state
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import (
    TemplateChange,
    lacking,
    next_rotation,
    on_template,
    pause,
    weakness,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.store import Store, must_be_links, selected, unfinished
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import (
    Template,
    expiration_seconds,
    template_of,
    usages,
)

START = datetime(2027, 1, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Leaf:
    common_name: str = "system:node:n"
    organizations: tuple[str, ...] = ("system:nodes",)
    dns_names: tuple[str, ...] = ("n",)
    ip_addresses: tuple[str, ...] = ("192.0.2.1",)
    not_before: datetime = START
    not_after: datetime = START + 100 * DAY


TEMPLATE = Template("system:node:n", ("system:nodes",), ("n",), ("192.0.2.1",))
GROWN = replace(TEMPLATE, ip_addresses=("192.0.2.1", "192.0.2.2"))


def addresses(*given: str) -> list[dict[str, str]]:
    return [dict(zip(("type", "address"), each.split("="))) for each in given]


@pytest.mark.parametrize(
    ("given", "dns", "ips"),
    [
        (["InternalIP=192.0.2.1", "Hostname=n"], ("n",), ("192.0.2.1",)),
        (["Hostname=192.0.2.9"], (), ("192.0.2.9",)),
        (["InternalIP=192.0.2.1", "ExternalIP=192.0.2.1", "Hostname=n", "InternalDNS=n"], ("n",), ("192.0.2.1",)),
        (["InternalIP=no address", "ExternalIP=2001:DB8::1"], (), ("2001:db8::1",)),
        (["InternalIP=192.0.2.10", "InternalIP=192.0.2.9", "Hostname=b", "ExternalDNS=a"], ("a", "b"), ("192.0.2.10", "192.0.2.9")),
        (["InternalIP=192.0.2.1", "InternalDNS=192.0.2.7"], ("192.0.2.7",), ("192.0.2.1",)),
        (["InternalIP=010.0.0.1"], (), ("10.0.0.1",)),
        (["InternalIP=::ffff:192.0.2.1"], (), ("192.0.2.1",)),
        (["InternalIP=192.0.2.1", "Hostname=", "Else=x"], (), ("192.0.2.1",)),
    ],
)
def test_names_of_a_template(given: list[str], dns: tuple[str, ...], ips: tuple[str, ...]) -> None:
    found = template_of("n", addresses(*given), needs_ip=True)
    assert found == Template("system:node:n", ("system:nodes",), dns, ips)


@pytest.mark.parametrize(
    ("given", "needs_ip", "there"),
    [
        ([], False, False),
        ([], True, False),
        (["Hostname=n"], False, True),
        (["Hostname=n"], True, False),
        (["InternalIP=x"], False, False),
        (["InternalIP=192.0.2.1"], True, True),
    ],
)
def test_without_addresses_there_is_no_template(given: list[str], needs_ip: bool, there: bool) -> None:
    assert (template_of("n", addresses(*given), needs_ip) is not None) is there


@pytest.mark.parametrize(
    ("rsa", "by_key", "enciphers"), [(True, True, True), (False, True, False), (True, False, True), (False, False, True)]
)
def test_usages_go_by_the_key(rsa: bool, by_key: bool, enciphers: bool) -> None:
    found = usages(rsa, by_key)
    assert ("key encipherment" in found) is enciphers
    assert {"digital signature", "server auth"} <= set(found)


def test_a_wanted_lifetime_in_seconds() -> None:
    assert expiration_seconds(None) is None
    assert expiration_seconds(timedelta(minutes=10, milliseconds=900)) == 600


@pytest.mark.parametrize(
    ("leaf", "template", "after", "drawn", "due", "reason"),
    [
        (None, TEMPLATE, 5, 0.5, 5, "there is no certificate"),
        (Leaf(), TEMPLATE, 5, 0.0, 70, "its life nears the end"),
        (Leaf(), TEMPLATE, 5, 0.5, 80, "its life nears the end"),
        (Leaf(), TEMPLATE, 95, 1.0, 90, "its life nears the end"),
        (Leaf(), TEMPLATE, 101, 0.5, 101, "it has expired"),
        (Leaf(), GROWN, 5, 0.5, 5, "it lacks the IP address 192.0.2.2"),
        (Leaf(common_name="x"), TEMPLATE, 5, 0.5, 5, "its common name is x, not system:node:n"),
        (Leaf(dns_names=()), TEMPLATE, 5, 0.5, 5, "it lacks the DNS name n"),
        (Leaf(organizations=()), TEMPLATE, 5, 0.5, 5, "it lacks the organisation system:nodes"),
        (Leaf(dns_names=("n", "more")), TEMPLATE, 5, 0.5, 80, "its life nears the end"),
        (Leaf(dns_names=()), None, 5, 0.5, 80, "its life nears the end"),
    ],
)
def test_when_the_next_one_is_asked_for(
    leaf: Leaf | None, template: Template | None, after: int, drawn: float, due: int, reason: str
) -> None:
    found = next_rotation(leaf, template, START + after * DAY, drawn)
    assert (found.due - START, found.reason) == (pytest.approx(due * DAY, abs=timedelta(seconds=1)), reason)


@pytest.mark.parametrize(
    ("leaf", "wanted", "requested", "waiting", "drop", "rotate"),
    [
        # The certificate has all that is wanted.
        (Leaf(), TEMPLATE, None, False, False, False),
        (Leaf(), TEMPLATE, GROWN, True, False, False),
        # An address came: nothing was asked yet, the right thing was asked, something else was asked.
        (Leaf(), GROWN, TEMPLATE, False, False, True),
        (Leaf(), GROWN, GROWN, True, False, False),
        (Leaf(), GROWN, TEMPLATE, True, True, True),
        (None, TEMPLATE, None, False, False, True),
        (None, TEMPLATE, TEMPLATE, True, False, False),
        # All addresses went: the request is for nothing, and there is none to make.
        (None, None, TEMPLATE, True, True, False),
        (None, None, None, False, False, False),
    ],
)
def test_changed_names(
    leaf: Leaf | None, wanted: Template | None, requested: Template | None, waiting: bool, drop: bool, rotate: bool
) -> None:
    assert on_template(leaf, wanted, requested, waiting) == TemplateChange(drop, rotate)


@pytest.mark.parametrize(
    ("failures", "least", "most"), [(1, 2, 2.2), (2, 4, 4.4), (3, 8, 8.8), (4, 16, 17.6), (5, 32, 32), (6, 32, 32), (99, 32, 32)]
)
def test_pauses_between_tries(failures: int, least: float, most: float) -> None:
    assert pause(failures, 0.0) == pytest.approx(least)
    assert pause(failures, 1.0) == pytest.approx(most)


@pytest.mark.parametrize(
    ("kind", "bits", "weak"),
    [("RSA", 2047, True), ("RSA", 2048, False), ("ECDSA", 255, True), ("ECDSA", 256, False), ("Ed25519", 256, True), ("DSA", 4096, True)],
)
def test_keys_that_are_too_weak(kind: str, bits: int, weak: bool) -> None:
    assert bool(weakness(kind, bits)) is weak


def request(uid: str = "u", certificate: bytes = b"", **conditions: str) -> dict[str, Any]:
    told = [{"type": kind, "reason": "R", "message": message} for kind, message in conditions.items()]
    return {"metadata": {"uid": uid}, "status": {"conditions": told, "certificate": base64.b64encode(certificate).decode()}}


@pytest.mark.parametrize(
    ("found", "minutes", "state", "failure"),
    [
        (request(), 0, "pending", False),
        (request(Approved="ok"), 14, "approved", False),
        (request(Approved="ok", certificate=b"pem"), 99, "issued", False),
        (request(certificate=b"pem"), 0, "pending", False),
        (request(Denied="no"), 0, "denied", True),
        (request(Approved="ok", Failed="broken"), 0, "failed", True),
        (request(Approved="ok", Denied="no", certificate=b"pem"), 0, "denied", True),
        (None, 0, "gone", True),
        (request(uid="other", Approved="ok", certificate=b"pem"), 0, "gone", True),
        (request(), 15, "late", True),
        (request(Approved="ok"), 15, "late", True),
    ],
)
def test_what_became_of_a_request(found: Any, minutes: int, state: str, failure: bool) -> None:
    fate = fate_of(found, "u", timedelta(minutes=minutes))
    assert (fate.state, fate.failure) == (state, failure)


def test_a_signed_request_hands_out_its_certificate() -> None:
    assert fate_of(request(Approved="", certificate=b"pem"), "u") == Fate("issued", "it was signed", b"pem")
    assert fate_of(request(Denied="not yours"), "u").message == "it was denied: R not yours"


@pytest.mark.parametrize(
    ("status", "reason", "causes", "state"),
    [
        (201, "", (), "well"),
        (401, "Unauthorized", (), "refused"),
        (401, "Unauthorized", ("UnexpectedServerResponse",), "refused"),
        (403, "Forbidden", (), "refused"),
        (404, "NotFound", (), "refused"),
        (404, "NotFound", ("UnexpectedServerResponse",), "unwell"),
        (409, "AlreadyExists", (), "unwell"),
        (500, "InternalError", (), "unwell"),
        (502, "", ("UnexpectedServerResponse",), "unwell"),
        (503, "ServiceUnavailable", (), "unwell"),
    ],
)
def test_what_an_error_says_of_the_server(status: int, reason: str, causes: tuple[str, ...], state: str) -> None:
    assert server_state(status, reason, causes) == state


@pytest.mark.parametrize(("after", "left"), [(timedelta(0), 8640000.0), (99.5 * DAY, 43200.0), (100 * DAY, 0.0), (101 * DAY, math.inf)])
def test_seconds_to_expiry(after: timedelta, left: float) -> None:
    assert figures.seconds_left(Leaf(), START + after) == left


def test_without_a_certificate_the_seconds_are_infinite() -> None:
    assert figures.number(figures.seconds_left(None, START)) == "+Inf"


def test_lifetimes_go_into_the_kubelets_buckets() -> None:
    assert figures.BUCKETS == (60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
    found = figures.Lifetimes().with_one(60).with_one(61).with_one(10**9)
    assert (found.counts[0], found.counts[1], found.counts[-1], found.total) == (1, 2, 2, 3)
    assert figures.lived(Leaf(), START + 80 * DAY) == 80 * 86400


def test_a_text_file_is_read_back_and_counted_on() -> None:
    one = figures.Lifetimes().with_one(100.5)
    written = figures.text(math.inf, one, 3)
    assert "kubelet_certificate_manager_server_ttl_seconds +Inf\n" in written
    assert 'kubelet_certificate_manager_server_rotation_seconds_bucket{le="3600"} 1\n' in written
    assert "kubelet_server_expiration_renew_errors 3\n" in written
    assert figures.read_back(written.splitlines()) == (one, 3)
    assert figures.read_back(["spoiled", "x y", f"{figures.ERRORS} NaN"]) == (figures.Lifetimes(), 0)


STORE = Store("/pki", "/tls.crt", "/tls.key")
CURRENT = "/pki/kubelet-server-current.pem"


@pytest.mark.parametrize(
    ("present", "pair"),
    [
        ([], None),
        ([CURRENT, "/tls.crt", "/tls.key"], (CURRENT, CURRENT)),
        (["/tls.crt", "/tls.key", "/pki/kubelet-server.crt", "/pki/kubelet-server.key"], ("/tls.crt", "/tls.key")),
        (["/tls.crt", "/pki/kubelet-server.crt", "/pki/kubelet-server.key"], ("/pki/kubelet-server.crt", "/pki/kubelet-server.key")),
        (["/tls.key", "/pki/kubelet-server.crt"], None),
    ],
)
def test_which_pair_is_loaded(present: list[str], pair: tuple[str, str] | None) -> None:
    assert selected(STORE, lambda path: path in present) == pair


def test_names_of_files() -> None:
    assert STORE.stored_at(datetime(2027, 3, 4, 5, 6, 7)) == "/pki/kubelet-server-2027-03-04-05-06-07.pem"
    assert (STORE.current, STORE.updated) == (CURRENT, "/pki/kubelet-server-updated.pem")


@pytest.mark.parametrize("path", ["/pki/kubelet-server-current.pem", "/pki/kubelet-server-updated.pem"])
def test_a_file_in_the_place_of_a_link_is_refused(path: str) -> None:
    with pytest.raises(Unusable, match="must be a symbolic link"):
        must_be_links(STORE, lambda each: each == path)
    must_be_links(STORE, lambda each: False)


@pytest.mark.parametrize(
    ("current", "updated", "left"), [(False, True, True), (True, True, False), (False, False, False), (True, False, False)]
)
def test_a_switch_that_was_interrupted(current: bool, updated: bool, left: bool) -> None:
    assert unfinished(STORE, lambda path: current, lambda path: updated) is left


def test_what_is_lacking_without_a_template() -> None:
    assert lacking(Leaf(common_name="x"), None) == ""
