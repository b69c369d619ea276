# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which objects are applied, for which reason, and what the diff shows and hides."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import report
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.plan import changes
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ApplyObject, ObjectKey, ObjectState, key_of

KEY = ObjectKey("v1", "ConfigMap", "kube-system", "it")
MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "it", "namespace": "kube-system"},
    "data": {"a": "one\ntwo\n"},
}


def stored(**fields: Any) -> dict[str, Any]:
    """The object as a server has it."""
    bookkeeping = {"uid": "u", "resourceVersion": "7", "creationTimestamp": "t", "generation": 3, "managedFields": [{"manager": "x"}]}
    return {**MANIFEST, "metadata": {**MANIFEST["metadata"], **bookkeeping}, **fields}


def told(live: Any, applied: Any, manifest: Any = MANIFEST) -> list[tuple[str, str]]:
    states = {key_of(manifest): ObjectState(live, applied)}
    return [(change.target, change.reason) for change in changes([manifest], states)]


@pytest.mark.parametrize(
    ("live", "applied", "reason"),
    [
        (None, None, "it does not exist"),
        (stored(), stored(), None),
        (stored(status={"seen": 1}), stored(status={"seen": 2}), None),
        (stored(), {**stored(), "metadata": {**stored()["metadata"], "resourceVersion": "8", "generation": 4, "managedFields": []}}, None),
        (stored(data={"a": "x"}), stored(), "data.a differs from what the documents ask for"),
        (stored(data={"a": "one\ntwo\n", "b": ""}), stored(), "data.b differs from what the documents ask for"),
        (stored(data={}), stored(data={"a": ""}), "data.a differs from what the documents ask for"),
        (stored(rules=[1, {"x": 2}]), stored(rules=[1, {"x": 3}]), "rules[1].x differs from what the documents ask for"),
        (stored(rules=[1]), stored(rules=[1, 2]), "rules differs from what the documents ask for"),
        (
            stored(data={}),
            stored(data=dict.fromkeys("abcdef", "")),
            "data.a, data.b, data.c, data.d and 2 more differ from what the documents ask for",
        ),
    ],
)
def test_reasons(live: Any, applied: Any, reason: str | None) -> None:
    assert told(live, applied) == ([("ConfigMap kube-system/it", reason)] if reason else [])


def test_a_name_with_dots_reads_as_one_step() -> None:
    before, after = stored(), stored()
    after["metadata"] = {**after["metadata"], "annotations": {"example.test/hash": "1"}}
    before["metadata"] = {**before["metadata"], "annotations": {"example.test/hash": "2"}}
    assert told(before, after) == [
        ("ConfigMap kube-system/it", "metadata.annotations[example.test/hash] differs from what the documents ask for")
    ]


def test_the_diff_shows_what_we_render_and_what_differs() -> None:
    live = stored(data={"a": "one\n2\n", "gone": "x", "same": "y"}, immutable=False)
    (change,) = changes([MANIFEST], {KEY: ObjectState(live, stored(data={"a": "one\ntwo\n", "same": "y"}, immutable=False))})
    head = "apiVersion: v1\ndata:\n  a: |\n    one\n"
    tail = "kind: ConfigMap\nmetadata:\n  name: it\n  namespace: kube-system\n"
    assert change.before == head + "    2\n  gone: x\n" + tail
    assert change.after == head + "    two\n" + tail
    assert change.action == ApplyObject(MANIFEST)


def test_a_better_reason_is_taken() -> None:
    (change,) = changes([MANIFEST], {}, {KEY: "the CA is another one"})
    assert (change.reason, change.before) == ("the CA is another one", "")
    assert "one\n" in change.after


SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "it", "namespace": "kube-system", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "CANARY"}},
    "data": {"old": "CANARY1", "new": "CANARY2"},
    "stringData": {"plain": "CANARY3"},
}


@pytest.mark.parametrize(
    "state",
    [
        ObjectState(None, None),
        ObjectState({**SECRET, "data": {"old": "CANARY1", "lost": "CANARY4"}}, SECRET),
        ObjectState({**SECRET, "data": {"old": "CANARY5"}}, SECRET),
    ],
)
def test_no_value_of_a_secret_is_ever_shown(state: ObjectState) -> None:
    (change,) = changes([SECRET], {key_of(SECRET): state})
    assert "CANARY" not in f"{change} {change.before} {change.after} {change.reason} {state}"
    assert "new" in change.after


def test_a_changed_value_of_a_secret_says_so() -> None:
    (change,) = changes([SECRET], {key_of(SECRET): ObjectState({**SECRET, "data": {"old": "CANARY5", "new": "CANARY2"}}, SECRET)})
    assert "old: (hidden)" in change.before
    assert "old: (hidden, changed)" in change.after
    assert "new: (hidden)\n" in change.after
    assert change.reason == "data.old differs from what the documents ask for"


def daemon_set(*env: dict[str, Any], group: str = "containers", **metadata: Any) -> dict[str, Any]:
    """An object that describes a pod with variables."""
    pod = {"containers": [{"name": "main", "image": "i"}], group: [{"name": "main", "image": "i", "env": list(env)}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "it", "namespace": "kube-system", **metadata},
        "spec": {"template": {"spec": pod}},
    }


def variable(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value}


NODE_NAME = {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
PROXY = variable("HTTPS_PROXY", "http://jane:CANARY1@proxy.example.test:3128")
OLD_PROXY = variable("HTTPS_PROXY", "http://jane:CANARY2@proxy.example.test:3128")
LAST_APPLIED = {"kubectl.kubernetes.io/last-applied-configuration": "CANARY3"}


@pytest.mark.parametrize("group", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("live", "before", "after"),
    [
        (None, [], ["(hidden)"]),
        ((PROXY, variable("OTHER", "CANARY4")), ["(hidden)", "(hidden)"], ["(hidden)"]),
        ((OLD_PROXY,), ["(hidden)"], ["(hidden, changed)"]),
        ((NODE_NAME,), [], ["(hidden)"]),
    ],
)
def test_no_value_of_a_variable_is_ever_shown(group: str, live: Any, before: list[str], after: list[str]) -> None:
    wanted = daemon_set(PROXY, NODE_NAME, group=group)
    found = None if live is None else daemon_set(*live, group=group, annotations=LAST_APPLIED)
    (change,) = changes([wanted], {key_of(wanted): ObjectState(found, wanted)})
    assert "CANARY" not in f"{change} {change.before} {change.after} {change.reason}"
    assert re.findall(r"value: (.*)", change.before) == before
    assert re.findall(r"value: (.*)", change.after) == after
    assert "fieldPath: spec.nodeName" in change.after
    assert change.action == ApplyObject(wanted)


def test_the_report_tells_what_was_done_to_each() -> None:
    other = {**MANIFEST, "metadata": {"name": "other", "namespace": "kube-system"}}
    third = {**MANIFEST, "metadata": {"name": "third", "namespace": "kube-system"}}
    states = {key_of(other): ObjectState(stored(data={}), stored()), key_of(third): ObjectState(stored(), stored())}
    found = changes([MANIFEST, other, third], states)
    assert [(fact["object"], fact["done"]) for fact in report([str(key_of(each)) for each in (MANIFEST, other, third)], found)] == [
        ("ConfigMap kube-system/it", "created"),
        ("ConfigMap kube-system/other", "changed"),
        ("ConfigMap kube-system/third", "kept"),
    ]
