# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files on the host: read whole, written atomically, never half there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import (
    FileState,
    MakeDirectory,
    RemoveDirectory,
    RemoveFile,
    RequireFile,
    SetMode,
    SwitchLink,
    WriteFile,
)

_SELINUX = "security.selinux"
_MARK = ".kubephase-"

_ADVICE = {
    errno.ENOSPC: ("the file system is full", "Free some space there and run again"),
    errno.EDQUOT: ("the disk quota is used up", "Free some space there and run again"),
    errno.EROFS: ("the file system is read-only", "Remount it writable and run again"),
    errno.EACCES: ("permission denied", "Run with become, as root"),
    errno.EPERM: ("the operation is not permitted", "Run with become, as root, and look for an immutable attribute (lsattr)"),
    errno.EISDIR: ("a directory is where a file should be", "Move the directory away and run again"),
    errno.ENOTDIR: ("a file is where a directory should be", "Move that file away and run again"),
    errno.ELOOP: ("a loop of symbolic links", "Mend the links and run again"),
    errno.ENAMETOOLONG: ("the path is too long", "Choose a shorter directory"),
}


def explained(path: str, error: OSError) -> Unusable:
    """Say what an error of the file system means for a person."""
    found, fix = _ADVICE.get(error.errno or 0, (error.strerror or "cannot be used", "Mend it and run again"))
    return Unusable(path, found, fix)


class Files:
    """The file system below a root; an empty root is the host itself."""

    applies = (WriteFile, SetMode, RemoveFile, MakeDirectory, RemoveDirectory, RequireFile, SwitchLink)

    def __init__(self, root: str = "") -> None:
        self._root = root.rstrip("/")

    def read(self, path: str) -> FileState | None:
        """Return a file's content and mode, or None when there is none."""
        try:
            # Without O_NONBLOCK a pipe in the place of a file would be waited on for ever.
            with open(os.open(self._real(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as handle:
                status = os.fstat(handle.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise Unusable(path, "it is not a regular file", "Move it away and run again")
                return FileState(path, handle.read(), stat.S_IMODE(status.st_mode), status.st_mtime)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explained(path, error) from error

    def exists(self, path: str) -> bool:
        """Say whether there is anything at a path, a directory included."""
        return os.path.exists(self._real(path))

    def is_link(self, path: str) -> bool:
        """Say whether a symbolic link is at a path, wherever it leads."""
        return os.path.islink(self._real(path))

    def directory_mode(self, path: str) -> int | None:
        """Return the mode of a directory, or None when there is none."""
        try:
            status = os.stat(self._real(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise explained(path, error) from error
        return stat.S_IMODE(status.st_mode) if stat.S_ISDIR(status.st_mode) else None

    def below(self, directory: str) -> tuple[str, ...]:
        """List the files below a directory, sub-directories included, in alphabetical order of their paths."""
        start = self._real(directory)
        found = [os.path.join(place, name) for place, _subdirectories, names in os.walk(start) for name in names]
        return tuple(sorted(path[len(self._root) :] for path in found))

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, WriteFile):
            self.write([action])
        elif isinstance(action, SetMode):
            with _explaining(action.path):
                os.chmod(self._real(action.path), action.mode)
        elif isinstance(action, RemoveFile):
            with _explaining(action.path), suppress(FileNotFoundError):
                os.unlink(self._real(action.path))
        elif isinstance(action, MakeDirectory):
            with _explaining(action.path):
                _make_directories(os.path.dirname(self._real(action.path)), 0o755)
                _make_directories(self._real(action.path), action.mode)
                os.chmod(self._real(action.path), action.mode)
        elif isinstance(action, RemoveDirectory):
            with suppress(OSError):
                os.rmdir(self._real(action.path))
        elif isinstance(action, SwitchLink):
            self._switch(action)
        elif isinstance(action, RequireFile) and not self.exists(action.path):
            raise Unusable(action.path, "it does not exist", action.fix)

    def write(self, wanted: Sequence[WriteFile]) -> None:
        """Write files that belong together: all are on disk before the first one takes its name."""
        staged: list[tuple[str, str, WriteFile]] = []
        try:
            for file in wanted:
                with _explaining(file.path):
                    destination = os.path.realpath(self._real(file.path))
                    if os.path.isdir(destination):
                        raise IsADirectoryError(errno.EISDIR, "is a directory", destination)
                    staged.append((self._stage(destination, file), destination, file))
            while staged:
                temporary, destination, file = staged[0]
                with _explaining(file.path):
                    os.replace(temporary, destination)
                    staged.pop(0)
                    _sync_directory(os.path.dirname(destination))
        finally:
            for temporary, _destination, _file in staged:
                with suppress(OSError):
                    os.unlink(temporary)

    def _switch(self, action: SwitchLink) -> None:
        path, by = self._real(action.path), self._real(action.by)
        with _explaining(action.path):
            with suppress(FileNotFoundError):
                os.unlink(by)
            os.symlink(self._real(action.target), by)
            os.replace(by, path)
            _sync_directory(os.path.dirname(path))

    def _stage(self, destination: str, file: WriteFile) -> str:
        directory = os.path.dirname(destination)
        _make_directories(directory, file.directory_mode)
        place = directory
        if file.staging:
            place = os.path.realpath(self._real(file.staging))
            _make_directories(place, 0o755)
            if os.stat(place).st_dev != os.stat(directory).st_dev:
                place = directory  # a mount of its own: a dot-file is the one thing that the kubelet ignores there
        name = os.path.basename(destination)
        _sweep(place, name)
        handle, temporary = tempfile.mkstemp(prefix=f".{name}{_MARK}{os.getpid()}-", dir=place)
        try:
            with os.fdopen(handle, "wb") as stream:
                _like_existing(stream.fileno(), destination)
                os.fchmod(stream.fileno(), file.mode)
                stream.write(file.content)
                stream.flush()
                os.fsync(stream.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return temporary

    def _real(self, path: str) -> str:
        return self._root + path if self._root else path


@contextmanager
def _explaining(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explained(path, error) from error


def _make_directories(directory: str, mode: int) -> None:
    """Create what is missing of a path, each part with exactly this mode whatever the umask."""
    if not directory or os.path.isdir(directory):
        return
    _make_directories(os.path.dirname(directory), mode)
    try:
        os.mkdir(directory)
        os.chmod(directory, mode)
    except FileExistsError:
        if not os.path.isdir(directory):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", directory) from None


def _sweep(directory: str, name: str) -> None:
    """Remove what a killed run left behind for this file; a run that is still alive keeps its own."""
    prefix = f".{name}{_MARK}"
    for entry in os.listdir(directory):
        if entry.startswith(prefix) and not _alive(entry[len(prefix) :].partition("-")[0]):
            with suppress(OSError):
                os.unlink(os.path.join(directory, entry))


def _alive(process: str) -> bool:
    return os.path.exists(f"/proc/{process}") and process != str(os.getpid())


def _like_existing(descriptor: int, destination: str) -> None:
    """Give a new file the owner and SELinux label of the one that it replaces."""
    try:
        seen = os.stat(destination)
    except FileNotFoundError:
        return
    mine = os.fstat(descriptor)
    if (seen.st_uid, seen.st_gid) != (mine.st_uid, mine.st_gid):
        os.fchown(descriptor, seen.st_uid, seen.st_gid)
    with suppress(OSError):
        os.setxattr(descriptor, _SELINUX, os.getxattr(destination, _SELINUX))


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
