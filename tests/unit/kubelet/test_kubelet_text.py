# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts as Go writes them; the expectations were printed by kubeadm."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import dump, go_quoted, load


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("--v=3 --a=b", '"--v=3 --a=b"'),
        ('a="b\\c"', r'"a=\"b\\c\""'),
        ("tab\tline\nbell\a", r'"tab\tline\nbell\a"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("é 日", '"é 日"'),
        ("\u2028\u00a0", r'"\u2028\u00a0"'),
        ("😀\U000e0001", '"😀\\U000e0001"'),
    ],
)
def test_quoted_as_go_does(text: str, quoted: str) -> None:
    assert go_quoted(text) == quoted


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("0", '"0"'),
        ("10", '"10"'),
        ("1e3", '"1e3"'),
        ("0x1f", '"0x1f"'),
        ("0o7", '"0o7"'),
        ("08", '"08"'),
        ("+1", '"+1"'),
        ("1.", '"1."'),
        (".5", '".5"'),
        ("1_000", '"1_000"'),
        ("1:20", '"1:20"'),
        ("2020-01-01", '"2020-01-01"'),
        ("~", '"~"'),
        ("null", '"null"'),
        ("nul", "nul"),
        ("y", '"y"'),
        ("Yes", '"Yes"'),
        ("oFF", "oFF"),
        ("a: b", "'a: b'"),
        ("a:", "'a:'"),
        ("# x", "'# x'"),
        ("a #b", "'a #b'"),
        ("- y", "'- y'"),
        ("-", "'-'"),
        ("--", "--"),
        ("'q'", "'''q'''"),
        ('"q"', "'\"q\"'"),
        ("*x", "'*x'"),
        ("%a", "'%a'"),
        ("[x]", "'[x]'"),
        (" lead", "' lead'"),
        ("tab\tx", '"tab\\tx"'),
        ("é", "é"),
        ("10%", "10%"),
        ("unix:///run/x.sock", "unix:///run/x.sock"),
        ("v1.37.1", "v1.37.1"),
    ],
)
def test_yaml_quotes_what_could_be_misread(text: str, written: str) -> None:
    assert dump({"a": text}) == f"a: {written}\n"
    assert yaml.safe_load(dump({"a": text})) == {"a": text}


def test_yaml_layout() -> None:
    shared = ["x"]
    document = {"b": shared, "a": {"z": {}, "e": None, "t": True, "f": 1.0, "h": 0.5}, "c": shared, "l": "one\ntwo"}
    assert dump(document) == "a:\n  e: null\n  f: 1\n  h: 0.5\n  t: true\n  z: {}\nb:\n- x\nc:\n- x\nl: |-\n  one\n  two\n"


def test_long_lines_are_folded_at_eighty_columns() -> None:
    words = "a string with many words that goes on and on and on until it is certainly longer than eighty characters"
    assert dump({"l": [words]}) == f"l:\n- {words[:80]}\n  {words[81:]}\n"


@pytest.mark.parametrize("content", [b"a: b: c", b"\xff\xfe\xff", b"a: [", b"!!python/object:os.system {}"])
def test_what_is_no_yaml_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match="not valid YAML"):
        load(content)
