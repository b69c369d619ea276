# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an expression may spell through the files of a room: their classes, tables and loops as well."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from operator import add, pow, sub

from tools.documentation.error_texts import HOLE, Function, Scope, Texts, last_name, pairs
from tools.documentation.one_tree import one_tree, stored

Value = tuple[ast.expr, Scope]
_SUMS = {ast.Add: add, ast.Sub: sub, ast.Pow: pow}


class RoomTexts(Texts):
    """Reads the expressions of several files, in which a value of the run is what a function of `showing` gives."""

    # A path is put together by one function after another.
    deepest = 14

    def __init__(self, sources: Mapping[str, str], showing: Iterable[str]) -> None:
        super().__init__(one_tree(sources))
        self._showing = set(showing)
        self._scopes: dict[tuple[ast.AST, int], list[Scope]] = {}
        self._classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def file(self, node: ast.AST) -> str:
        """Name the file that a place inside a function or a class is in."""
        top = [node, *self._ancestors(node)][-2]
        return top.name.rpartition(".")[0] if isinstance(top, (ast.FunctionDef, ast.ClassDef)) else ""

    def _spell(self, node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        if isinstance(node, ast.Constant) and node.value is None:
            yield HOLE
        elif isinstance(node, ast.Attribute):
            for value, where in self._attributes(node, scope):
                yield from self.spell(value, where, depth + 1)
        elif isinstance(node, ast.Subscript):
            for value, where in self._looked_up(node, scope):
                yield from self.spell(value, where, depth + 1)
        elif isinstance(node, ast.BinOp):
            left, right = (self.spell(side, scope, depth + 1)[0] for side in (node.left, node.right))
            if left.isdigit() and right.isdigit() and type(node.op) in _SUMS:
                yield str(_SUMS[type(node.op)](int(left), int(right)))
            else:
                yield from super()._spell(node, scope, depth)
        else:
            yield from super()._spell(node, scope, depth)

    def _inserted(self, node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        """A path is made of single words, so all that is known is told."""
        return (text for text in self.spell(node, scope, depth + 1) if text)

    def _called(self, node: ast.Call, scope: Scope, depth: int) -> Iterator[str]:
        name, of = last_name(node.func), node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in self._showing:
            yield HOLE
        elif of is not None and name == "get":
            for container, where in self._containers(of, scope):
                for _key, value, inner in self._entries(container, where):
                    yield from self.spell(value, inner, depth + 1)
        elif of is not None and name == "join" and len(node.args) == 1:
            between = self.spell(of, scope, depth + 1)[0]
            for container, where in self._containers(node.args[0], scope):
                parts = [self.spell(key or value, inner, depth + 1)[0] for key, value, inner in self._entries(container, where)]
                yield HOLE if HOLE in parts else between.join(parts)
        else:
            yield from super()._called(node, scope, depth)

    # Classes ---------------------------------------------------------------------------------------------------------

    def _class(self, node: ast.AST) -> ast.ClassDef | None:
        return next((each for each in (node, *self._ancestors(node)) if isinstance(each, ast.ClassDef)), None)

    def _lineage(self, owner: ast.ClassDef | None) -> Iterator[ast.ClassDef]:
        while owner is not None:
            yield owner
            owner = next((self._classes[last_name(base)] for base in owner.bases if last_name(base) in self._classes), None)

    def _callers(self, function: Function) -> list[ast.Call]:
        """A class is called to make an object; a method is called on itself only by its class and those made of it."""
        owner = self._class(function)
        if owner is None:
            return super()._callers(function)
        if function.name == "__init__":
            return self.calls(owner.name)
        return [call for call in super()._callers(function) if not _is_own(call.func) or owner in self._lineage(self._class(call))]

    def _given(self, function: ast.AST, call: ast.Call, scope: Scope) -> dict[str, Value]:
        owner = self._class(call) if _is_own(call.func) else None
        whose: dict[str, Value] = {"self": (ast.Name(owner.name), scope)} if owner else {}
        return {**super()._given(function, call, scope), **whose}

    def _attributes(self, node: ast.Attribute, scope: Scope) -> list[Value]:
        """Find what a class, or else the one it is made of, gives an attribute of its own."""
        if not _is_own(node):
            return []
        owner = self._classes.get(last_name(scope.given["self"][0])) if "self" in scope.given else self._class(scope.around)
        for each in self._lineage(owner):
            given = [part for part in ast.walk(each) if isinstance(part, ast.Assign) and self._sets(part, node.attr)]
            if given:
                return [(part.value, where) for part in given for where in self.scopes(part)]
        return []

    def _sets(self, node: ast.Assign, name: str) -> bool:
        target = node.targets[0]
        return last_name(target) == name and (_is_own(target) or isinstance(self._parents[node], ast.ClassDef))

    # Tables and loops ------------------------------------------------------------------------------------------------

    def scopes(self, node: ast.AST, depth: int = 0) -> list[Scope]:
        """A place in a loop has one surrounding for each turn, so that what belongs together is told together."""
        if (node, depth) not in self._scopes:
            found = super().scopes(node, depth)
            for loop in reversed([each for each in self._ancestors(node) if isinstance(each, ast.For)]):
                found = [Scope(scope.around, {**scope.given, **turn}) for scope in found for turn in self._turns(loop, scope)]
            self._scopes[node, depth] = found
        return self._scopes[node, depth]

    def _turns(self, loop: ast.For, scope: Scope) -> list[dict[str, Value]]:
        return list(self._bound(loop.target, loop.iter, scope)) or [{}]

    def _values(self, name: ast.Name, scope: Scope) -> Iterable[Value]:
        loops = (each for each in self._ancestors(name) if isinstance(each, ast.For))
        if name.id in scope.given and any(name.id in stored(loop.target) for loop in loops):
            return [scope.given[name.id]]
        return super()._values(name, scope)

    def _bound(self, target: ast.expr, over: ast.expr, scope: Scope) -> Iterator[dict[str, Value]]:
        for container, where in self._containers(over, scope):
            for key, value, inner in self._entries(container, where):
                yield {name: (part, inner) for name, part in pairs(target, key or value)}

    def _containers(self, node: ast.expr, scope: Scope) -> Iterator[Value]:
        """Find the tables that an expression may stand for, as they are written down."""
        leads: Iterable[Value] = ()
        if isinstance(node, (ast.Dict, ast.Tuple, ast.List, ast.ListComp)):
            yield node, scope
        elif isinstance(node, ast.Name):
            leads = self._values(node, scope)
        elif isinstance(node, ast.Attribute):
            leads = self._attributes(node, scope)
        elif isinstance(node, ast.BoolOp):
            leads = [(value, scope) for value in node.values]
        elif isinstance(node, ast.Subscript):
            leads = self._looked_up(node, scope)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
            for container, where in self._containers(node.func.value, scope):
                rows: list[ast.expr] = [ast.Tuple([key, value]) for key, value, _scope in self._entries(container, where) if key]
                yield ast.Tuple(rows), where
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
            function = self._functions[node.func.id]
            inner = Scope(function, self._given(function, node, scope))
            leads = [(each.value, inner) for each in ast.walk(function) if isinstance(each, ast.Return) and each.value is not None]
        for value, where in leads:
            yield from self._containers(value, where)

    def _entries(self, container: ast.expr, scope: Scope) -> Iterator[tuple[ast.expr | None, ast.expr, Scope]]:
        """Give the keys, if it has any, and values of a table."""
        if isinstance(container, ast.Dict):
            yield from ((key, value, scope) for key, value in zip(container.keys, container.values) if key is not None)
        elif isinstance(container, (ast.Tuple, ast.List)):
            for each in container.elts:
                if isinstance(each, ast.Starred):
                    for inside, where in self._containers(each.value, scope):
                        yield from ((None, key or value, inner) for key, value, inner in self._entries(inside, where))
                else:
                    yield None, each, scope
        elif isinstance(container, ast.ListComp):
            first = container.generators[0]
            for given in self._bound(first.target, first.iter, scope):
                yield None, container.elt, Scope(scope.around, {**scope.given, **given})

    def _looked_up(self, node: ast.Subscript, scope: Scope) -> Iterator[Value]:
        """Find what a table holds at a place that is written down, or else all that it holds."""
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        for container, where in self._containers(node.value, scope):
            if isinstance(node.slice, ast.Slice):
                first = node.slice.lower.value if isinstance(node.slice.lower, ast.Constant) else 0
                if isinstance(container, ast.Tuple) and isinstance(first, int):
                    yield ast.Tuple(container.elts[first:]), where
            else:
                found = list(self._entries(container, where))
                found = found[at : at + 1] if isinstance(at, int) else found
                yield from ((value, inner) for _key, value, inner in found)


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
