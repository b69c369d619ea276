# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every error that the code may raise is in docs/errors.md: its words are looked for there, however the page was made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.documentation.markdown import ROOT

PLUGINS = ROOT / "plugins"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Class: which of its arguments are told, by their places and by their names.
RAISED: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "Unusable": ((1, 2), ("found", "fix")),
    "AnsibleActionFail": ((0,), ()),
    "AnsibleFilterError": ((0,), ()),
    # Mistakes in documents.
    "problem": ((1, 2, 3), ("found", "expected", "hint")),
    "Problem": ((1, 2, 3), ("found", "expected", "hint")),
    "_Refused": ((1, 2), ("found", "expected")),
}
# Fewer words than this may be a value as well as part of a sentence.
FEWEST = 3


def words_of(source: str) -> Iterator[tuple[int, str]]:
    """Collect the constant parts of whatever errors are raised with: in place, behind a name, or behind a parameter."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    around = {each: function for function in functions for each in ast.walk(function)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for told in arguments(call):
            for part in (told, *behind(told, around.get(call), tree)):
                yield from ((call.lineno, text) for text in constants(part))


def arguments(call: ast.Call) -> Iterator[ast.expr]:
    places, names = RAISED.get(called(call), ((), ()))
    yield from (argument for place, argument in enumerate(call.args) if place in places)
    yield from (word.value for word in call.keywords if word.arg in names)


def behind(told: ast.expr, function: ast.AST | None, tree: ast.Module) -> Iterator[ast.expr]:
    """Find what the names in an expression are given: by the function or the file, by classes, or by those who call the function."""
    attributes = {node.attr for node in ast.walk(told) if isinstance(node, ast.Attribute)}
    yield from (value for target, value in attributes_of(tree) if target in attributes)
    names = {node.id for node in ast.walk(told) if isinstance(node, ast.Name)}
    for node in ast.walk(function or tree):
        for target, value in assigned(node):
            if target in names and (function is None or value.lineno <= told.lineno):
                yield value
    yield from (value for node in tree.body for target, value in assigned(node) if target in names)
    if isinstance(function, FUNCTIONS):
        parameters = [each.arg for each in function.args.args if each.arg != "self"]
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) == function.name):
            yield from (value for name, value in zip(parameters, call.args) if name in names)
            yield from (word.value for word in call.keywords if word.arg in names)


def attributes_of(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Give the attributes of classes and of their objects, with what they are given."""
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        yield from (pair for node in owner.body for pair in assigned(node))
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                yield node.targets[0].attr, node.value


def assigned(node: ast.AST) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            return [(target.id, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            return [(each.id, part) for each, part in zip(target.elts, value.elts) if isinstance(each, ast.Name)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    return []


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def constants(expression: ast.expr) -> Iterator[str]:
    """Give the texts in an expression, but not what is only looked up or handed to another function."""
    if isinstance(expression, ast.Constant):
        # A text may have places to be filled, too.
        parts = re.split(r"\{\w+[^{}]*\}", expression.value) if isinstance(expression.value, str) else []
        yield from (" ".join(part.split()) for part in parts if len(part.split()) >= FEWEST)
    elif isinstance(expression, (ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.BoolOp, ast.List)):
        for part in ast.iter_child_nodes(expression):
            if isinstance(part, ast.expr):
                yield from constants(part)
    elif isinstance(expression, ast.Subscript) and isinstance(expression.value, ast.Dict):
        for value in expression.value.values:
            yield from constants(value)
    elif isinstance(expression, ast.IfExp):
        yield from constants(expression.body)
        yield from constants(expression.orelse)


def page() -> str:
    text = (ROOT / "docs/errors.md").read_text().replace("&lt;", "<").replace("\\", "")
    return " ".join(text.split())


def files() -> list[Path]:
    return sorted(path for path in PLUGINS.rglob("*.py") if path.parent.name != "modules")


def test_every_error_is_on_the_page() -> None:
    told = page()
    found = [(path, *words) for path in files() for words in words_of(path.read_text())]
    assert len(found) > 500
    missing = [f"{path.relative_to(PLUGINS)}:{line}: {text}" for path, line, text in found if text.strip(" .,;:") not in told]
    assert missing == []


def test_modules_raise_none_of_their_own() -> None:
    assert [path.name for path in sorted((PLUGINS / "modules").glob("*.py")) if list(words_of(path.read_text()))] == []


@pytest.mark.parametrize(
    "source",
    [
        "raise Unusable(a, 'it is not there', b)",
        "raise Unusable(a, b, f'Put {c} where it is not there')",
        "raise Unusable(where=a, fix=b, found=f'it is {c}' if c else 'it is not there')",
        "def f():\n  found = 'it is not there'\n  raise plan.Unusable(a, found, b)",
        "def f(found):\n  raise Unusable(a, found, b)\nf('it is not there')",
        "FIX = 'see that it is not there'\ndef f():\n  raise Unusable(a, b, FIX)",
        "raise AnsibleActionFail(f'{a}: it is not there')",
        "def f(findings):\n  findings.problem(a, shown(b), 'it is not there')",
        "def f(findings):\n  hint = ''\n  hint += 'it is not there'\n  findings.problem(a, b, c, hint)",
        "raise InvalidDocuments([Problem(a, b, c, hint=f'it is not there, {d}')])",
        "class A:\n  expected = 'it is not there'\n  def f(self, findings):\n    findings.problem(a, b, self.expected)",
        "class A:\n  def __init__(self):\n    self.rule = {'a': 'it is not there'}[b]\n    findings.problem(a, b, self.rule)",
    ],
)
def test_words_are_found_in_every_shape(source: str) -> None:
    assert any("it is not there" in text for _line, text in words_of(source))
