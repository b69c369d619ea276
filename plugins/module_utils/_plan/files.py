# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files as phases see them, and what a plan may ask to be done to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Change


@dataclass(frozen=True)
class FileState:
    """A regular file as it was found."""

    path: str
    content: bytes = field(repr=False)
    mode: int
    mtime: float


@dataclass(frozen=True)
class WriteFile(Action):
    """Put content at path atomically, with its final mode from the first moment on.

    The temporary file lies in ``staging`` when given: a directory that somebody watches, such as that of
    the static pod manifests, must never hold anything but finished files.
    """

    path: str
    content: bytes = field(repr=False)
    mode: int
    directory_mode: int = 0o755
    staging: str = ""


@dataclass(frozen=True)
class SetMode(Action):
    """Give an existing file this mode; its content stays."""

    path: str
    mode: int


@dataclass(frozen=True)
class SwitchLink(Action):
    """Let a symbolic link point at another file, from one moment to the next; ``by`` is the name that the new link has before."""

    path: str
    target: str
    by: str


@dataclass(frozen=True)
class RemoveFile(Action):
    """Remove a file; one that is gone already is as good."""

    path: str


@dataclass(frozen=True)
class MakeDirectory(Action):
    """Make a directory with this mode, or give an existing one the mode."""

    path: str
    mode: int


@dataclass(frozen=True)
class RemoveDirectory(Action):
    """Remove a directory in which nothing is left; one that others use stays."""

    path: str


@dataclass(frozen=True)
class RequireFile(Action):
    """Stop here unless a file is there that an earlier phase writes, and that the rest of the plan needs."""

    changes_something = False

    path: str
    fix: str


@dataclass(frozen=True)
class FollowFile(RequireFile):
    """A change whose content such a file will tell: it can be foreseen before, and is planned anew once the file is there."""

    changes_something = True


def tightened(seen: FileState, allowed: int) -> Change | None:
    """Ask for a narrower mode when others may do more with a file than kubeadm would let them; a stricter mode is left alone."""
    excess = seen.mode & ~allowed
    if not excess:
        return None
    wanted = seen.mode & allowed
    return Change(
        target=seen.path,
        reason=f"its mode {seen.mode:04o} allows more than {allowed:04o}",
        before=f"mode: {seen.mode:04o}\n",
        after=f"mode: {wanted:04o}\n",
        action=SetMode(seen.path, wanted),
    )
