# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Durations as Go writes and reads them: 1h30m, 90s, 1.5h."""

from __future__ import annotations

import re
from datetime import timedelta

_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_LONGEST = 2**63 - 1
_LONGEST_TEXT = 100


def parse_duration(text: str) -> timedelta:
    """The duration that Go's time.ParseDuration reads, to the microsecond; ValueError for anything else."""
    sign = -1 if text[:1] == "-" else 1
    digits = text[1:] if text[:1] in ("-", "+") else text
    if digits == "0":
        return timedelta(0)
    if not digits or len(digits) > _LONGEST_TEXT:
        raise ValueError("not a duration")
    total, position = 0, 0
    while position < len(digits):
        part = _PART.match(digits, position)
        if part is None or not (part[1] or part[2]):
            raise ValueError("not a duration")
        fraction = part[2] or ""
        total += int(part[1] + fraction or "0") * _NANOSECONDS[part[3]] // 10 ** len(fraction)
        position = part.end()
    if total > _LONGEST:
        raise ValueError("more than 292 years")
    return timedelta(microseconds=sign * (total // 1000))


def format_duration(period: timedelta) -> str:
    """The duration as Go prints it, for example 8760h0m0s."""
    microseconds = period // timedelta(microseconds=1)
    if microseconds == 0:
        return "0s"
    sign = "-" if microseconds < 0 else ""
    microseconds = abs(microseconds)
    if microseconds < 1000:
        return f"{sign}{microseconds}µs"
    if microseconds < 10**6:
        return f"{sign}{_decimal(microseconds, 10**3)}ms"
    minutes, rest = divmod(microseconds, 60 * 10**6)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 10**6)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    return f"{whole}." + str(rest).zfill(len(str(unit)) - 1).rstrip("0")
