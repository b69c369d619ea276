# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of all variables, from the argument specifications of the roles and the table of what only playbooks read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tools.documentation.markdown import ROOT
from tools.documentation.markup import default_of, told, type_of

ROLES = ("prepare", "init", "join", "serving")
PAGE = "docs/variables.md"
_TABLE = Path(__file__).with_name("play_variables.yml")
_TITLES = {
    "prepare": "Preparing hosts",
    "init": "Init",
    "join": "Join",
    "serving": "Serving certificates",
}
_HEAD = """\
# Variables

Every variable that the playbooks and roles read. All are optional, and belong wherever Ansible takes variables from: group_vars,
host_vars, the inventory, `-e`. What differs between hosts goes into host_vars.

This page is made from `roles/*/meta/argument_specs.yml` by `tests/tools/documentation/render.py`.
"""
_USED = re.compile(r"\bkubephase_[a-z_]+\b")
_MADE = re.compile(r"(?:register: |key: |^ +)(kubephase_[a-z_]+)(?=$|:)", re.MULTILINE)
_GROUPS = re.compile(r"(?:groups\['|hosts: |['!])(kubephase_[a-z_]+)")


@cache
def roles() -> dict[str, dict[str, Any]]:
    """Give the options of each role."""
    found = {}
    for role in ROLES:
        content = yaml.safe_load((ROOT / f"roles/{role}/meta/argument_specs.yml").read_text())
        found[role] = content["argument_specs"]["main"]["options"]
    return found


@cache
def of_playbooks() -> dict[str, dict[str, Any]]:
    """Give what only playbooks read, by the title of its section."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(_TABLE.read_text())
    return found


def documented() -> set[str]:
    """Name every variable that has a row."""
    return {name for options in (*roles().values(), *of_playbooks().values()) for name in options}


def read() -> set[str]:
    """Name every variable that a playbook or a role takes from outside: read somewhere, and made nowhere."""
    texts = [path.read_text() for place in ("playbooks", "roles") for path in sorted((ROOT / place).rglob("*.yml"))]
    texts = [re.sub(r"^ *#.*$", "", text, flags=re.MULTILINE) for text in texts]
    used = {name for text in texts for name in _USED.findall(text)}
    made = {name for text in texts for pattern in (_MADE, _GROUPS) for name in pattern.findall(text)}
    specified = {name for options in roles().values() for name in options}
    # A play may hand a variable on to another under the same name; that does not make it any less the user's.
    return (used - made) | specified | (made & documented())


def render() -> str:
    """Spell the page."""
    specs = roles()
    where = {name: [role for role in ROLES if name in specs[role]] for options in specs.values() for name in options}
    parts = [_HEAD]
    shared = [name for name, users in where.items() if len(users) > 1]
    parts.append(_section("Documents, and what several roles share", [(name, where[name], _merged(name, specs)) for name in shared]))
    for role in ROLES:
        own = [(name, [role], specs[role][name]) for name in specs[role] if where[name] == [role]]
        parts.append(_section(_TITLES[role], own))
    for title, options in of_playbooks().items():
        parts.append(_section(title, [(name, option["playbooks"], option) for name, option in options.items()]))
    return "\n".join(part for part in parts if part)


def _merged(name: str, specs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One row for a variable of several roles: what all of them say, then what only some do."""
    users = [role for role in ROLES if name in specs[role]]
    said = {role: _sentences(told(specs[role][name])) for role in users}
    own: dict[tuple[str, ...], list[str]] = {}
    for role in users:
        for sentence in said[role]:
            who = tuple(each for each in users if sentence in said[each])
            if who[0] == role:
                own.setdefault(who, []).append(sentence)
    shared = own.pop(tuple(users), [])
    texts = [*shared, *(f"For {' and '.join(roles)}: {' '.join(sentences)}" for roles, sentences in own.items())]
    return {**specs[users[0]][name], "description": texts, "choices": None}


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=\.) (?=[A-Z`])", text) if part]


def _section(title: str, entries: list[tuple[str, list[str], dict[str, Any]]]) -> str:
    if not entries:
        return ""
    lines = [f"## {title}", "", "| variable | type | default | meaning | read by |", "|---|---|---|---|---|"]
    for name, users, option in entries:
        lines.append(f"| `{name}` | {type_of(option)} | {default_of(option)} | {told(option)} | {', '.join(users)} |")
    return "\n".join(lines) + "\n"
