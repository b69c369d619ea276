# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A control plane with its files, and uploads from it into a cluster in memory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from unit.tokens.cluster import Cluster, perform, write_admin

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.contents import opened
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET, UploadCertsPhase

KEY = "ca0a19" + "0123456789abcdef" * 3 + "0123456789"
OTHER = "ff" * 32
NAMES = ["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key", "etcd/ca.crt", "etcd/ca.key"]
VALUES = sorted(name.replace("/", "-") for name in NAMES)
TWO_HOURS = timedelta(hours=2)


def make_host(root: Path) -> Path:
    """Put the files of a control plane below root."""
    write_admin(root)
    for name in NAMES:
        path = root / "etc/kubernetes/pki" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"canary content of {name}\n")
    return root


def upload(root: Path, cluster: Cluster, configuration: dict[str, Any] | None = None, **options: Any) -> Any:
    """Run the phase with a ClusterConfiguration."""
    documents = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", **(configuration or {})}}
    return perform(UploadCertsPhase(), root, cluster, documents, **{"ttl": TWO_HOURS, **options})


def contents(cluster: Cluster, key: str = KEY) -> dict[str, bytes] | None:
    """What the Secret holds, opened."""
    return opened(cluster.objects[SECRET]["data"], key)


def owner_name(cluster: Cluster) -> str:
    """The token that owns the Secret."""
    (reference,) = cluster.objects[SECRET]["metadata"]["ownerReferences"]
    return str(reference["name"])


def owner_tokens(cluster: Cluster) -> list[str]:
    """All tokens of the cluster."""
    return sorted(key.name for key in cluster.objects if key.name.startswith("bootstrap-token-"))


def secret_fact(outcome: Any) -> tuple[str, bool, str]:
    """What a run says of the Secret."""
    fact = outcome.plan.facts["secret"]
    return fact["done"], fact["readable"], fact["expires"]
