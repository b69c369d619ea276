# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What somebody is given to join a cluster with, as kubeadm's users are: a token, a pin, a certificate key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from live.cluster import Cluster
from live.node import KUBECTL

CERTIFICATE_KEY = "fa017fa017fa017fa017fa017fa017fa017fa017fa017fa017fa017fa0175678"
_KUBEADM = "kubeadm --kubeconfig /etc/kubernetes/admin.conf"
_NO_TOKENS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-tokens}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  matchConditions: [{name: token, expression: "request.name.startsWith('bootstrap-token-')"}]
  validations: [{expression: "false", message: no tokens today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-tokens}
spec: {policyName: no-tokens, validationActions: [Deny]}
"""
_PIN = "openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform DER | sha256sum"


@dataclass(frozen=True)
class Given:
    """A token of a cluster, where the cluster is, and the pin of its authority."""

    token: str
    endpoint: str
    pin: str

    def join(self, **other: str) -> dict[str, Any]:
        """Spell a JoinConfiguration, with token, pin, endpoint or certificate_key other than the right ones; quick to give up."""
        discovery = {
            "token": other.get("token", self.token),
            "apiServerEndpoint": other.get("endpoint", self.endpoint),
            "caCertHashes": [other.get("pin", self.pin)],
        }
        wanted: dict[str, Any] = {"discovery": {"bootstrapToken": discovery}, "timeouts": {"discovery": "5s"}}
        if "certificate_key" in other:
            wanted["controlPlane"] = {"certificateKey": other["certificate_key"]}
        return wanted


@contextmanager
def given(cluster: Cluster) -> Iterator[Given]:
    """Have a token for as long as the block lasts."""
    token = cluster.first.run(f"{_KUBEADM} token create --ttl 20m").split()[-1]
    try:
        signed = f"{KUBECTL} -n kube-public get configmap cluster-info -o yaml | grep -q jws-kubeconfig-{token.partition('.')[0]}"
        cluster.first.until(signed)
        yield Given(token, f"{cluster.first.address}:6443", "sha256:" + cluster.first.run(_PIN).split()[0])
    finally:
        cluster.first.run(f"{_KUBEADM} token delete {token.partition('.')[0]}")


def expired_token(cluster: Cluster) -> str:
    """A token whose time is over, and which the cluster has therefore forgotten."""
    token = cluster.first.run(f"{_KUBEADM} token create --ttl 1s").split()[-1]
    signed = f"{KUBECTL} -n kube-public get configmap cluster-info -o yaml | grep -q jws-kubeconfig-{token.partition('.')[0]}"
    cluster.first.until(f"! {signed} && ! {KUBECTL} -n kube-system get secret bootstrap-token-{token.partition('.')[0]} 2>/dev/null")
    return token


@contextmanager
def certificates(cluster: Cluster) -> Iterator[None]:
    """Have the certificates in the cluster for as long as the block lasts, encrypted with the key above."""
    cluster.module("cp1", "upload_certs", certificate_key=CERTIFICATE_KEY, overwrite=True).succeeded()
    try:
        yield
    finally:
        cluster.module("cp1", "upload_certs", state="absent").succeeded()


@contextmanager
def no_tokens(cluster: Cluster) -> Iterator[None]:
    """Have the API server refuse every new bootstrap token for as long as the block lasts."""
    cluster.first.run(f"{KUBECTL} apply -f -", _NO_TOKENS.encode())
    try:
        cluster.first.until(f"! {KUBECTL} -n kube-system create secret generic bootstrap-token-000000 --dry-run=server 2>/dev/null")
        yield
    finally:
        cluster.first.run(f"{KUBECTL} delete -f -", _NO_TOKENS.encode())
