# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML streams: what is read, and which line a refusal names."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read

SECRET = "abcdef.0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("---\n---\n", []),
        ("# nothing but a comment\n", []),
        ("a: 1\n---\nb: [x, 2.5, true, null]\n", [{"a": 1}, {"b": ["x", 2.5, True, None]}]),
        ("a: yes\nb: 'yes'\n", [{"a": True, "b": "yes"}]),
        ("expires: 2030-01-01T00:00:00Z\n", [{"expires": "2030-01-01T00:00:00Z"}]),
        ("day: 2030-01-01\n", [{"day": "2030-01-01"}]),
        ("time: 10:30\n", [{"time": "10:30"}]),
        ("v6: fd00::1\n", [{"v6": "fd00::1"}]),
        ("mode: 0755\nhex: 0xff\noctal: 0o17\n", [{"mode": 493, "hex": 255, "octal": 15}]),
        ("version: 1.30\n", [{"version": 1.3}]),
        ("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\n", [{"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}}]),
        ("1: x\n", [{"1": "x"}]),
        ("- a\n", [["a"]]),
        ("{a: {b: c}}", [{"a": {"b": "c"}}]),
    ],
)
def test_documents_as_plain_data(text: str, expected: list[Any]) -> None:
    assert [source.data for source in read(text, "kubeadm.yaml")] == expected


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' for a second time"),
        ("a:\n  b: 1\n  b: 2\n", 3, "'b' for a second time"),
        ("x: 1\n---\na: 1\n'a': 2\n", 4, "'a' for a second time"),
        ("a: [1, 2\n", 2, "expected ',' or ']'"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a:\n\t- b\n", 2, "cannot start any token"),
        (f"token: {SECRET}\n  x: {SECRET}\n", 2, "mapping values"),
        ("a: *nowhere\n", 1, "undefined alias"),
        ("a: &x [*x]\n", 1, "an alias inside the value"),
        ("a: &x {b: *x}\n", 1, "an alias inside the value"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "a value of type python/object"),
        ("a: !!binary aGVsbG8=\n", 1, "a value of type binary"),
        ("a: !!int x\n", 1, "does not fit its type"),
        ("? [a]\n: b\n", 1, "a key that is a list"),
        ("a: {<<: 1}\n", 1, "after <<"),
        ("a: 1\nb: \x07\n", 2, "a character"),
        ("n: " + "9" * 5000 + "\n", 1, "does not fit its type"),
    ],
)
def test_refusal_names_file_and_line(text: str, line: int, part: str) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        read(text, "kubeadm.yaml")
    (problem,) = caught.value.problems
    assert problem.where == f"kubeadm.yaml, line {line}"
    assert part in problem.found
    assert SECRET not in str(caught.value)


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(InvalidDocuments, match="nested too deeply"):
        read("[" * 100_000, "kubeadm.yaml")


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(InvalidDocuments, match="once aliases are followed"):
        read("\n".join(lines), "kubeadm.yaml")
