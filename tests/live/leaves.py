# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that a cluster must not keep, made with the collection's own issuer and another clock or authority."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from live.node import Node

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile

PKI = "/etc/kubernetes/pki"
_ALGORITHM = "ECDSA-P256"


def expired(node: Node) -> None:
    """Replace a client certificate by one of the same authority that was good until yesterday."""
    now = datetime.now(timezone.utc)
    profile = Profile(
        "kube-apiserver-kubelet-client",
        organizations=("kubeadm:cluster-admins",),
        not_before=now - timedelta(days=366),
        not_after=now - timedelta(days=1),
        client=True,
    )
    authority = x509.load_pem_x509_certificate(node.read(f"{PKI}/ca.crt"))
    _plant(node, "apiserver-kubelet-client", profile, authority, load_pem_private_key(node.read(f"{PKI}/ca.key"), None))


def foreign(node: Node) -> None:
    """Replace a client certificate by one that an authority of the same name has signed, which is not ours."""
    now = datetime.now(timezone.utc)
    own = Profile("front-proxy-ca", not_before=now - timedelta(days=1), not_after=now + timedelta(days=30), authority=True)
    key = generate_key(_ALGORITHM)
    authority = sign(own, key.public_key(), None, key)
    leaf = replace(own, common_name="front-proxy-client", authority=False, client=True)
    _plant(node, "front-proxy-client", leaf, authority, key)


def _plant(node: Node, name: str, profile: Profile, authority: x509.Certificate, authority_key: object) -> None:
    key = generate_key(_ALGORITHM)
    certificate = sign(profile, key.public_key(), authority, authority_key)
    node.put(f"{PKI}/{name}.key", private_pem(key))
    node.put(f"{PKI}/{name}.crt", certificate.public_bytes(Encoding.PEM))


def fixed(node: Node) -> None:
    """Put the kubelet's certificate into its kubeconfig, where no rotation reaches it."""
    node.run(
        "pem=$(base64 -w0 /var/lib/kubelet/pki/kubelet-client-current.pem);"
        'sed -e "s|client-certificate: .*|client-certificate-data: $pem|" -e "s|client-key: .*|client-key-data: $pem|"'
        " /etc/kubernetes/kubelet.conf > /run/fixed; cat /run/fixed > /etc/kubernetes/kubelet.conf; rm /run/fixed"
    )
