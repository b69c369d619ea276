# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One version everywhere: galaxy.yml, the changelog, what plugins say of themselves, the execution environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
# As semver.org gives it, without build metadata, which Galaxy does not take.
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
# The keys of version 3 that ansible-builder takes; it refuses any other. `make compat` lets it read the file itself.
BUILDER = {"version", "build_arg_defaults", "dependencies", "images", "additional_build_steps", "additional_build_files", "options"}
BUILDER_DEPENDENCIES = {"python", "galaxy", "system", "python_interpreter", "ansible_core", "ansible_runner", "exclude"}


def parsed(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


GALAXY = parsed("galaxy.yml")
RELEASES: dict[str, Any] = parsed("changelogs/changelog.yaml")["releases"]


def docstring(path: Path) -> dict[str, Any]:
    """The documentation in a plugin, read without importing it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION" and isinstance(node.value, ast.Constant):
            found: dict[str, Any] = yaml.safe_load(str(node.value.value))
            return found
    return {}


def documented() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Everything that has a version of its own: kind, name, documentation."""
    for path in sorted((ROOT / "plugins/modules").glob("*.py")):
        yield "module", path.stem, docstring(path)
    for path in sorted((ROOT / "plugins/callback").glob("*.py")):
        yield "callback", path.stem, docstring(path)
    for path in sorted((ROOT / "plugins/filter").glob("*.yml")):
        yield "filter", path.stem, yaml.safe_load(path.read_text())["DOCUMENTATION"]
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        yield "role", path.parents[1].name, yaml.safe_load(path.read_text())["argument_specs"]["main"]


def fragments() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((ROOT / "plugins/doc_fragments").glob("*.py")):
        yield path.stem, docstring(path)


def versions(options: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """The versions that options name, whatever they are below."""
    for name, option in options.items():
        if "version_added" in option:
            yield f"{where}.{name}", str(option["version_added"])
        yield from versions(option.get("suboptions") or option.get("options") or {}, f"{where}.{name}")


def strangers(found: Mapping[str, Any], where: str, known: set[str]) -> list[str]:
    """What names a version that the changelog does not know, or none where there must be one."""
    own = [(where, str(found.get("version_added")))]
    return [f"{place}: {version}" for place, version in [*own, *versions(found.get("options") or {}, where)] if version not in known]


def test_the_version_is_semantic_and_the_newest_of_the_changelog() -> None:
    assert SEMANTIC.fullmatch(GALAXY["version"])
    assert all(SEMANTIC.fullmatch(version) for version in RELEASES)
    newest = max(RELEASES, key=lambda version: [int(part) for part in version.partition("-")[0].split(".")])
    assert newest == GALAXY["version"]


@pytest.mark.parametrize(("kind", "name", "found"), [*documented()], ids=lambda value: value if isinstance(value, str) else "")
def test_it_was_added_in_a_version_that_there_is(kind: str, name: str, found: dict[str, Any]) -> None:
    assert strangers(found, f"{kind} {name}", set(RELEASES)) == []


@pytest.mark.parametrize(("name", "found"), [*fragments()], ids=lambda value: value if isinstance(value, str) else "")
def test_shared_options_were_added_in_a_version_that_there_is(name: str, found: dict[str, Any]) -> None:
    assert [place for place, version in versions(found["options"], name) if version not in RELEASES] == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"version_added": "0.1.0"}, []),
        ({}, ["it: None"]),
        ({"version_added": "9.0.0"}, ["it: 9.0.0"]),
        ({"version_added": "0.1.0", "options": {"a": {"type": "str", "version_added": "9.0.0"}}}, ["it.a: 9.0.0"]),
        (
            {"version_added": "0.1.0", "options": {"a": {"type": "dict", "suboptions": {"b": {"version_added": "0.0.1"}}}}},
            ["it.a.b: 0.0.1"],
        ),
    ],
)
def test_a_planted_version_is_seen(found: dict[str, Any], told: list[str]) -> None:
    assert strangers(found, "it", {"0.1.0"}) == told


def announced() -> set[tuple[str, str]]:
    """What the releases of the changelog list as new."""
    found = set()
    for release in RELEASES.values():
        found |= {("module", entry["name"]) for entry in release.get("modules", ())}
        found |= {(kind, entry["name"]) for kind, entries in release.get("plugins", {}).items() for entry in entries}
        found |= {("role", entry["name"]) for entry in release.get("objects", {}).get("role", ())}
    return found


def test_the_changelog_announces_what_there_is() -> None:
    """After a new plugin of a version that is out already: `make changelog`."""
    assert announced() == {(kind, name) for kind, name, found in documented()}


def test_the_page_was_made_from_the_changelog() -> None:
    page = (ROOT / "CHANGELOG.md").read_text().replace("\\", "")
    for version, release in RELEASES.items():
        assert f"## v{version}\n" in page
        changes = [each for section in release["changes"].values() for each in ([section] if isinstance(section, str) else section)]
        assert [each for each in changes if re.sub(r"``(.*?)``", r"<code>\1</code>", each) not in page] == []
    assert [name for kind, name in announced() if f"kubephase.cluster.{name} " not in page] == []


def test_the_execution_environment_is_one_and_holds_this_version() -> None:
    found = parsed("execution-environment.yml")
    assert set(found) <= BUILDER
    assert found["version"] == 3
    assert set(found["dependencies"]) <= BUILDER_DEPENDENCIES
    artifact = f"kubephase-cluster-{GALAXY['version']}.tar.gz"
    assert found["additional_build_files"] == [{"src": f"dist/{artifact}", "dest": "artifact"}]
    assert found["dependencies"]["galaxy"] == {"collections": [{"name": f"artifact/{artifact}", "type": "file"}]}


def test_the_collection_brings_its_requirements_into_an_execution_environment() -> None:
    assert parsed("meta/execution-environment.yml")["dependencies"] == {"python": "requirements.txt"}
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert {re.split(r"[<>=]", line)[0] for line in lines} == {"cryptography", "PyYAML"}


def test_the_same_oldest_ansible_is_named_everywhere() -> None:
    wanted = parsed("meta/runtime.yml")["requires_ansible"]
    assert parsed("execution-environment.yml")["dependencies"]["ansible_core"]["package_pip"] == f"ansible-core{wanted}"
    oldest = {
        str(yaml.safe_load(path.read_text())["galaxy_info"]["min_ansible_version"]) for path in (ROOT / "roles").glob("*/meta/main.yml")
    }
    assert {f">={version}" for version in oldest} == {wanted.removesuffix(".0")}
