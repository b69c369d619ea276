# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of all errors, from the places in the code that raise them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tools.documentation import mistakes
from tools.documentation.error_texts import HOLE, Texts
from tools.documentation.markdown import ROOT
from tools.documentation.markup import escaped, plain

PAGE = "docs/errors.md"
_CLASS = "Unusable"
# What is told with one text instead.
WHOLE = ("AnsibleActionFail", "AnsibleFilterError")
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
    "filter": "On the controller",
    "_adapters": "Host, API server, etcd and systemd, in whatever phase",
}
_HEAD = """\
# Errors

A failed task says `where: what was found. What to do`. This is every such error by its middle part, with `…` for what differs
from case to case. Search the page for some words of yours; [troubleshooting.md](troubleshooting.md) tells more about those that
are met most.

Mistakes in documents are told in another way, as [the first part](#mistakes-in-documents) shows, and checks of preflight by the
names in [preflight.md](preflight.md).

This page is made from the code by `tests/tools/documentation/render.py`.
"""


@dataclass(frozen=True, order=True)
class Error:
    """What one place of the code says."""

    area: str
    found: str
    where: str
    fix: str


@cache
def errors() -> list[Error]:
    """Collect what the code of the collection may say."""
    found: set[Error] = set()
    for place in ("module_utils", "plugin_utils", "action", "filter"):
        for path in sorted((ROOT / "plugins" / place).rglob("*.py")):
            found.update(_of(path))
    return sorted(found)


def _of(path: Path) -> Iterator[Error]:
    texts = Texts(ast.parse(path.read_text()))
    parts = path.relative_to(ROOT / "plugins").parts
    area = AREAS.get(parts[1]) or AREAS.get(parts[0]) or "Others"
    for call in texts.calls(*WHOLE):
        for scope in texts.scopes(call):
            for text in _known(texts.spell(call.args[0] if call.args else None, scope)):
                yield from _error(area, text, "", "")
    for call in texts.calls(_CLASS):
        given = dict(zip(("where", "found", "fix"), call.args), **{word.arg: word.value for word in call.keywords if word.arg})
        for scope in texts.scopes(call):
            where, found, fix = (_known(texts.spell(given.get(part), scope)) for part in ("where", "found", "fix"))
            for text in found:
                yield from _error(area, text, where[0] if len(where) == 1 else HOLE, ". Or: ".join(map(plain, fix)))


def _known(texts: list[str]) -> list[str]:
    """What is known tells more than that there may be something else."""
    return [text for text in texts if plain(text) != HOLE] or [HOLE]


def _error(area: str, found: str, where: str, fix: str) -> Iterator[Error]:
    what = plain(found)
    if what.strip(f"{HOLE} .,:;()'\""):
        yield Error(area, what, plain(where), plain(fix))
    elif plain(fix) not in ("", HOLE):
        # What another program says, and what to do about it.
        yield Error(area, HOLE, plain(where), plain(fix))


def render() -> str:
    """Spell the page."""
    parts = [_HEAD, mistakes.render()]
    every = errors()
    for title in dict.fromkeys([*AREAS.values(), "Others"]):
        rows = sorted((error for error in every if error.area == title), key=lambda error: error.found.lower())
        if rows:
            lines = [f"## {title}", "", "| found | where | what to do |", "|---|---|---|"]
            lines += [f"| {_shown(row.found) or HOLE} | {_shown(row.where)} | {_shown(row.fix)} |" for row in rows]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _shown(text: str) -> str:
    return "" if text == HOLE else escaped(text)
