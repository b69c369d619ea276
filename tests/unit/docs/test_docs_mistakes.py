# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of errors has every mistake that may be found in documents, and a new rule does not stay out of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tools.documentation import mistakes, render
from tools.documentation.error_texts import HOLE
from tools.documentation.markdown import ROOT
from tools.documentation.mistakes import Mistake

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical

PLUGINS = "ansible_collections.kubephase.cluster.plugins"
CONFIG = f"{PLUGINS}.module_utils._config"
# A rule in a file of its own, with most of what makes a message hard to read: other files, loops, names, choices.
RULE = f"""
from {CONFIG}.names import SUBDOMAIN_RULE
from {CONFIG}.problems import Findings, Problem, did_you_mean, shown

_COLOURS = ("red", "green")

def check(document, findings):
    for name, wanted in (("front", "paint on it"), ("back", SUBDOMAIN_RULE)):
        _check_side(document, f"Garden.{{name}}", wanted, findings)

def _check_side(side, path, wanted, findings):
    hint = "Ask the gardener." if side else ""
    findings.problem(f"{{path}}.fence", shown(side), wanted, hint)
    findings.problem(path, f"the colour {{shown(side)}}", "one of " + ", ".join(_COLOURS), did_you_mean(side, _COLOURS))
"""


def planted() -> dict[str, str]:
    return {**mistakes.sources(), "module_utils._config.rules_garden": RULE}


def test_a_new_rule_is_read_with_its_places_and_words() -> None:
    new = set(mistakes.mistakes_of(planted())) - set(mistakes.mistakes())
    subdomain = "a DNS name in lower case: letters, digits, '-' and '.', at most 253 characters"
    fences = [("Garden.front", "paint on it"), ("Garden.back", subdomain)]
    assert new == {
        *(Mistake("Others", f"{path}.fence", "…", wanted, hint) for path, wanted in fences for hint in ("", "Ask the gardener.")),
        *(Mistake("Others", path, "the colour …", "one of red, green", hint) for path, _ in fences for hint in ("", "Did you mean …?")),
    }


def test_a_page_without_a_new_rule_is_not_current(monkeypatch: pytest.MonkeyPatch) -> None:
    found = mistakes.mistakes_of(planted())
    monkeypatch.setattr(mistakes, "mistakes", lambda: found)
    assert render.stale() == ["docs/errors.md"]
    assert "| Garden.{back, front} | the colour … | one of red, green | Did you mean …? |" in render.made()["docs/errors.md"]


def test_every_mistake_has_a_topic() -> None:
    every = mistakes.mistakes()
    assert len(every) > 200
    assert {each.topic for each in every} == set(mistakes.TOPICS.values()), "TOPICS of mistakes.py has a title for every file"


def test_every_mistake_says_something() -> None:
    assert [each for each in mistakes.mistakes() if each.where == each.found == each.expected == HOLE] == []


def test_whoever_is_told_of_a_mistake_is_read() -> None:
    """Another way to report one would pass the page by."""
    told = {name for path in (ROOT / "plugins").rglob("*.py") for name in taking_found_and_expected(ast.parse(path.read_text()))}
    passing_on = {"_invalid"}
    assert told == {name.rpartition(".")[2] for name in mistakes.TOLD} | passing_on


def taking_found_and_expected(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = parameters(node)
        elif isinstance(node, ast.ClassDef):
            fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)}
            made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
            names = fields.union(*map(parameters, made))
        else:
            continue
        if {"found", "expected"} <= names:
            yield node.name


def parameters(function: ast.FunctionDef) -> set[str]:
    return {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}


def test_the_example_is_what_the_code_says() -> None:
    sources = [
        Source("kubeadm.yaml", None, {"kind": "ClusterConfiguration", "networking": {"podSubnet": "10.244.0.0"}}),
        Source("kubephase_cluster_configuration", "ClusterConfiguration", {"clusterNam": "a"}),
    ]
    with pytest.raises(InvalidDocuments) as caught:
        canonical(sources)
    assert f"The kubeadm documents of cp1 are not valid:\n{caught.value}" == mistakes.EXAMPLE
