# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Both sides of the static pod manifests: kubeadm's phases control-plane and etcd, and ours."""

from __future__ import annotations

import shutil
from pathlib import Path

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.modules import static_pod
from ansible_collections.kubephase.cluster.tests.parity.cases import Case
from ansible_collections.kubephase.cluster.tests.parity.oracle import DOCUMENT, kubeadm, run_kubeadm
from ansible_collections.kubephase.cluster.tests.parity.ours import documents
from ansible_collections.kubephase.cluster.tests.parity.surroundings import proxies, surround

MANIFESTS = "etc/kubernetes/manifests"


def has_local_etcd(case: Case) -> bool:
    """Whether kubeadm would run its etcd phase."""
    return "  external:" not in case.text


def prepared(case: Case, tree: Path, root: Path) -> Path:
    """A root with the certificates and kubeconfigs of a case, and what surrounds its manifests."""
    shutil.copytree(tree, root)
    surround(case, root)
    return root


def render_with_kubeadm(case: Case, release: str, root: Path) -> None:
    """Let kubeadm write the manifests below root."""
    (root / DOCUMENT).write_text(case.document(release), encoding="utf-8")
    variables = [f"{name}={value}" for name, value in proxies(case.name).items()]
    phases = [("control-plane", "all"), ("etcd", "local")] if has_local_etcd(case) else [("control-plane", "all")]
    try:
        for phase in phases:
            # env(1) hands kubeadm the variables that the oracle keeps from it otherwise.
            words = (*variables, str(kubeadm(release)), "init", "phase", *phase, "--config", f"/{DOCUMENT}")
            run_kubeadm(Path("/usr/bin/env"), root, *words)
    finally:
        (root / DOCUMENT).unlink()


def render_with_ours(case: Case, release: str, root: Path) -> tuple[Change, ...]:
    """Run our phase below root; the changes that it made."""
    phase, world = static_pod.make(str(root))
    return execute(phase, world, documents(case.document(release)), {"proxy_env": dict(proxies(case.name))}).plan.changes
