# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs made of this collection's own code: one file that a host can run without Ansible."""

from __future__ import annotations

import ast
import importlib.util
import io
import sys
import zipfile
from collections.abc import Iterable

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

_COLLECTION = "ansible_collections.kubephase.cluster."
# The oldest date that the format knows: the same code must give the same file, whenever it is packed.
_DATE = (1980, 1, 1, 0, 0, 0)


class Programs:
    """Packs what a program needs of the code that runs here, and nothing else."""

    def packed(self, entries: Iterable[str], main: str) -> bytes:
        """Make a program of some of our modules, with all that they import of ours; ``main`` is its start."""
        files = {"__main__.py": main}
        waiting = list(entries)
        while waiting:
            name = waiting.pop()
            source, path = _source(name)
            if path in files:
                continue
            files[path] = source
            waiting += _imported(source)
        for path in list(files):
            parts = path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                files.setdefault("/".join([*parts[:depth], "__init__.py"]), "")
        return f"#!{self.interpreter()} -I\n".encode() + _zipped(files)

    def interpreter(self) -> str:
        """The Python that runs this, and so has the libraries."""
        return sys.executable or "/usr/bin/python3"


def _source(name: str) -> tuple[str, str]:
    found = importlib.util.find_spec(name)
    source = getattr(found.loader, "get_source", lambda _name: None)(name) if found is not None and found.loader is not None else None
    if found is None or source is None:
        raise Unusable(name, "its source cannot be found here", "Run this as a module of the installed collection")
    package = found.submodule_search_locations is not None
    return source, name.replace(".", "/") + ("/__init__.py" if package else ".py")


def _imported(source: str) -> list[str]:
    """The modules of ours that a source imports; of a package it may be a part that is meant."""
    found = []
    for node in ast.walk(ast.parse(source)):
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if not isinstance(node, ast.ImportFrom) or not module.startswith(_COLLECTION):
            continue
        found.append(module)
        if _is_package(module):
            found += [name for name in (f"{module}.{alias.name}" for alias in node.names) if importlib.util.find_spec(name) is not None]
    return found


def _is_package(name: str) -> bool:
    found = importlib.util.find_spec(name)
    return found is not None and found.submodule_search_locations is not None


def _zipped(files: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, _DATE), files[path])
    return target.getvalue()
