# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The code that modules run with on a host, as one archive: sent once, found again by the digest of its content."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from functools import cache

from ansible import module_utils
from ansible.release import __version__ as ansible_version

_COLLECTION = "ansible_collections/kubephase/cluster/plugins"
# Nothing of ours needs these, and they are half of the size.
_LEFT_OUT = ("facts", "powershell", "csharp", "urls.py", "__pycache__")
# Every host that lacks the code is packed for; more effort costs twice the time and spares a twentieth of the size.
_EFFORT = 4
# Packages that are more than what is sent on the controller, and only that on a host.
_PACKAGES = {
    "ansible/__init__.py": f"__version__ = {ansible_version!r}\n".encode(),
    "ansible_collections/__init__.py": b"",
    "ansible_collections/kubephase/__init__.py": b"",
    "ansible_collections/kubephase/cluster/__init__.py": b"",
    f"{_COLLECTION}/__init__.py": b"",
    f"{_COLLECTION}/modules/__init__.py": b"",
    f"{_COLLECTION}/module_utils/__init__.py": b"",
}


def digest() -> str:
    """Name the code by what it is."""
    whole = hashlib.sha256()
    for name, content in _files().items():
        whole.update(f"{name} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()


def archive() -> str:
    """Give the code as text that fits into a module's arguments: one stream, because files that are alike share what they have."""
    whole = json.dumps({name: content.decode() for name, content in _files().items()})
    return base64.b64encode(zlib.compress(whole.encode(), _EFFORT)).decode()


@cache
def _files() -> dict[str, bytes]:
    plugins = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = {
        "ansible/module_utils": module_utils.__path__[0],
        f"{_COLLECTION}/modules": os.path.join(plugins, "modules"),
        f"{_COLLECTION}/module_utils": os.path.join(plugins, "module_utils"),
    }
    found = dict(_PACKAGES)
    for name, place in places.items():
        for path in sorted(_sources(place)):
            with open(path, "rb") as source:
                found[f"{name}/{os.path.relpath(path, place)}"] = source.read()
    return found


def _sources(place: str) -> Iterator[str]:
    for entry in os.scandir(place):
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            yield from _sources(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path
