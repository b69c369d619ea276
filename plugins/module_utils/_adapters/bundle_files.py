# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that came with an offline bundle: their checksums, and their way to their places."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import explained
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import InstallFile, VerifyStaged

_BLOCK = 1 << 20
_MARK = ".kubephase-"


class BundleFiles:
    """Files on the machine that the module runs on, too large to be read whole."""

    applies = (VerifyStaged, InstallFile)

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")

    def digests(self, paths: Iterable[str]) -> dict[str, str]:
        """Give the SHA-256 of each file that is there."""
        found = {path: _digest(self._root + path) for path in paths}
        return {path: digest for path, digest in found.items() if digest}

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, VerifyStaged):
            self._verify(action)
        elif isinstance(action, InstallFile):
            self._install(action)

    def _verify(self, action: VerifyStaged) -> None:
        wrong = []
        for path, (name, wanted) in action.files.items():
            found = _digest(path)
            if found != wanted:
                what = f"its SHA-256 is {found}, and bundle.json says {wanted}" if found else "it was not brought to the host"
                fix = "Bring the right file or its right checksum into the bundle, and run again"
                wrong.append(Unusable(f"{name} of the bundle", what, fix))
        if wrong:
            raise ManyUnusable(tuple(wrong))

    def _install(self, action: InstallFile) -> None:
        """Copy beside the place first: a file that is being run can be replaced by name, not written to."""
        target = os.path.realpath(self._root + action.path)
        directory, name = os.path.split(target)
        temporary = ""
        try:
            os.makedirs(directory, mode=0o755, exist_ok=True)
            for left in os.listdir(directory):
                if left.startswith(f".{name}{_MARK}"):
                    os.unlink(os.path.join(directory, left))
            handle, temporary = tempfile.mkstemp(prefix=f".{name}{_MARK}", dir=directory)
            with os.fdopen(handle, "wb") as stream, open(action.source, "rb") as source:
                os.fchmod(stream.fileno(), action.mode)
                shutil.copyfileobj(source, stream, _BLOCK)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
            temporary = ""
        except OSError as error:
            raise explained(action.path, error) from error
        finally:
            if temporary:
                with suppress(OSError):
                    os.unlink(temporary)


def _digest(path: str) -> str:
    whole = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            for block in iter(lambda: stream.read(_BLOCK), b""):
                whole.update(block)
    except OSError:
        return ""
    return whole.hexdigest()
