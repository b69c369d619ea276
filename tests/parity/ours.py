# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Our side: the same documents through the phases of pki_cert and kubeconfig_file, rooted in a directory."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.modules import kubeconfig_file, pki_cert
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read
from ansible_collections.kubephase.cluster.tests.parity.cases import Case
from ansible_collections.kubephase.cluster.tests.parity.oracle import (
    USER_FILE,
    USER_HOURS,
    USER_NAME,
    USER_ORGANISATIONS,
    Rendering,
    signs_users,
)

USER_OPTIONS = {
    "client_name": USER_NAME,
    "organizations": list(USER_ORGANISATIONS),
    "validity_period": timedelta(hours=USER_HOURS),
    "path": f"/{USER_FILE}",
}


def documents(text: str) -> dict[str, Any]:
    """A kubeadm.yaml as the modules receive it: by kind, in one shape, without secrets."""
    public, _secrets = split_secrets(canonical(read(text, "kubeadm.yaml")).documents)
    return dict(public)


def run_phase(make: Callable[[str], Any], root: Path, docs: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Change, ...]:
    """One module call over root; the changes that it made."""
    phase, world = make(str(root))
    return execute(phase, world, docs, options).plan.changes


def run_phases(root: Path, document: str, with_user: bool) -> tuple[Change, ...]:
    """Both modules over root, and the additional user's file where one can be signed."""
    docs = documents(document)
    changes = run_phase(pki_cert.make, root, docs, {}) + run_phase(kubeconfig_file.make, root, docs, {})
    if with_user:
        changes += run_phase(kubeconfig_file.make, root, docs, USER_OPTIONS)
    return changes


def rendered_by_us(case: Case, release: str, given: Path, root: Path) -> Rendering:
    """Our rendering of a case, from what had been given to kubeadm too."""
    shutil.copytree(given, root, dirs_exist_ok=True)
    (root / "etc").mkdir(exist_ok=True)
    started = time.time()
    run_phases(root, case.document(release), signs_users(case))
    return Rendering(root, given, started, time.time())
