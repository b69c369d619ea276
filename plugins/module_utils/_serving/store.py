# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of serving certificates: how they are named, and which one the kubelet would load."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import SERVING
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

_STORED = re.compile(SERVING + r"-(current|updated|\d{4}(-\d{2}){5})\.pem")


@dataclass(frozen=True)
class Store:
    """Where serving certificates lie; the two files are those of tlsCertFile and tlsPrivateKeyFile, or empty."""

    directory: str
    certificate_file: str = ""
    key_file: str = ""

    @property
    def current(self) -> str:
        """The link to the pair in use."""
        return posixpath.join(self.directory, f"{SERVING}-current.pem")

    @property
    def updated(self) -> str:
        """The link to a new pair, just before it takes the place of the current one."""
        return posixpath.join(self.directory, f"{SERVING}-updated.pem")

    def stored_at(self, moment: datetime) -> str:
        """The file of a pair that is stored at a moment of the host's own time."""
        return posixpath.join(self.directory, f"{SERVING}-{moment:%Y-%m-%d-%H-%M-%S}.pem")

    @property
    def candidates(self) -> tuple[tuple[str, str], ...]:
        """Certificate and key file of each place where a pair is looked for, in the kubelet's order."""
        named = ((self.certificate_file, self.key_file),) if self.certificate_file and self.key_file else ()
        pair = tuple(posixpath.join(self.directory, f"{SERVING}.{suffix}") for suffix in ("crt", "key"))
        return ((self.current, self.current), *named, (pair[0], pair[1]))


def selected(store: Store, exists: Callable[[str], bool]) -> tuple[str, str] | None:
    """The pair that the kubelet would load: the first that is whole. A link that leads nowhere is not there."""
    return next(((certificate, key) for certificate, key in store.candidates if exists(certificate) and exists(key)), None)


def must_be_links(store: Store, is_plain: Callable[[str], bool]) -> None:
    """Refuse to go on where something else has the place of one of the links."""
    for path in (store.current, store.updated):
        if is_plain(path):
            raise Unusable(path, "it must be a symbolic link, and is a file", "Move it away and run again")


def unfinished(store: Store, exists: Callable[[str], bool], is_link: Callable[[str], bool]) -> bool:
    """Tell whether a switch was interrupted between its two steps: the new link is there and the current one is not."""
    return not exists(store.current) and is_link(store.updated)


def is_stored_pair(store: Store, path: str) -> bool:
    """Tell a file that rotations leave behind, or one of the links to it."""
    return bool(_STORED.fullmatch(posixpath.basename(path))) and posixpath.dirname(path) == store.directory
