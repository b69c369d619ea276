# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of an offline bundle that were brought to the host, and what a plan may ask to be done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class VerifyStaged(Action):
    """Compare every file that was brought with the checksum that the bundle promises, before any is used."""

    changes_something = False

    # Path on the host: path in the bundle and its SHA-256.
    files: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class InstallFile(Action):
    """Put a file that was brought at its place, from one moment to the next, with its final mode."""

    source: str
    path: str
    mode: int


@dataclass(frozen=True)
class ImportImages(Action):
    """Import image archives into the container runtime, and see that each has brought what it promises.

    ``archives`` are the files on the host with the path in the bundle and the names of the images.
    """

    archives: Mapping[str, tuple[str, tuple[str, ...]]]
    address: str
