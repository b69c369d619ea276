# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Offline bundles on the controller: a directory, or a tar archive of one, read once from front to back."""

from __future__ import annotations

import hashlib
import os
import posixpath
import tarfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import explained
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.bundles import FoundBundle

_BLOCK = 1 << 20
# Lists are small; what is larger is no list, and is not taken into memory.
_LARGEST_LIST = 16 << 20
_FIX = "Name the directory of a bundle, or a tar archive of it"


class Bundles:
    """Reads bundles below a root; an empty root is the machine itself."""

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")

    def look(self, path: str, listed: str, images: str, telling: Collection[str]) -> FoundBundle:
        """Read a bundle whole: ``listed`` names its list, ``images`` the directory of image archives, ``telling`` their members."""
        found = _Look(listed, images, telling)
        real = self._root + path
        try:
            if os.path.isdir(real):
                for name, stream in directory_files(real):
                    found.take(name, stream)
            elif os.path.isfile(real):
                for name, stream in archive_files(real, listed):
                    found.take(name, stream)
            else:
                raise Unusable(path, "there is no such file or directory", _FIX)
        except (tarfile.TarError, EOFError) as error:
            raise Unusable(path, f"it is not a whole tar archive ({error})", _FIX) from None
        except OSError as error:
            raise explained(path, error) from error
        return FoundBundle(path, os.path.isdir(real), found.listed, found.digests, found.telling)


def directory_files(path: str) -> Iterator[tuple[str, Any]]:
    """Give every file of a directory, by its path in the bundle."""
    for place, folders, names in os.walk(path, followlinks=False):
        folders.sort()
        for name in sorted(names):
            whole = os.path.join(place, name)
            if os.path.isfile(whole):
                with open(whole, "rb") as stream:
                    yield os.path.relpath(whole, path).replace(os.sep, "/"), stream


def archive_files(path: str, listed: str) -> Iterator[tuple[str, Any]]:
    """Give every file of an archive, by its path in the bundle: its list may lie in a directory, and the rest then lies there too."""
    with tarfile.open(path, "r:*") as archive:
        members = {posixpath.normpath(member.name): member for member in archive if member.isreg() or member.islnk()}
        lists = [name for name in members if posixpath.basename(name) == listed]
        top = posixpath.dirname(min(lists, key=lambda name: name.count("/"))) if lists else ""
        for name, member in members.items():
            stream = archive.extractfile(member)
            if stream is not None:
                yield name[len(top) + 1 :] if top and name.startswith(f"{top}/") else name, stream


class _Look:
    """What one reading of all files gathers."""

    def __init__(self, listed: str, images: str, telling: Collection[str]) -> None:
        self._listed, self._images, self._members = listed, images, telling
        self.listed: bytes | None = None
        self.digests: dict[str, str] = {}
        self.telling: dict[str, dict[str, bytes]] = {}

    def take(self, name: str, stream: Any) -> None:
        if name == self._listed:
            self.listed = stream.read(_LARGEST_LIST)
            return
        counted = _Counted(stream)
        if name.startswith(f"{self._images}/"):
            self.telling[name] = _members(counted, self._members)
        while counted.read(_BLOCK):
            pass
        self.digests[name] = counted.digest()


class _Counted:
    """A stream that is digested while it is read, so that a large archive is read no more than once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._total = hashlib.sha256()

    def read(self, size: int) -> bytes:
        block: bytes = self._stream.read(size)
        self._total.update(block)
        return block

    def digest(self) -> str:
        return self._total.hexdigest()


def _members(stream: _Counted, wanted: Collection[str]) -> dict[str, bytes]:
    """Read the wanted members of an archive that may be compressed; what is no archive has none."""
    found: dict[str, bytes] = {}
    try:
        with _tar_of(stream) as archive:
            for member in archive:
                name = posixpath.normpath(member.name)
                content = archive.extractfile(member) if name in wanted and member.isreg() else None
                if content is not None:
                    found[name] = content.read(_LARGEST_LIST)
    except (tarfile.TarError, EOFError, OSError, ValueError):
        return {}
    return found


@contextmanager
def _tar_of(stream: Any) -> Iterator[tarfile.TarFile]:
    with tarfile.open(fileobj=stream, mode="r|*", bufsize=_BLOCK) as archive:
        yield archive
