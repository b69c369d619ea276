# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host's clock."""

from __future__ import annotations

from datetime import datetime, timezone


class Clock:
    """The time as the host knows it."""

    def now(self) -> datetime:
        """Return the current time in UTC, in whole seconds as certificates carry it."""
        return datetime.now(timezone.utc).replace(microsecond=0)
