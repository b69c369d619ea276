# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An offline bundle as it was found, by whoever looked into its directory or archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FoundBundle:
    """Its list, the SHA-256 of every other file by path, and of each image archive the members that tell what it holds."""

    path: str
    is_directory: bool
    listed: bytes | None = field(default=None, repr=False)
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    telling: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict, repr=False)
