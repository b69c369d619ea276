# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules and roles say of themselves, compared with what they take."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._runner import module as runner
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.options import KIND_OPTIONS, SPEC

ROOT = Path(__file__).resolve().parents[2]
# How the others reach a host; no task names it.
CARRIER = "with_kept_code"
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py") if path.stem != CARRIER)
PHASES = [name for name in MODULES if name != "documents"]
PACKAGE = "ansible_collections.kubephase.cluster.plugins"


class Stopped(Exception):
    """Raised in the place of a run, with the specification that it would use."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__()
        self.spec = spec


def documentation(name: str) -> dict[str, Any]:
    module = importlib.import_module(f"{PACKAGE}.modules.{name}")
    found: dict[str, Any] = yaml.safe_load(module.DOCUMENTATION)
    merged: dict[str, Any] = {"options": {}, "attributes": {}}
    for fragment in found.get("extends_documentation_fragment", []):
        source = importlib.import_module(f"{PACKAGE}.doc_fragments.{fragment.rpartition('.')[2]}")
        part = yaml.safe_load(source.ModuleDocFragment.DOCUMENTATION)
        for section in merged:
            merged[section].update(part.get(section, {}))
    for section in merged:
        merged[section].update(found.get(section, {}))
    return {**found, **merged}


def specification(name: str) -> dict[str, Any]:
    """The argument specification as the module really hands it to Ansible."""

    def stop(argument_spec: dict[str, Any], **checks: Any) -> None:
        raise Stopped(argument_spec)

    with mock.patch.object(runner, "AnsibleModule", stop), pytest.raises(Stopped) as stopped:
        importlib.import_module(f"{PACKAGE}.modules.{name}").main()
    return stopped.value.spec


def disagreements(documented: dict[str, Any], spec: dict[str, Any]) -> list[str]:
    """Every way in which documented options and a specification differ."""
    found = [f"{name} is not documented" for name in sorted(set(spec) - set(documented))]
    found += [f"{name} is documented and not taken" for name in sorted(set(documented) - set(spec))]
    for name in sorted(set(spec) & set(documented)):
        for aspect in ("type", "elements", "choices", "default", "required", "no_log"):
            if aspect != "no_log" and documented[name].get(aspect) != spec[name].get(aspect):
                found.append(
                    f"{name}: {aspect} is {documented[name].get(aspect)!r} in the documentation, {spec[name].get(aspect)!r} in code"
                )
    return found


@pytest.mark.parametrize("name", PHASES)
def test_documentation_and_specification_agree(name: str) -> None:
    assert disagreements(documentation(name)["options"], specification(name)) == []


def test_the_controller_side_step_takes_the_shared_options() -> None:
    assert disagreements(documentation("documents")["options"], SPEC) == []


@pytest.mark.parametrize(
    ("documented", "spec"),
    [
        ({}, {"a": {"type": "str"}}),
        ({"a": {"type": "str"}}, {}),
        ({"a": {"type": "str"}}, {"a": {"type": "int"}}),
        ({"a": {"type": "str", "choices": ["x"]}}, {"a": {"type": "str", "choices": ["x", "y"]}}),
        ({"a": {"type": "str", "default": "x"}}, {"a": {"type": "str"}}),
    ],
)
def test_a_planted_disagreement_is_seen(documented: dict[str, Any], spec: dict[str, Any]) -> None:
    assert disagreements(documented, spec)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_tells_what_it_promises(name: str) -> None:
    module = importlib.import_module(f"{PACKAGE}.modules.{name}")
    found = documentation(name)
    assert {"check_mode", "diff_mode", "platform", "idempotent"} <= set(found["attributes"])
    examples = yaml.safe_load(module.EXAMPLES)
    assert all(f"kubephase.cluster.{name}" in task for task in examples)
    options = set(found["options"])
    assert all(set(task[f"kubephase.cluster.{name}"] or {}) <= options for task in examples)
    assert yaml.safe_load(module.RETURN)


def test_every_phase_module_is_routed_through_the_controller_side_step() -> None:
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
    routed = runtime["plugin_routing"]["modules"]
    assert {name: routed[name]["action_plugin"] for name in PHASES} == dict.fromkeys(PHASES, "kubephase.cluster.documents")
    assert sorted(runtime["action_groups"]["phase"]) == [f"kubephase.cluster.{name}" for name in MODULES]


def test_roles_take_every_document_as_a_variable() -> None:
    specs = yaml.safe_load((ROOT / "roles/init/meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    wanted = {f"kubephase_{option}" for option in KIND_OPTIONS if option != "join_configuration"} | {"kubephase_config_file"}
    assert wanted <= set(specs)
