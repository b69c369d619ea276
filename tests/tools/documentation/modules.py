# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A page for every module, from what it says of itself, and one that lists them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tools.documentation.markdown import ROOT
from tools.documentation.markup import as_list, cell, default_of, markdown, told, type_of

INDEX = "docs/modules.md"
PLACE = "docs/modules"
# Those that every module has are told of once, on the page that lists the modules.
SHARED = ("kubephase.cluster.documents", "kubephase.cluster.phase")
_CARRIER = "with_kept_code"
_MADE = "from the documentation in `plugins/modules/` by `tests/tools/documentation/render.py`"
_COLUMNS = ["| option | type | default | meaning |", "|---|---|---|---|"]


@cache
def _texts(path: Path) -> dict[str, str]:
    """Give the texts that a Python file assigns to names, without running it."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant):
            found[node.targets[0].id] = str(node.value.value)
    return found


def names() -> list[str]:
    """Name every module that a task can name."""
    return sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py") if path.stem != _CARRIER)


@cache
def fragment(name: str) -> dict[str, Any]:
    """Give what modules share under a name."""
    found: dict[str, Any] = yaml.safe_load(_texts(ROOT / f"plugins/doc_fragments/{name.rpartition('.')[2]}.py")["DOCUMENTATION"])
    return found


def render() -> dict[str, str]:
    """Spell every page."""
    pages = {f"{PLACE}/{name}.md": _module(name) for name in names()}
    return {INDEX: _index(), **pages}


def _index() -> str:
    lines = [
        "# Modules",
        "",
        "Every module takes kubeadm's documents from its options or from the `kubephase_*` variables and can be used alone.",
        "",
    ]
    lines += [f"The pages are made {_MADE}. `ansible-doc kubephase.cluster.pki_cert` shows the same in a terminal.", ""]
    lines += ["| module | does |", "|---|---|"]
    for name in names():
        said = yaml.safe_load(_texts(ROOT / f"plugins/modules/{name}.py")["DOCUMENTATION"])
        lines.append(f"| [`{name}`](modules/{name}.md) | {cell(markdown(said['short_description']))} |")
    lines += ["", "## Shared options", "", *_COLUMNS]
    for source in SHARED:
        lines += [_row(name, option, _from_docs) for name, option in fragment(source).get("options", {}).items()]
    return "\n".join(lines) + "\n"


def _module(name: str) -> str:
    texts = _texts(ROOT / f"plugins/modules/{name}.py")
    said = yaml.safe_load(texts["DOCUMENTATION"])
    used = as_list(said.get("extends_documentation_fragment"))
    options, attributes = {}, {}
    for source in used:
        content = fragment(source)
        attributes.update(content.get("attributes", {}))
        if source not in SHARED:
            options.update(content.get("options", {}))
    options.update(said.get("options", {}))
    for key, own in said.get("attributes", {}).items():
        attributes[key] = {**attributes.get(key, {}), **own}
    lines = [f"# {name}", "", f"{markdown(said['short_description'], _beside)}.", ""]
    lines += [f"- {' '.join(markdown(text, _beside).split())}" for text in as_list(said.get("description"))]
    lines += _options(options, shared=any(source in SHARED for source in used))
    lines += _attributes(attributes)
    for title, key in (("Requirements", "requirements"), ("Notes", "notes")):
        if said.get(key):
            lines += ["", f"## {title}", "", *(f"- {' '.join(markdown(text, _beside).split())}" for text in as_list(said[key]))]
    lines += ["", "## Examples", "", "```yaml", texts["EXAMPLES"].strip().removeprefix("---").strip(), "```"]
    lines += _returned(yaml.safe_load(texts["RETURN"]))
    also = [each["module"] for each in said.get("seealso", []) if "module" in each]
    if also:
        lines += ["", "See also " + ", ".join(markdown(f"M({each})", _beside) for each in also) + "."]
    return "\n".join(lines) + "\n"


def _beside(name: str) -> str:
    return f"{name}.md"


def _from_docs(name: str) -> str:
    return f"modules/{name}.md"


def _row(name: str, option: dict[str, Any], link: Callable[[str], str], above: str = "") -> str:
    return f"| `{above}{name}` | {type_of(option)} | {default_of(option)} | {told(option, link)} |"


def _options(options: dict[str, Any], shared: bool) -> list[str]:
    lines = ["", "## Options", ""]
    if shared:
        lines.append("Besides the [shared options](../modules.md#shared-options)" + (":" if options else "; it has no others."))
    if not options:
        return lines
    lines += ["", *_COLUMNS] if shared else _COLUMNS
    for name, option in options.items():
        lines.append(_row(name, option, _beside))
        lines += [_row(inner, part, _beside, f"{name}.") for inner, part in option.get("suboptions", {}).items()]
    return lines


def _attributes(attributes: dict[str, Any]) -> list[str]:
    if not attributes:
        return []
    lines = ["", "## Attributes", "", "| attribute | support | |", "|---|---|---|"]
    for name, each in attributes.items():
        support = ", ".join(as_list(each.get("support") or each.get("platforms")))
        said = " ".join(as_list(each.get("details")) or as_list(each.get("description")))
        lines.append(f"| {name} | {support} | {cell(markdown(said, _beside))} |")
    return lines


def _returned(values: dict[str, Any]) -> list[str]:
    lines = ["", "## Returns", "", "| value | type | returned | meaning |", "|---|---|---|---|"]

    def add(entries: dict[str, Any], above: str) -> None:
        for name, each in entries.items():
            kind, when = type_of(each), cell(markdown(str(each.get("returned", "")), _beside))
            lines.append(f"| `{above}{name}` | {kind} | {when} | {told(each, _beside)} |")
            add(each.get("contains", {}), f"{above}{name}{'[]' if each.get('type') == 'list' else ''}.")

    add(values, "")
    return lines
