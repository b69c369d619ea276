# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of all errors, from the places in the code that raise them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.documentation.markdown import ROOT
from tools.documentation.markup import cell

PAGE = "docs/errors.md"
HOLE = "…"
_CLASS = "Unusable"
# Room: the title of its section. An adapter's errors come up in whatever phase uses it.
AREAS = {
    "_prepare": "Preparing hosts, offline bundles",
    "_preflight": "Preflight",
    "_discovery": "Discovery",
    "_pki": "Certificates",
    "_kubeconfig": "Kubeconfigs",
    "_manifests": "Static pods and patches",
    "_kubelet": "Kubelet",
    "_etcd": "Members of etcd",
    "_wait": "Waiting for the control plane",
    "_upload_config": "Upload of the configuration",
    "_certs_upload": "Upload and download of certificates",
    "_tokens": "Tokens",
    "_addons": "Addons",
    "_node_settings": "Labels and taints",
    "_serving": "Serving certificates",
    "_guard": "What a running cluster must not have changed",
    "_objects": "Objects of the API",
    "_config": "Documents",
    "_info": "Facts and report",
    "_verify": "Proof of the cluster",
    "_runner": "Before a phase begins",
    "plugin_utils": "On the controller",
    "action": "On the controller",
    "_adapters": "Host, API server, etcd and systemd, in whatever phase",
}
_HEAD = """\
# Errors

A failed task says `where: what was found. What to do`. This is every such error by its middle part, with `…` for what differs
from case to case. Search the page for some words of yours; [troubleshooting.md](troubleshooting.md) tells more about those that
are met most.

Mistakes in the documents are told as `source: path: found …; expected …` before any host is touched, and checks of preflight by
the names in [preflight.md](preflight.md).

This page is made from the code by `tests/tools/documentation/render.py`.
"""


@dataclass(frozen=True, order=True)
class Error:
    """What one place of the code says."""

    area: str
    found: str
    where: str
    fix: str


class _Texts:
    """Looks names up in the function around a call, then in the file."""

    def __init__(self, tree: ast.Module) -> None:
        self._global = dict(_assigned(tree.body))
        self._assignments: dict[ast.AST, list[ast.Assign | ast.AnnAssign]] = {}

    def spell(self, node: ast.expr, around: ast.AST, depth: int = 0) -> str:
        """Give the text that an expression stands for, with a sign where it is not known before the run."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self.spell(part, around, depth) for part in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.spell(node.left, around, depth) + self.spell(node.right, around, depth)
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
            return self.spell(node.value, around, depth + 1) if node.value.id in self._global else HOLE
        if isinstance(node, ast.Name) and depth < 3:
            value = self._local(around, node.lineno).get(node.id) or self._global.get(node.id)
            return self.spell(value, around, depth + 1) if value is not None else HOLE
        return HOLE

    def _local(self, around: ast.AST, line: int) -> dict[str, ast.expr]:
        """Of several values that a name is given, the last one before it is used counts."""
        if around not in self._assignments:
            nodes = [each for each in ast.walk(around) if isinstance(each, (ast.Assign, ast.AnnAssign))]
            self._assignments[around] = sorted(nodes, key=lambda each: each.lineno)
        return dict(_assigned([each for each in self._assignments[around] if each.lineno <= line]))


def _assigned(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = getattr(node, "value", None)
        if value is None:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, value
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                for name, part in zip(target.elts, value.elts):
                    if isinstance(name, ast.Name):
                        yield name.id, part


@cache
def errors() -> list[Error]:
    """Collect what the code of the collection may say."""
    found: set[Error] = set()
    for place in ("module_utils", "plugin_utils", "action"):
        for path in sorted((ROOT / "plugins" / place).rglob("*.py")):
            found.update(_of(path))
    return sorted(found)


def _of(path: Path) -> Iterator[Error]:
    tree = ast.parse(path.read_text())
    texts = _Texts(tree)
    parts = path.relative_to(ROOT / "plugins").parts
    area = AREAS.get(parts[1]) or AREAS.get(parts[0]) or "Others"
    around: dict[ast.AST, ast.AST] = {}
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            around.update(dict.fromkeys(ast.walk(function), function))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _CLASS and len(node.args) == 3:
            where, what, fix = (_plain(texts.spell(argument, around.get(node, tree))) for argument in node.args)
            if what.strip(f"{HOLE} .,:;()'\""):
                yield Error(area, what, where, fix)


def _plain(text: str) -> str:
    text = " ".join(text.split())
    while HOLE + HOLE in text:
        text = text.replace(HOLE + HOLE, HOLE)
    return text


def render() -> str:
    """Spell the page."""
    parts = [_HEAD]
    every = errors()
    for title in dict.fromkeys([*AREAS.values(), "Others"]):
        rows = sorted((error for error in every if error.area == title), key=lambda error: error.found.lower())
        if rows:
            lines = [f"## {title}", "", "| found | where | what to do |", "|---|---|---|"]
            lines += [f"| {_shown(row.found)} | {_shown(row.where)} | {_shown(row.fix)} |" for row in rows]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _shown(text: str) -> str:
    return "" if text == HOLE else cell(text).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
