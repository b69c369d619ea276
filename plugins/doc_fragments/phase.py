# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every phase module promises."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared attributes, written once."""

    DOCUMENTATION = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kubephase.cluster.phase) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - kubephase.cluster.phase
  check_mode:
    description: Reports in check mode what the real run would do, and changes nothing.
    support: full
  diff_mode:
    description: Shows what changes and why, without secrets.
    support: full
  idempotent:
    description: Run again with the same documents, it changes nothing.
    support: full
  platform:
    description: Where it runs.
    support: full
    platforms: linux
"""
