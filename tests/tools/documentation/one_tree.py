# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts files that import from each other into one tree, in which every name of a file bears the file's name."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

_PACKAGE = "ansible_collections.kubephase.cluster.plugins."


def one_tree(sources: Mapping[str, str]) -> ast.Module:
    """Parse the sources, by their dotted names below plugins; a name that one imports is that of its origin."""
    trees = {file: ast.parse(source) for file, source in sources.items()}
    own = {file: {name: f"{file}.{name}" for name in _defined(tree)} for file, tree in trees.items()}
    imported = {file: _imported(tree) for file, tree in trees.items()}

    def origin(file: str, name: str) -> str | None:
        if name in own.get(file, {}):
            return own[file][name]
        leads = imported.get(file, {}).get(name)
        return origin(*leads) if leads else None

    body: list[ast.stmt] = []
    for file, tree in trees.items():
        taken = {name: found for name, leads in imported[file].items() if (found := origin(*leads))}
        body += _Renamed({**taken, **own[file]}).visit(tree).body
    return ast.Module(body, [])


def _defined(tree: ast.Module) -> set[str]:
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return named | {name for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) for name in stored(node)}


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE)]
    return {each.asname or each.name: (str(node.module)[len(_PACKAGE) :], each.name) for node in found for each in node.names}


def stored(node: ast.AST) -> set[str]:
    """Give the names that a statement, or a function, gives something to."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


class _Renamed(ast.NodeTransformer):
    """Gives the names of a file to all that use them, but not to what a function calls so for itself."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for each in node.body:
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                each.name = self._names[each.name]
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        local = stored(node) | {each.arg for each in given}
        names, self._names = self._names, {name: full for name, full in self._names.items() if name not in local}
        self.generic_visit(node)
        self._names = names
        return node
