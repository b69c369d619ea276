# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who runs the module."""

from __future__ import annotations

import os


class Account:
    """The account that the module runs as."""

    def is_root(self) -> bool:
        """Tell whether it may do what a node needs."""
        return os.geteuid() == 0
