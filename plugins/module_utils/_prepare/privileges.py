# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything here is root's business."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable


def must_be_root(privileged: bool) -> None:
    """Refuse to go on as somebody else, before the first change fails half-way."""
    if not privileged:
        raise Unusable("privileges", "the module does not run as root", "Set become: true, or log in as root")
