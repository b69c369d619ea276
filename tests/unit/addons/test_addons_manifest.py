# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A manifest of the user's: what is read from it, in which order, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._addons.user_manifest import objects
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable

CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: net}, data: {since: 2026-01-01}}"
SPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: net}}"
DEFINITION = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x.test}}"


def test_what_others_depend_on_comes_first_and_the_rest_keeps_its_order() -> None:
    second = CONFIG.replace("name: a", "name: b")
    text = f"# comment\n---\n{CONFIG}\n---\n---\n{DEFINITION}\n---\nkind: List\nitems:\n- {second}\n- {SPACE}\n"
    assert [(each["kind"], each["metadata"]["name"]) for each in objects("net.yaml", text)] == [
        ("Namespace", "net"),
        ("CustomResourceDefinition", "x.test"),
        ("ConfigMap", "a"),
        ("ConfigMap", "b"),
    ]


def test_a_date_stays_a_text() -> None:
    assert objects("net.yaml", CONFIG.encode())[0]["data"] == {"since": "2026-01-01"}


def test_nothing_in_it_is_nothing_to_apply() -> None:
    assert objects("net.yaml", "---\n# later\n") == ()


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ManyUnusable) as report:
        objects("net.yaml", f"just a text\n---\n{CONFIG}\n---\nkind: Service\nmetadata: {{}}\n---\n{CONFIG}\n")
    assert [str(finding) for finding in report.value.findings] == [
        "net.yaml, document 1: it is not a Kubernetes object. Correct the manifest and run again",
        "net.yaml, document 3: apiVersion and metadata.name are missing. Correct the manifest and run again",
        "net.yaml: ConfigMap net/a is in it twice. Correct the manifest and run again",
    ]


def test_what_is_no_yaml_is_not_quoted() -> None:
    with pytest.raises(Unusable) as problem:
        objects("net.yaml", "kind: Secret\nstringData:\n  password: 'hunter2\n")
    assert "it is not valid YAML, see about line" in str(problem.value)
    assert "hunter2" not in str(problem.value)
