# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moments and sizes as a page tells them."""

from __future__ import annotations

from datetime import datetime, timezone

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_DAY = 86400
_YEAR = 365.25 * _DAY


def moment(stamp: object) -> datetime | None:
    """Read a moment as Kubernetes writes it; None when it is none."""
    try:
        found = datetime.fromisoformat(str(stamp).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def date(when: datetime) -> str:
    """Tell a day."""
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}"


def month(when: datetime) -> str:
    """Tell a month."""
    return f"{_MONTHS[when.month - 1]} {when.year}"


def minute(when: datetime) -> str:
    """Tell a moment to the minute."""
    return f"{date(when)}, {when:%H:%M} UTC"


def days_until(when: datetime, now: datetime) -> int:
    """Count whole days; negative when it is over."""
    return int((when - now).total_seconds() // _DAY)


def until(when: datetime, now: datetime) -> str:
    """Tell how far away a moment is."""
    seconds = (when - now).total_seconds()
    amount = _amount(abs(seconds))
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def _amount(seconds: float) -> str:
    # Of what is years away nobody counts the days.
    if seconds >= 2 * _YEAR:
        return f"{round(seconds / _YEAR)} years"
    for size, unit in ((_DAY, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def size(count: object) -> str:
    """Tell a number of bytes."""
    left = float(str(count or 0))
    for unit in _UNITS:
        if left < 1024 or unit == _UNITS[-1]:
            return f"{left:.0f} {unit}" if unit == _UNITS[0] else f"{left:.1f} {unit}"
        left /= 1024
    return ""
