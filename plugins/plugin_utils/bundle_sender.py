# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An offline bundle on the controller, and the way of its files to a host that lacks them."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundles import archive_files
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import LIST, parse

# The modules that take files from a bundle, or tell what they would take.
TAKE = ("node_packages", "prepare_plan")
_LARGEST_LIST = 16 << 20
_FIX = "Name the directory of a bundle, or a tar archive of it, on the controller"


def is_taken(module: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a module is to work with a bundle."""
    return module in TAKE and bool(options.get("bundle"))


def lacked(result: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of the bundle that a host said it lacks."""
    return (*(result.get("lacking") or ()), *(result.get("lacking_images") or ()))


def room_for(files: Mapping[str, str], place: str, told: str) -> None:
    """Refuse to send more than a directory of the host has room for, by what df says of it."""
    fields = (told.strip().splitlines() or [""])[-1].split()
    free = int(fields[3]) * 1024 if len(fields) > 3 and fields[3].isdigit() else None
    needed = sum(os.path.getsize(source) for source in files.values())
    if free is not None and needed > free:
        raise Unusable(
            place,
            f"the files of the bundle need {needed >> 20} MiB there, and {free >> 20} MiB are free",
            "Free some space, or set ansible_remote_tmp to a directory of the host that has more, and run again",
        )


class Sender:
    """A bundle, be it a directory or an archive."""

    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path)
        self._is_archive = not os.path.isdir(self._path)
        if self._is_archive and not os.path.isfile(self._path):
            raise Unusable(path, "there is no such file or directory", _FIX)

    def listed(self) -> str:
        """Read bundle.json; one that is wrong, or that promises what is not there, is told before any host is asked."""
        where = os.path.join(self._path, LIST)
        with self._explained():
            content = self._archived_list() if self._is_archive else _content(where)
        bundle = parse(content, where)
        if not self._is_archive:
            absent = [path for path in bundle.files if not os.path.isfile(os.path.join(self._path, path))]
            fix = "Bring the file, or make the bundle anew"
            if absent:
                found = [Unusable(os.path.join(self._path, path), f"{LIST} lists it, and it is not there", fix) for path in absent]
                raise ManyUnusable(tuple(found))
        return content.decode()

    @contextmanager
    def files(self, paths: Sequence[str], scratch: str) -> Iterator[dict[str, str]]:
        """Give files of the bundle by the path on the controller that they can be sent from."""
        if not self._is_archive:
            yield {path: os.path.join(self._path, path) for path in paths}
            return
        place = tempfile.mkdtemp(dir=scratch)
        try:
            with self._explained():
                yield self._extracted(paths, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _extracted(self, paths: Sequence[str], place: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, stream in archive_files(self._path, LIST):
            if name in paths:
                found[name] = os.path.join(place, str(len(found)))
                with open(found[name], "wb") as target:
                    shutil.copyfileobj(stream, target, 1 << 20)
        absent = [path for path in paths if path not in found]
        if absent:
            fix = "Make the archive anew"
            raise ManyUnusable(tuple(Unusable(f"{self._path}: {path}", f"{LIST} lists it, and it is not there", fix) for path in absent))
        return found

    def _archived_list(self) -> bytes:
        for name, stream in archive_files(self._path, LIST):
            if name == LIST:
                return bytes(stream.read(_LARGEST_LIST))
        raise FileNotFoundError(LIST)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise Unusable(self._path, f"it holds no {LIST}", _FIX) from None
        except (tarfile.TarError, EOFError, UnicodeDecodeError) as error:
            raise Unusable(self._path, f"it cannot be read as a bundle ({error})", _FIX) from None
        except OSError as error:
            raise Unusable(self._path, error.strerror or str(error), "Mend that on the controller, and run again") from None


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(_LARGEST_LIST)
