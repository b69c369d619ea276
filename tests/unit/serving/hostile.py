# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that must never be approved; the same table is judged here and filed with a real API server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from cryptography import x509

from ansible_collections.kubephase.cluster.tests.unit.serving.filed import (
    RSA_USAGES,
    USAGES,
    csr,
    with_second_extensions,
    with_spoiled_signature,
)

LEAVE, REFUSE = "leave", "refuse"


@dataclass(frozen=True)
class Hostile:
    """One of them, how it is filed, and what is to be said of it."""

    name: str
    pem: Callable[[], bytes]
    decision: str
    reason: str
    user: str = "system:node:worker1"
    groups: Sequence[str] = ("system:nodes", "system:authenticated")
    usages: Sequence[str] = USAGES
    # What a real API server does not even take.
    refused_by_server: bool = field(default=False)


def asks(**given: Any) -> Callable[[], bytes]:
    return lambda: csr(**given)


def _two_blocks() -> bytes:
    return csr() + csr(dns=["worker2"])


def _mail() -> bytes:
    return csr(others=[x509.RFC822Name("root@worker1.example.test")])


def _uri() -> bytes:
    return csr(others=[x509.UniformResourceIdentifier("spiffe://cluster/ns/kube-system")])


HOSTILE = (
    Hostile("another node's name", asks(dns=["worker1", "worker2"]), REFUSE, "worker2, which the inventory gives to worker2"),
    Hostile("another node's name in capitals", asks(dns=["WORKER2"]), REFUSE, "gives to worker2"),
    Hostile("another node's name with a last dot", asks(dns=["worker2.example.test."]), REFUSE, "gives to worker2"),
    Hostile("another node's address", asks(ips=["192.0.2.21", "192.0.2.22"]), REFUSE, "192.0.2.22, which the inventory gives to worker2"),
    Hostile("another node's address inside IPv6", asks(ips=["::ffff:192.0.2.22"]), REFUSE, "192.0.2.22, which"),
    Hostile("a control plane's address", asks(ips=["192.0.2.10"]), REFUSE, "gives to cp1"),
    Hostile("the name of the API server", asks(dns=["kubernetes.default.svc"]), REFUSE, "by which the API server is known"),
    Hostile("the address of the API's Service", asks(ips=["10.96.0.1"]), REFUSE, "by which the API server is known"),
    Hostile("common name of another node", asks(cn="system:node:worker2"), REFUSE, "claims to be the node worker2"),
    Hostile(
        "a bootstrap token claims a node's name",
        asks(),
        REFUSE,
        "claims to be the node worker1",
        "system:bootstrap:abcdef",
        ["system:bootstrappers"],
    ),
    Hostile("a node outside the inventory claims a name", asks(cn="system:node:evil"), REFUSE, "gives to worker1", user="system:node:evil"),
    Hostile("an extra DNS name", asks(dns=["worker1", "registry.example.test"]), LEAVE, "does not give registry.example.test to worker1"),
    Hostile("a wildcard", asks(dns=["*.example.test"]), LEAVE, r"does not give \*.example.test"),
    Hostile("localhost", asks(dns=["localhost"]), LEAVE, "does not give localhost"),
    Hostile("a loopback address", asks(ips=["127.0.0.1"]), LEAVE, "does not give 127.0.0.1"),
    Hostile("an extra address", asks(ips=["192.0.2.21", "198.51.100.7"]), LEAVE, "does not give 198.51.100.7"),
    Hostile("beside an allowed network", asks(ips=["203.0.113.16"]), LEAVE, "does not give 203.0.113.16"),
    Hostile("what two nodes share", asks(ips=["172.17.0.1"]), LEAVE, "to worker1 and worker2, so that it proves none"),
    Hostile("a name with a line break", asks(dns=["worker1\nworker2"]), LEAVE, "cannot be printed"),
    Hostile("no names", asks(dns=(), ips=()), LEAVE, "names no host and no address"),
    Hostile("a URI", _uri, LEAVE, "a name of the kind UniformResourceIdentifier"),
    Hostile("a mail address", _mail, LEAVE, "a name of the kind RFC822Name"),
    Hostile("another organisation", asks(organizations=["system:masters"]), LEAVE, "organisation is not system:nodes alone"),
    Hostile("one organisation more", asks(organizations=["system:nodes", "system:masters"]), LEAVE, "system:nodes alone"),
    Hostile("no organisation", asks(organizations=()), LEAVE, "system:nodes alone"),
    Hostile("a unit in the subject", asks(unit="ops"), LEAVE, "more in its subject"),
    Hostile("two common names", asks(cn=["system:node:worker1", "system:node:worker2"]), LEAVE, "2 common names"),
    Hostile("no node's common name", asks(cn="admin", dns=["worker1"]), LEAVE, "common name is not system:node:worker1"),
    Hostile("common name of an unknown node", asks(cn="system:node:evil"), LEAVE, "common name is not system:node:worker1"),
    Hostile("client auth", asks(), LEAVE, "usages are client auth", usages=["digital signature", "client auth"]),
    Hostile("client auth besides", asks(), LEAVE, "usages are client auth, digital", usages=[*USAGES, "client auth"]),
    Hostile("server auth alone", asks(), LEAVE, "usages are server auth", usages=["server auth"]),
    Hostile("cert sign", asks(), LEAVE, "usages are cert sign", usages=[*USAGES, "cert sign"]),
    Hostile("RSA without encipherment", asks(kind="rsa-2048"), LEAVE, "usages are digital signature, server auth"),
    Hostile("RSA of 1024 bits", asks(kind="rsa-1024"), LEAVE, "RSA key has 1024 bits", usages=RSA_USAGES),
    Hostile("ECDSA of 224 bits", asks(kind="ecdsa-224"), LEAVE, "ECDSA key has 224 bits"),
    Hostile("a curve of somebody's own", asks(kind="ecdsa-256k1"), LEAVE, "secp256k1", refused_by_server=True),
    Hostile("a key that no kubelet makes", asks(kind="ed25519"), LEAVE, "Ed25519"),
    Hostile("a CA", asks(authority=True), LEAVE, "the extension 2.5.29.19"),
    Hostile("client auth inside the request", asks(client=True), LEAVE, "the extension 2.5.29.37"),
    Hostile("a challenge password", asks(challenge=True), LEAVE, "other attributes"),
    Hostile(
        "two lists of extensions",
        lambda: with_second_extensions(csr(), csr(dns=["worker2"])),
        LEAVE,
        "other attributes",
        refused_by_server=True,
    ),
    Hostile("two requests in one", _two_blocks, LEAVE, "not one certificate request"),
    Hostile("text before the request", lambda: b"worker1\n" + csr(), LEAVE, "not one certificate request"),
    Hostile(
        "a signature of somebody else's", lambda: with_spoiled_signature(csr()), LEAVE, "proven to hold the key", refused_by_server=True
    ),
    Hostile("no request at all", lambda: b"worker1", LEAVE, "not one certificate request", refused_by_server=True),
    Hostile("an unknown node", asks(cn="system:node:x", dns=["x"], ips=["198.51.100.9"]), LEAVE, "no node x", user="system:node:x"),
    Hostile("an administrator", asks(cn="system:node:x", dns=["x"], ips=["198.51.100.9"]), LEAVE, "not a node", user="kubernetes-admin"),
    Hostile("a node's user without its group", asks(), LEAVE, "not in the group system:nodes", groups=["system:authenticated"]),
)
