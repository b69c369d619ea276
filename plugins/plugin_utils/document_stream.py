# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML streams of kubeadm documents, read strictly: a key twice is an error, and so is a document that contains itself."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments, Problem, shown
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source

_TAG = "tag:yaml.org,2002:"
_MOST_NODES = 50_000
_MERGE = f"{_TAG}merge"
_LONGEST_NUMBER = 400


class _Reader(yaml.SafeLoader):
    """Resolves plain scalars as kubeadm's reader does: times stay texts and colons make no number."""


_Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Reader.add_implicit_resolver(f"{_TAG}int", re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0o?[0-7]+|0b[01]+)\Z"), list("-+0123456789"))
_Reader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"),
    list("-+0123456789."),
)


class _Refused(Exception):
    """A node that cannot be taken, with the line it starts in."""

    def __init__(self, node: yaml.Node, found: str, expected: str) -> None:
        super().__init__(found)
        self.line = node.start_mark.line + 1
        self.found = found
        self.expected = expected


def read(text: str, source: str) -> list[Source]:
    """The documents of a file, unjudged; InvalidDocuments names the line of a syntax error or of a key given twice."""
    loader = None
    documents = []
    try:
        loader = _Reader(text)
        while loader.check_node():
            node = loader.get_node()
            value = None if node is None else _Plain().value(node)
            if value is not None:
                documents.append(Source(source, None, value))
    except _Refused as refused:
        raise _invalid(source, refused.line, refused.found, refused.expected) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # The mark's own text quotes the file, which may hold secrets: only its line is told.
        raise _invalid(source, mark.line + 1 if mark else 0, error.problem or "a syntax error", "YAML") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 0
        raise _invalid(source, line, "a character that YAML does not allow", "printable text") from None
    except yaml.YAMLError:
        raise _invalid(source, 0, "a syntax error", "YAML") from None
    except RecursionError:
        raise _invalid(source, 0, "mappings and lists nested too deeply", "kubeadm documents") from None
    finally:
        if loader is not None:
            loader.dispose()
    return documents


def _invalid(source: str, line: int, found: str, expected: str) -> InvalidDocuments:
    return InvalidDocuments([Problem(f"{source}, line {line}" if line else source, found, expected)])


class _Plain:
    """Turns one composed document into plain data."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: yaml.Node) -> Any:
        self._count += 1
        if self._count > _MOST_NODES:
            raise _Refused(node, f"more than {_MOST_NODES} values once aliases are followed", "a kubeadm document")
        if id(node) in self._open:
            raise _Refused(node, "an alias inside the value that it stands for", "a document that does not contain itself")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if node.tag not in (f"{_TAG}seq", f"{_TAG}map"):
            raise _Refused(node, f"a value of type {_short(node.tag)}", "a mapping, a list, a text, a number, true, false or nothing")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            return self._mapping(node)
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.Node) -> dict[str, Any]:
        own: dict[str, Any] = {}
        inherited: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for other in self._merged(value_node):
                    inherited = {**other, **inherited}
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise _Refused(key_node, "a key that is a list or a mapping", "a name")
            if key in own:
                raise _Refused(key_node, f"the key {shown(key)} for a second time", "each key once")
            own[key] = self.value(value_node)
        return {**inherited, **own}

    def _merged(self, node: yaml.Node) -> list[dict[str, Any]]:
        value = self.value(node)
        others = value if isinstance(value, list) else [value]
        if not all(isinstance(other, dict) for other in others):
            raise _Refused(node, "something other than mappings after <<", "a mapping or a list of mappings")
        return others


def _short(tag: str) -> str:
    return tag[len(_TAG) :][:40] if tag.startswith(_TAG) else tag[:40]


def _scalar(node: yaml.ScalarNode) -> Any:
    kind = _short(node.tag)
    text: str = node.value
    try:
        if kind == "null":
            return None
        if kind == "bool":
            return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}[text.lower()]
        if kind == "int":
            return _whole(text)
        if kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except (KeyError, ValueError):
        raise _Refused(node, "a value that does not fit its type", f"a value of type {kind}") from None
    if kind in ("str", "value"):
        return text
    raise _Refused(node, f"a value of type {kind}", "a text, a number, true, false or nothing")


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("too long")
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return int(text, 8)
    return int(text, 0)
