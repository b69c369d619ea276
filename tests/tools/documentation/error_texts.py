# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an expression of the code may spell: through names, branches, parameters and functions of the same file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Union

HOLE = "…"
_MOST = 24
# Methods that give a text with the same words in it.
_SAME_WORDS = {"strip", "rstrip", "lstrip", "rpartition", "partition", "splitlines", "decode", "capitalize"}
_FIELD = re.compile(r"\{[^{}]*\}")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)
Assignment = Union[ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For]


@dataclass(frozen=True)
class Scope:
    """A function, or the whole file, and what its parameters were given by one of its callers."""

    around: ast.AST
    given: Mapping[str, tuple[ast.expr, Scope]] = field(default_factory=dict)


class Texts:
    """Reads the expressions of one file."""

    deepest = 5

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self._functions = {node.name: node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS)}
        self._of_file = list(_targets(self.tree.body))
        self._given_in: dict[ast.AST, list[Assignment]] = {}
        self._calls: dict[str, list[ast.Call]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                self._calls.setdefault(last_name(node.func), []).append(node)

    def calls(self, *names: str) -> list[ast.Call]:
        """Give the calls of something by its last name, whatever it belongs to."""
        return [call for name in names for call in self._calls.get(name, [])]

    def scopes(self, node: ast.AST, depth: int = 0) -> list[Scope]:
        """Give the surroundings of a place: one for each call of its function in the file, or one without any."""
        function = self._function(node)
        if not isinstance(function, FUNCTIONS) or depth > 2:
            return [Scope(function)]
        called = [call for call in self._callers(function) if self._function(call) is not function]
        return [Scope(function, self._given(function, call, scope)) for call in called for scope in self.scopes(call, depth + 1)] or [
            Scope(function)
        ]

    def _callers(self, function: Function) -> list[ast.Call]:
        return self.calls(function.name)

    def spell(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> list[str]:
        """Give the texts that an expression may stand for, with a sign where they are not known before the run."""
        if node is None or depth > self.deepest:
            return [HOLE]
        return list(dict.fromkeys(self._spell(node, scope, depth)))[:_MOST] or [HOLE]

    def _spell(self, node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        if isinstance(node, ast.Constant):
            yield str(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield from self._together([self.spell(part, scope, depth) for part in node.values])
        elif isinstance(node, ast.FormattedValue):
            yield from self._inserted(node.value, scope, depth)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from self._together([self.spell(part, scope, depth) for part in (node.left, node.right)])
        elif isinstance(node, ast.IfExp):
            for branch in (node.body, node.orelse):
                yield from self.spell(branch, scope, depth + 1)
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self.spell(value, scope, depth + 1)
        elif isinstance(node, ast.Name):
            for value, where in self._values(node, scope):
                yield from self.spell(value, where, depth + 1)
        elif isinstance(node, ast.Call):
            yield from self._called(node, scope, depth)
        else:
            yield HOLE

    def _inserted(self, node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
        """What stands in braces is mostly a value of the run, unless it is chosen from texts or is a name of the whole file."""
        if not isinstance(node, (ast.IfExp, ast.BoolOp, ast.Constant, ast.Name)):
            yield HOLE
            return
        found = self.spell(node, scope, depth + 1)
        of_run = HOLE in found or (isinstance(node, ast.Name) and not self._is_text_of_file(node, scope))
        # A word in the place of a value is one of its kind; several words are told.
        told = [text for text in found if not of_run or len(text.split()) > 2]
        yield from told
        if len(told) < len(found):
            yield HOLE

    def _is_text_of_file(self, node: ast.Name, scope: Scope) -> bool:
        return node.id not in scope.given and not list(self._assigned(scope.around, node)) and node.id in dict(self._of_file)

    def _called(self, node: ast.Call, scope: Scope, depth: int) -> Iterator[str]:
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute) and name == "join" and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            between = self.spell(node.func.value, scope, depth + 1)[0]
            yield from self._together([self.spell(part, scope, depth + 1) for part in node.args[0].elts], between)
        elif isinstance(node.func, ast.Attribute) and name == "format":
            yield from (_FIELD.sub(HOLE, text) for text in self.spell(node.func.value, scope, depth + 1))
        elif isinstance(node.func, ast.Attribute) and name in _SAME_WORDS:
            yield from self.spell(node.func.value, scope, depth + 1)
        elif isinstance(node.func, ast.Name) and name in self._functions:
            function = self._functions[name]
            inner = Scope(function, self._given(function, node, scope))
            for each in ast.walk(function):
                if isinstance(each, (ast.Return, ast.Yield)) and each.value is not None and self._function(each) is function:
                    yield from self.spell(each.value, inner, depth + 1)
        else:
            yield HOLE

    @staticmethod
    def _together(parts: list[list[str]], between: str = "") -> Iterator[str]:
        return (between.join(some) for some in product(*parts))

    # Names -----------------------------------------------------------------------------------------------------------

    def _values(self, name: ast.Name, scope: Scope) -> Iterable[tuple[ast.expr, Scope]]:
        here = [(value, scope) for value in self._assigned(scope.around, name)]
        if here:
            return here
        if name.id in scope.given:
            return [scope.given[name.id]]
        return [(value, Scope(self.tree)) for target, value in self._of_file if target == name.id]

    def _assigned(self, around: ast.AST, name: ast.Name) -> Iterator[ast.expr]:
        """Give what a name may hold where it is used: the values given before, back to the first that is given in any case."""
        if not isinstance(around, FUNCTIONS):
            return
        above = set(self._ancestors(name))
        if around not in self._given_in:
            self._given_in[around] = [node for node in ast.walk(around) if isinstance(node, ASSIGNMENTS)]
        before = [node for node in self._given_in[around] if node.lineno <= name.lineno]
        settled: list[list[ast.AST]] = []
        for node in sorted(before, key=lambda each: each.lineno, reverse=True):
            if node in above and not isinstance(node, ast.For):
                continue  # it makes a new value of the one before
            if any(node in block for block in settled):
                continue  # its value is replaced in the same block
            values = [value for target, value in _targets([node]) if target == name.id]
            yield from values
            if values and not isinstance(node, ast.For):
                settled.append(self._block(node))
            if values and self._parents[node] in above and node not in above and not self._is_branch(node, name):
                return

    def _is_branch(self, node: ast.AST, name: ast.AST) -> bool:
        """Tell whether a statement is in another branch than a name, of the same if or try."""
        parent = self._parents[node]
        if not isinstance(parent, (ast.If, ast.Try)):
            return False
        above = {*self._ancestors(name), name}
        parts = [getattr(parent, part, None) or [] for part in ("body", "orelse", "finalbody")]
        return not any(node in part and any(each in above for each in part) for part in parts)

    def _block(self, node: ast.AST) -> list[ast.AST]:
        parts = [part for _name, part in ast.iter_fields(self._parents[node]) if isinstance(part, list)]
        return next((part for part in parts if node in part), [])

    def _given(self, function: ast.AST, call: ast.Call, scope: Scope) -> dict[str, tuple[ast.expr, Scope]]:
        arguments = function.args if isinstance(function, FUNCTIONS) else None
        if arguments is None:
            return {}
        names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults)))
        defaults.update({each.arg: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None})
        given = {name: (value, scope) for name, value in defaults.items()}
        given.update({name: (value, scope) for name, value in zip(names, call.args) if not isinstance(value, ast.Starred)})
        given.update({word.arg: (word.value, scope) for word in call.keywords if word.arg})
        return given

    def _function(self, node: ast.AST) -> ast.AST:
        return next((each for each in self._ancestors(node) if isinstance(each, FUNCTIONS)), self.tree)

    def _ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._parents:
            node = self._parents[node]
            yield node


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _targets(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Give names and the values that statements give them; a tuple part by part, through both branches of a choice."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from pairs(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, ast.BinOp(node.target, node.op, node.value)
        elif isinstance(node, ast.For) and isinstance(node.iter, (ast.Tuple, ast.List)):
            for each in node.iter.elts:
                yield from pairs(node.target, each)


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        yield from pairs(target, value.body)
        yield from pairs(target, value.orelse)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for name, part in zip(target.elts, value.elts):
            yield from pairs(name, part)
