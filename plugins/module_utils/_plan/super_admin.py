# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only the super-admin may do: give the administrators of the cluster their rights."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest


@dataclass(frozen=True)
class ApplyAsSuperAdmin(Action):
    """Apply a manifest with super-admin.conf, and see that admin.conf has got its rights by it."""

    manifest: Manifest = field(repr=False)
