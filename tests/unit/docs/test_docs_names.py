# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What pages name is there: checks of preflight, words of errors, phases, playbooks, variables, releases."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from tools.documentation import errors, variables
from tools.documentation.markdown import ROOT, pages, rows

from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import INIT_PHASES, JOIN_PHASES

DOCS = ROOT / "docs"
_PREFLIGHT = ROOT / "plugins/module_utils/_preflight"
# Variables that a play makes for plays after it, and figures of a program: they are named in pages, and nobody sets them.
_NOT_SET = {"kubephase_report_data", "kubephase_serving_requests_total", "kubephase_plan", "kubephase_progress"}


def texts(place: Path) -> set[str]:
    """Every text in the Python files of a directory, with the fixed parts of those that are put together."""
    return {
        node.value
        for path in place.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def documented_checks() -> set[str]:
    """The first word of every check in the tables of preflight.md."""
    found = [*rows(DOCS / "preflight.md", "## The checks")]
    return {
        re.split(r"[-\s(*]", name.strip())[0]
        for row in found
        for name in re.sub(r"\(.*?\)", "", row[0]).split(",")
        if not name.strip().startswith("-")
    }


def test_every_check_of_preflight_md_exists() -> None:
    known = {re.split(r"-", text)[0] for text in texts(_PREFLIGHT)}
    assert documented_checks() - known == set()


def test_every_check_is_in_preflight_md() -> None:
    """The order of checks in the code names each of them."""
    source = (
        (_PREFLIGHT / "verdicts.py").read_text() + (_PREFLIGHT / "preflight.py").read_text() + (_PREFLIGHT / "selection.py").read_text()
    )
    named = set(re.findall(r'^ +"([A-Z][A-Za-z]+)"[:,]', source, re.MULTILINE))
    assert named
    assert named - documented_checks() == set()


def test_checks_of_troubleshooting_md_are_in_preflight_md() -> None:
    named = {name for row in rows(DOCS / "troubleshooting.md", "## By the name of a check") for name in re.findall(r"`([^`]+)`", row[0])}
    assert named
    assert {re.split(r"-", name)[0] for name in named} - documented_checks() == set()


def matches(phrase: str) -> bool:
    """Whether some error of the code has these words, in this order, where … stands for anything."""
    pattern = re.compile(".*".join(re.escape(part.strip()) for part in phrase.split(errors.HOLE)))
    return any(pattern.search(f"{error.where}: {error.found}. {error.fix}") for error in errors.errors())


@cache
def others() -> str:
    """What roles, playbooks and the controller-side step say beside that."""
    said = [path.read_text() for place in ("playbooks", "roles") for path in (ROOT / place).rglob("*.yml")]
    return "\n".join([*said, *texts(ROOT / "plugins/action"), *texts(ROOT / "plugins/module_utils/_config")])


def phrases() -> list[str]:
    page = DOCS / "troubleshooting.md"
    sections = re.findall(r"^### .+$", page.read_text(), re.MULTILINE)
    return [phrase for section in sections for row in rows(page, section) for phrase in re.findall(r"`([^`]+)`", row[0])]


@pytest.mark.parametrize("phrase", phrases())
def test_every_error_of_troubleshooting_md_is_said_by_the_code(phrase: str) -> None:
    assert matches(phrase) or phrase in others()


def test_an_invented_error_is_seen() -> None:
    assert not matches("the moon is in the way")
    assert matches("the cluster on this host runs with …, the documents ask for …")


@pytest.mark.parametrize(("heading", "phases"), [("## Init", INIT_PHASES), ("## Join", JOIN_PHASES)])
def test_phases_md_has_every_phase(heading: str, phases: tuple[str, ...]) -> None:
    """Those of a sub-phase in a row of its own, or in the last cell of its phase's row."""
    table = rows(DOCS / "phases.md", heading)
    named = {name for row in table for cell in row for name in re.findall(r"`([^`]+)`", cell)}
    assert set(phases) - named == set()
    known_tags = tags()
    assert {tag for row in table for tag in re.findall(r"`([^`]+)`", row[1])} - known_tags == set()


def tags() -> set[str]:
    """Every tag that a role or a playbook gives to a task."""
    found: set[str] = set()
    for place in ("playbooks", "roles"):
        for path in (ROOT / place).rglob("*.yml"):
            for listed in re.findall(r"^ *tags: \[(.*)\]$", path.read_text(), re.MULTILINE):
                found.update(tag.strip() for tag in listed.split(","))
    return found


def test_the_readme_lists_every_playbook() -> None:
    listed = {name for row in rows(ROOT / "README.md", "## Playbooks") for name in re.findall(r"`(?:kubephase\.cluster\.)?(\w+)`", row[0])}
    there = {path.stem for path in (ROOT / "playbooks").glob("*.yml") if not path.stem.endswith("_planned")}
    assert listed == there


@pytest.mark.parametrize("page", [page for page in pages() if page.parent.name != "modules"], ids=lambda page: str(page.relative_to(ROOT)))
def test_variables_that_a_page_names_exist(page: Path) -> None:
    named = set(re.findall(r"\bkubephase_[a-z_]*[a-z]\b", page.read_text()))
    known = variables.documented() | _NOT_SET
    assert {name for name in named - known if not any(each.startswith(f"{name}_") for each in known)} == set()


def test_the_readme_tells_of_every_release() -> None:
    text = (ROOT / "plugins/module_utils/_release/version.py").read_text()
    oldest, newest = (re.search(rf"^{name}(?:: \w+)? = .*?(\d+)\D*$", text, re.MULTILINE) for name in ("OLDEST", "NEWEST"))
    assert oldest and newest
    told: set[int] = set()
    for row in rows(ROOT / "README.md", "## Which Kubernetes"):
        for first, last in re.findall(r"1\.(\d+)(?:–1\.(\d+))?", row[0]):
            told.update(range(int(first), int(last or first) + 1))
    assert told == set(range(int(oldest[1]), int(newest[1]) + 1))


def test_examples_name_a_release_that_is_tested_live() -> None:
    for path in (ROOT / "examples").rglob("kubeadm.yaml"):
        versions = {each.get("kubernetesVersion") for each in yaml.safe_load_all(path.read_text())} - {None}
        assert versions == {"v1.37.1"}
