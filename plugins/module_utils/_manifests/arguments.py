# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Command lines of components: kubeadm's defaults, the user's arguments and how the two become one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg

_FLAG = re.compile(r"--([^=]+)=(.*)", re.DOTALL)


def command_line(program: str, defaults: Iterable[tuple[str, str]], extra: Sequence[Arg], keep_order: bool) -> list[str]:
    """Put a command together: a name in extra takes the place of the default, however often it occurs there."""
    overridden = {arg.name for arg in extra}
    base = sorted((name, value) for name, value in defaults if name not in overridden)
    own = [(arg.name, arg.value) for arg in extra]
    pairs = [*base, *own] if keep_order else sorted([*base, *own])
    return [program, *(f"--{name}={value}" for name, value in pairs)]


def last_value(extra: Sequence[Arg], name: str) -> str | None:
    """Give the value that counts when an argument is repeated."""
    values = [arg.value for arg in extra if arg.name == name]
    return values[-1] if values else None


def with_flags_of(command: Sequence[str], other: Sequence[str], names: Iterable[str]) -> list[str]:
    """Give the command with some flags exactly as another command has them."""
    result = list(command)
    for name in names:
        theirs = [word for word in other if flag_name(word) == name]
        places = [index for index, word in enumerate(result) if flag_name(word) == name]
        if len(places) == len(theirs):
            for index, word in zip(places, theirs):
                result[index] = word
            continue
        result = [word for word in result if flag_name(word) != name]
        # The defaults come first and are sorted: a flag that is new takes its place among them.
        index = 1
        while index < len(result) and flag_name(result[index - 1]) <= flag_name(result[index]) < name:
            index += 1
        result[index:index] = theirs
    return result


def flag_name(word: object) -> str:
    """Name the flag that a word of a command sets; nothing for a word that sets none."""
    match = _FLAG.fullmatch(word) if isinstance(word, str) else None
    return match[1] if match else ""
