# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's documents as immutable values; the reading of files and variables is in ``sources`` and ``stream``."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, Node, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    Arg,
    ClusterConfiguration,
    InitConfiguration,
    JoinConfiguration,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments, Problem
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import Secrets, join_secrets, split_secrets

__all__ = [
    "Arg",
    "ClusterConfiguration",
    "Documents",
    "InitConfiguration",
    "InvalidDocuments",
    "JoinConfiguration",
    "Node",
    "NodeFacts",
    "Problem",
    "Secrets",
    "join_secrets",
    "resolve",
    "split_secrets",
]
