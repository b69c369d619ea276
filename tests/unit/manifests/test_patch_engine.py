# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Patches as data: the two RFCs, and strategic merges by the rules of the Kubernetes API."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.json_patch import PatchFailed, merged, operated
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patches import patch_files, read_patches
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.strategic import NO_MERGE_KEYS, POD_MERGE_KEYS, strategic
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in names]


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({"a": "b"}, ["c"], ["c"]),
    ],
)
def test_merge_patch(document: Any, patch: Any, expected: Any) -> None:
    assert merged(document, patch) == expected


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": [2]}], {"a": [1, [2]]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/b"}], {"a": 1}),
        ({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/1"}], {"a": [1, 3]}),
        ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
        ({"a": {"b": 1}, "c": {}}, [{"op": "move", "from": "/a/b", "path": "/c/d"}], {"a": {}, "c": {"d": 1}}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a/b": 1, "m~n": 2}, [{"op": "test", "path": "/a~1b", "value": 1}, {"op": "remove", "path": "/m~0n"}], {"a/b": 1}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 1}}], {"b": 1}),
    ],
)
def test_json_patch(document: Any, operations: Any, expected: Any) -> None:
    assert operated(document, operations) == expected


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ({}, "not a list of operations"),
        ([1], "operation 0 is not a map"),
        ([{"op": "remove", "path": "/x"}], "no such path"),
        ([{"op": "replace", "path": "/x", "value": 1}], "no such path"),
        ([{"op": "add", "path": "/x/y", "value": 1}], "no such path"),
        ([{"op": "add", "path": "/a/5", "value": 1}], "no such index"),
        ([{"op": "add", "path": "/a/01", "value": 1}], "no such index"),
        ([{"op": "add", "path": "x", "value": 1}], "path must be a pointer"),
        ([{"op": "add", "path": "/x"}], "it has no value"),
        ([{"op": "test", "path": "/one", "value": True}], "another one"),
        ([{"op": "move", "from": "/a", "path": "/a/0"}], "into itself"),
        ([{"op": "dance", "path": "/a"}], "op must be one of"),
        ([{"op": "remove", "path": ""}], "whole document"),
    ],
)
def test_json_patch_that_does_not_fit(operations: Any, said: str) -> None:
    document = {"a": [1, 2], "one": 1}
    with pytest.raises(PatchFailed, match=said):
        operated(document, operations)
    assert document == {"a": [1, 2], "one": 1}


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": None, "e": 3}}, {"a": 1, "b": {"d": 2, "e": 3}}),
        ({"containers": named("a", "b")}, {"containers": [{"name": "b", "x": 1}]}, {"containers": [{"name": "a"}, {"name": "b", "x": 1}]}),
        ({"containers": named("a", "b")}, {"containers": named("c")}, {"containers": named("c", "a", "b")}),
        ({"volumes": named("a", "b", "c")}, {"volumes": [{"name": "b", "$patch": "delete"}]}, {"volumes": named("a", "c")}),
        ({"volumes": named("a", "b")}, {"volumes": [{"$patch": "replace"}, {"name": "z"}]}, {"volumes": named("z")}),
        ({"env": named("a", value="1")}, {"env": named("a", value="2")}, {"env": named("a", value="2")}),
        ({"ports": [{"containerPort": 1, "name": "x"}]}, {"ports": [{"containerPort": 1, "protocol": "UDP"}]},
         {"ports": [{"containerPort": 1, "name": "x", "protocol": "UDP"}]}),
        ({"volumeMounts": [{"mountPath": "/a", "name": "x"}]}, {"volumeMounts": [{"mountPath": "/b", "name": "x"}]},
         {"volumeMounts": [{"mountPath": "/b", "name": "x"}, {"mountPath": "/a", "name": "x"}]}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        ({"command": ["a"]}, {"command": ["b"]}, {"command": ["b"]}),
        ({"hostAliases": [{"ip": "1", "hostnames": ["a"]}]}, {"hostAliases": [{"ip": "1", "hostnames": ["b"]}]},
         {"hostAliases": [{"ip": "1", "hostnames": ["b"]}]}),
        ({"probe": {"a": 1}}, {"probe": {"$patch": "replace", "b": 2}}, {"probe": {"b": 2}}),
        ({"probe": {"a": 1}}, {"probe": {"$patch": "delete"}}, {"probe": {}}),
        ({}, {"probe": {"$patch": "delete"}}, {}),
        ({}, {"probe": {"a": None, "b": [{"c": None, "d": 1}]}}, {"probe": {"b": [{"d": 1}]}}),
        ({"volumes": [{"name": "a", "hostPath": {}}]}, {"volumes": [{"name": "a", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]},
         {"volumes": [{"name": "a", "emptyDir": {}}]}),
        ({"finalizers": ["a", "b"]}, {"finalizers": ["c", "a"]}, {"finalizers": ["c", "a", "b"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"volumes": named("a", "b", "c")}, {"$setElementOrder/volumes": named("c", "a")}, {"volumes": named("b", "c", "a")}),
        ({"volumes": named("a", "b")}, {"$setElementOrder/volumes": named("b", "n", "a"), "volumes": named("n")},
         {"volumes": named("b", "n", "a")}),
        ({"a": {"b": 1}}, {"a": "text"}, {"a": "text"}),
    ],
)  # fmt: skip
def test_strategic_merge(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert strategic(document, patch, POD_MERGE_KEYS) == expected


def test_without_merge_keys_lists_are_replaced() -> None:
    document = {"containers": named("a"), "map": {"x": 1}}
    assert strategic(document, {"containers": named("b"), "map": {"y": 2}}, NO_MERGE_KEYS) == {
        "containers": named("b"),
        "map": {"x": 1, "y": 2},
    }
    assert document == {"containers": named("a"), "map": {"x": 1}}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ({"containers": [{"image": "x"}]}, "has no name"),
        ({"containers": ["x"]}, "is not a map"),
        ({"containers": [{"$patch": "delete"}]}, "is to be deleted and has no name"),
        ({"containers": [{"name": "a", "$patch": "merge"}]}, "only replace and delete"),
        ({"$patch": "merge"}, "only replace and delete"),
        ({"$retainKeys": ["a"], "b": 1}, r"does not list b"),
        ({"$retainKeys": "a"}, "is not a list"),
        ({"$setElementOrder/containers": 1}, "is not a list"),
        ({"$setElementOrder/containers": named("a"), "containers": named("b")}, "does not list the elements"),
        ({"$deleteFromPrimitiveList/finalizers": "a"}, "needs the name of a list"),
    ],
)
def test_strategic_merge_that_does_not_fit(patch: dict[str, Any], said: str) -> None:
    with pytest.raises(PatchFailed, match=said):
        strategic({"containers": named("a")}, patch, POD_MERGE_KEYS)


TARGETS = ("etcd", "kube-apiserver", "kubeletconfiguration")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("etcd.yaml", ("etcd", "strategic")),
        ("etcd.json", ("etcd", "strategic")),
        ("etcd0+json.yaml", ("etcd", "json")),
        ("etcd-more_of.it+merge.yaml", ("etcd", "strategic")),
        ("kube-apiserver-1+merge.yaml", ("kube-apiserver", "merge")),
        ("kubeletconfiguration+strategic.json", ("kubeletconfiguration", "strategic")),
    ],
)
def test_names_of_patch_files(name: str, expected: tuple[str, str]) -> None:
    body = b"[]" if expected[1] == "json" else b"{}"
    found = read_patches([FileState(f"/p/{name}", body, 0o644, 0.0)], TARGETS)
    assert [(patch.target, patch.kind) for patch in found.found] == [expected]
    assert found.warnings == ()


@pytest.mark.parametrize(("name", "warned"), [("README.md", False), ("etcd.yml", True), ("kube-proxy.yaml", True), (".yaml", False)])
def test_files_that_are_no_patches(name: str, warned: bool) -> None:
    found = read_patches([FileState(f"/p/{name}", b"{}", 0o644, 0.0)], TARGETS)
    assert (found.found, len(found.warnings)) == ((), int(warned))


def test_documents_of_a_file_are_applied_in_order_and_dates_stay_texts() -> None:
    text = b"day: 2001-01-01\nlist: [1]\n---\n---\nlist: [2]\ntime: 12:30\nmode: 0644\nyes: no\n"
    found = read_patches([FileState("/p/etcd.yaml", text, 0o644, 0.0)], TARGETS)
    expected = {"day": "2001-01-01", "list": [2], "time": "12:30", "mode": 0o644, "yes": False}
    assert found.applied("etcd", {"list": [0]}, NO_MERGE_KEYS) == expected
    assert found.applied("kube-apiserver", {"list": [0]}, NO_MERGE_KEYS) == {"list": [0]}


class Listing:
    """Files whose content is their path."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def directory_mode(self, path: str) -> int | None:
        return 0o755

    def below(self, path: str) -> tuple[str, ...]:
        return self._paths

    def read(self, path: str) -> FileState:
        return FileState(path, path.encode(), 0o644, 0.0)


def test_files_are_walked_directory_by_directory() -> None:
    """The order of a sorted walk is not that of sorted paths: a directory comes where its name comes."""
    states = patch_files(Listing("/p/a-b/x.yaml", "/p/a/x.yaml", "/p/b.yaml", "/p/a.yaml"), "/p")
    assert [state.path for state in states] == ["/p/a/x.yaml", "/p/a-b/x.yaml", "/p/a.yaml", "/p/b.yaml"]
    assert patch_files(Listing("/p/a.yaml"), "") == ()
