# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Swap in /etc/fstab: the lines that turn it on at boot, and the file without them."""

from __future__ import annotations

FSTAB = "/etc/fstab"
_MARK = "# kubephase turned swap off for the kubelet; before: "


def swap_lines(text: str) -> list[str]:
    """Find the lines that are in force and turn swap on."""
    return [line for line in text.splitlines() if _is_swap(line)]


def devices(text: str) -> set[str]:
    """Name what those lines turn on, by path or by tag such as UUID=."""
    return {line.split()[0] for line in swap_lines(text)}


def without_swap(text: str) -> str:
    """Turn those lines into comments that keep what they said."""
    return "".join(f"{_MARK}{line}" if _is_swap(line) else line for line in text.splitlines(keepends=True))


def _is_swap(line: str) -> bool:
    fields = line.split()
    return len(fields) >= 3 and not fields[0].startswith("#") and fields[2] == "swap"
