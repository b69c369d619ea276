# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages that are made from the code say what it says now, and every variable has its row."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.documentation import errors, markup, modules, render, variables


def test_what_is_made_from_the_code_is_current() -> None:
    assert render.stale() == [], "run python3 tests/tools/documentation/render.py"


def test_a_page_that_is_not_current_or_not_wanted_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted = {**render.made(), "docs/variables.md": "other"}
    monkeypatch.setattr(render, "made", lambda: {name: text for name, text in wanted.items() if name != "docs/modules/addon.md"})
    assert render.stale() == ["docs/modules/addon.md", "docs/variables.md"]


def test_every_variable_that_is_read_has_a_row_and_no_other_has() -> None:
    assert variables.read() - variables.documented() == set()
    assert variables.documented() - variables.read() == set()
    of_roles = {name for options in variables.roles().values() for name in options}
    assert of_roles & {name for options in variables.of_playbooks().values() for name in options} == set()


def test_every_module_has_a_page() -> None:
    assert set(modules.render()) == {"docs/modules.md", *(f"docs/modules/{name}.md" for name in modules.names())}


def test_errors_are_found_whole() -> None:
    """Spelled out in place, behind a name of the file, and behind a name that is given two values in one function."""
    every = errors.errors()
    assert len(every) > 150
    assert {error.area for error in every} <= set(errors.AREAS.values())
    by_found = {error.found: error for error in every}
    assert by_found["the module does not run as root"].fix == "Set become: true, or log in as root"
    assert by_found["it is not valid YAML"]
    assert "hostnamectl" in by_found["the node would be called …, as every other host"].fix


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("Set C(become)", "Set `become`"),
        ("see M(kubephase.cluster.pki_cert)", "see [`pki_cert`](modules/pki_cert.md)"),
        ("V(720h) or I(none)", "`720h` or *none*"),
        ("C(a(b\\))", "`a(b)`"),
        ("a CA(x)", "a CA(x)"),
    ],
)
def test_markup(given: str, spelled: str) -> None:
    assert markup.markdown(given) == spelled
