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
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering, User, users_of


def user_options(user: User) -> dict[str, Any]:
    """The options of kubeconfig_file that ask for an additional user, as the module's own code has them after parsing."""
    return {
        "client_name": user.name,
        "organizations": list(user.organisations),
        "validity_period": timedelta(hours=user.hours) if user.hours else None,
        "path": f"/{user.file}",
    }


def documents(text: str) -> dict[str, Any]:
    """A kubeadm.yaml as the modules receive it: by kind, in one shape, without secrets."""
    public, _secrets = split_secrets(canonical(read(text, "kubeadm.yaml")).documents)
    return dict(public)


def run_phase(make: Callable[[str], Any], root: Path, docs: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Change, ...]:
    """One module call over root; the changes that it made."""
    phase, world = make(str(root))
    return execute(phase, world, docs, options).plan.changes


def run_phases(root: Path, case: Case, release: str) -> tuple[Change, ...]:
    """Both modules over root, and the files of additional users where they can be signed."""
    docs = documents(case.document(release))
    changes = run_phase(pki_cert.make, root, docs, {}) + run_phase(kubeconfig_file.make, root, docs, {})
    for user in users_of(case):
        changes += run_phase(kubeconfig_file.make, root, docs, user_options(user))
    return changes


def rendered_by_us(case: Case, release: str, given: Path, root: Path) -> Rendering:
    """Our rendering of a case, from what had been given to kubeadm too."""
    shutil.copytree(given, root, dirs_exist_ok=True)
    (root / "etc").mkdir(exist_ok=True)
    started = time.time()
    run_phases(root, case, release)
    return Rendering(root, given, started, time.time())
