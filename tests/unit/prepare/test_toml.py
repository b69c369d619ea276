# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TOML written and read: what others read of it, and what of others' is understood."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._prepare import toml

TREE: dict[str, Any] = {
    "version": 2,
    "plugins": {"io.containerd.grpc.v1.cri": {"a_b": 'x"y\\z', "on": True, "list": ["a", "b"], "inner": {"n": 1.5}}, "empty": {}},
}


def test_what_is_written_is_read_as_it_was() -> None:
    tomllib = pytest.importorskip("tomllib")
    assert tomllib.loads(toml.render(TREE)) == TREE


def test_what_is_written_is_understood() -> None:
    assert toml.settings(toml.render(TREE)) == toml.flat(TREE)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1 # one", {("a",): "1"}),
        ("[x.'y.z'.\"u v\"]\nk='v # no comment'", {("x", "y.z", "u v", "k"): '"v # no comment"'}),
        ("[ x . y ]\n  k = [ 'a' ]", {("x", "y", "k"): "[ 'a' ]"}),
        ('k = ["a","b"]', {("k",): '["a", "b"]'}),
        ('"a=b" = true', {("a=b",): "true"}),
        ("a.b = 'c'", {("a", "b"): '"c"'}),
        ("# k = 1\n\nnothing", {}),
        ("[broken\nk = 1", {("k",): "1"}),
    ],
)
def test_settings_of_others(text: str, found: dict[tuple[str, ...], str]) -> None:
    assert toml.settings(text) == found


def test_a_tree_laid_over_another() -> None:
    over = {"plugins": {"io.containerd.grpc.v1.cri": {"on": False, "inner": {"m": 2}}}}
    made = toml.merged(TREE, over)
    assert made["plugins"]["io.containerd.grpc.v1.cri"]["inner"] == {"n": 1.5, "m": 2}
    assert made["plugins"]["io.containerd.grpc.v1.cri"]["on"] is False
    assert TREE["plugins"]["io.containerd.grpc.v1.cri"]["on"] is True
