# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are ours until somebody edits them: their first line tells the digest of the rest."""

from __future__ import annotations

import hashlib
import re

_MARK = "# Written by kubephase.cluster, and written anew when it differs; once edited it is kept as it is. sha256:"
_FIRST = re.compile(rf"{re.escape(_MARK)}([0-9a-f]{{64}})\n".encode())
_DIGEST = re.compile(rf"({re.escape(_MARK)})[0-9a-f]+")
_SECRET = re.compile(r"(?im)^(\s*(?:\"?(?:password|auth|identitytoken)\"?)\s*=\s*).*$")
_USER_INFO = re.compile(r"://[^/@\s\"']+@")


def stamped(text: str) -> bytes:
    """Put the mark before a text."""
    return f"{_MARK}{hashlib.sha256(text.encode()).hexdigest()}\n{text}".encode()


def is_own(content: bytes) -> bool:
    """Tell whether a file is as we wrote it."""
    found = _FIRST.match(content)
    return found is not None and hashlib.sha256(content[found.end() :]).hexdigest() == found[1].decode()


def shown(content: bytes) -> str:
    """Show a file without secrets, and without the digest by which a secret in it could be guessed."""
    text = _DIGEST.sub(r"\1…", content.decode(errors="replace"))
    return _USER_INFO.sub("://(hidden)@", _SECRET.sub(r"\1(hidden)", text))
