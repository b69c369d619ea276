# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates, their keys and their times."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Row, Since, Steps

SYSTEM_MASTERS = "system:masters"
CLUSTER_ADMINS = "kubeadm:cluster-admins"

_NOBODY: tuple[str, ...] = ()
_RSA: tuple[str, ...] = ("RSA-2048",)


class PkiFacts:
    """What the certs phase makes."""

    # Each move took the client further from a group that no RBAC rule can take rights from.
    apiserver_kubelet_client_organizations: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (SYSTEM_MASTERS,)),
        ("1.29.0", (CLUSTER_ADMINS,)),
        ("1.33.12", _NOBODY),
        ("1.34.0", (CLUSTER_ADMINS,)),
        ("1.34.8", _NOBODY),
        ("1.35.0", (CLUSTER_ADMINS,)),
        ("1.35.5", _NOBODY),
        ("1.36.0", (CLUSTER_ADMINS,)),
        ("1.36.1", _NOBODY),
    )
    # Both clients of etcd: healthcheck-client and apiserver-etcd-client.
    etcd_client_organizations: Row[tuple[str, ...]] = Steps(("1.22.0", (SYSTEM_MASTERS,)), ("1.29.0", _NOBODY))
    # 1.29 alone writes the new organisations when it renews; every other release copies the old subject.
    renewal_rewrites_organizations = Steps(("1.22.0", False), ("1.29.0", True), ("1.30.0", False))

    ca_serial_random = Since("1.25.12", "1.26.7", "1.27.4", "1.28.0")
    # A clock that is a little behind must accept the CA: its notBefore lies five minutes back.
    ca_backdated = Since("1.25.13", "1.26.8", "1.27.5", "1.28.0")
    backdate_minutes = Always(5)
    # Leaf certificates on disk start with their issuer, or five minutes before the process that makes them started.
    leaf_not_before = Steps(("1.22.0", "issuer"), ("1.31.0", "start"))
    kubeconfig_not_before = Always("issuer")

    leaf_validity_hours = Always(8760)
    ca_validity_hours = Always(87600)
    validity_fields = Since("1.31.0")

    # What encryptionAlgorithm may be. Before 1.31 there is no such field that init accepts.
    key_algorithms: Row[tuple[str, ...]] = Steps(
        ("1.22.0", _RSA),
        ("1.31.0", ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256")),
        ("1.34.0", ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384")),
    )
    default_key_algorithm = Always("RSA-2048")
    encryption_algorithm_field = Since("1.31.0")
    # The gate PublicKeysECDSA, set to true or false, wins over the field while it exists.
    ecdsa_gate = Before("1.37.0")
    gate_key_algorithm = Always("ECDSA-P256")

    # Until then an empty node name became an empty DNS name.
    san_omits_empty_names = Since("1.31.14", "1.32.10", "1.33.6", "1.34.2", "1.35.0")
