# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's fields become ours: whose entry is taken over, and what remains of an object afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api_fields import foreseen, taken_over


def entry(manager: str, operation: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields, **more}


def found(*entries: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it", "managedFields": list(entries)}, **fields}


A: dict[str, Any] = {"f:data": {".": {}, "f:a": {}}}
B: dict[str, Any] = {"f:data": {"f:b": {}}}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], None),
        ([entry("kubephase", "Apply", A)], None),
        ([entry("kubectl-edit", "Update", A)], None),
        ([entry("kubeadm", "Update", A, subresource="status")], None),
        ([entry("kubeadm", "Update", A)], [entry("kubephase", "Apply", A)]),
        ([entry("kubephase", "Update", A)], [entry("kubephase", "Apply", A)]),
        (
            [entry("kubectl-edit", "Update", B), entry("kubeadm", "Update", A), entry("kubephase", "Apply", B)],
            [entry("kubephase", "Apply", {"f:data": {".": {}, "f:a": {}, "f:b": {}}}), entry("kubectl-edit", "Update", B)],
        ),
    ],
)
def test_whose_entry_is_taken_over(entries: list[dict[str, Any]], expected: list[dict[str, Any]] | None) -> None:
    assert taken_over(found(*entries)) == expected


KUBEADM = entry("kubeadm", "Update", {"f:data": {".": {}, "f:a": {}, "f:b": {}}})
PORTS: dict[str, Any] = {
    "f:spec": {"f:ports": {".": {}, 'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}}}
}
NOTE: dict[str, Any] = {"f:metadata": {"f:annotations": {".": {}, "f:note": {}}}}


@pytest.mark.parametrize(
    ("live", "manifest", "left"),
    [
        # Rendered, or not; somebody else's too; nothing of kubeadm's.
        (found(KUBEADM, data={"a": "1", "b": "2"}), {"data": {"a": "1"}}, {"data": {"a": "1"}}),
        (found(KUBEADM, data={"a": "1", "b": "2"}), {"data": {"a": "1", "b": "3"}}, {"data": {"a": "1", "b": "2"}}),
        (found(KUBEADM, data={"a": "1", "b": "2"}), {}, {}),
        (found(KUBEADM, entry("x", "Update", B), data={"a": "1", "b": "2"}), {"data": {"a": "1"}}, {"data": {"a": "1", "b": "2"}}),
        (found(entry("x", "Update", B), data={"a": "1", "b": "2"}), {"data": {"a": "1"}}, {"data": {"a": "1", "b": "2"}}),
        (found(KUBEADM, data={"a": "1", "foreign": "2"}), {"data": {"a": "1"}}, {"data": {"a": "1", "foreign": "2"}}),
        # Items of a list that has keys.
        (
            found(entry("kubeadm", "Update", PORTS), spec={"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}]}),
            {"spec": {"ports": [{"port": 53, "name": "dns"}]}},
            {"spec": {"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}]}},
        ),
        (
            found(
                entry("kubeadm", "Update", PORTS),
                spec={"ports": [{"port": 9, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "name": "dns"}]},
            ),
            {"spec": {"ports": [{"port": 9, "protocol": "UDP"}]}},
            {"spec": {"ports": [{"port": 9, "protocol": "UDP"}]}},
        ),
        # Members of a set.
        (found(entry("kubeadm", "Update", {"f:finalizers": {'v:"one"': {}}}), finalizers=["one", "two"]), {}, {"finalizers": ["two"]}),
    ],
)
def test_what_remains(live: dict[str, Any], manifest: dict[str, Any], left: dict[str, Any]) -> None:
    kept = {name: value for name, value in foreseen(live, live, manifest).items() if name not in ("apiVersion", "kind", "metadata")}
    assert kept == left


def test_an_annotation_that_is_not_rendered_any_more_goes_with_its_map() -> None:
    live = found(entry("kubeadm", "Update", NOTE))
    live["metadata"]["annotations"] = {"note": "x"}
    assert "annotations" not in foreseen(live, live, {"metadata": {"name": "it"}})["metadata"]
    assert live["metadata"]["annotations"] == {"note": "x"}  # the object that was read is left alone
