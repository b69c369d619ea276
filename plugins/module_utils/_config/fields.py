# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The strict reader: a shape checks a plain value, cleans it and can turn it into a value of the domain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shape, shown

_DEEPEST = 40
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class _Bad:
    """Stands for a value that was reported and is left out."""


BAD = _Bad()


class ArgMap(dict[str, str]):
    """Arguments that were given as a map: a later source changes single names instead of replacing all."""


class Shape:
    """What a field may hold."""

    expected = ""
    secret = False
    keep_empty = False

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        """The value as plain data, or BAD after a problem was noted."""
        raise NotImplementedError

    def build(self, value: Any) -> Any:
        """The checked plain value as a value of the domain."""
        return value

    def refuse(self, value: Any, path: str, findings: Findings, hint: str = "") -> _Bad:
        """Note that the value does not fit; a secret shows as its shape only."""
        findings.problem(path, shape(value) if self.secret else shown(value), self.expected, hint)
        return BAD


class Text(Shape):
    """A text; nothing else is turned into one, as a number may have lost digits on its way here."""

    expected = "a text"

    def __init__(self, secret: bool = False) -> None:
        self.secret = secret

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if isinstance(value, str):
            return str.__str__(value)
        scalar = isinstance(value, (bool, int, float))
        return self.refuse(value, path, findings, "Put the value in quotes." if scalar else "")


class Flag(Shape):
    """true or false."""

    expected = "true or false"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if isinstance(value, bool):
            return value
        quoted = isinstance(value, str) and value.lower() in ("true", "false", "yes", "no")
        return self.refuse(value, path, findings, "Leave the quotes away." if quoted else "")


class Whole(Shape):
    """A whole number of 32 bits."""

    expected = "a whole number"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
            return int(value)
        quoted = isinstance(value, str) and value.isascii() and value.isdigit()
        return self.refuse(value, path, findings, "Leave the quotes away." if quoted else "")


class Duration(Shape):
    """A duration in Go's notation; canonical documents keep the text."""

    expected = "a duration such as 90s, 5m or 8760h0m0s"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if not isinstance(value, str):
            return self.refuse(value, path, findings)
        try:
            parse_duration(value)
        except ValueError as error:
            return self.refuse(value, path, findings, f"This is {error}.")
        return str.__str__(value)

    def build(self, value: Any) -> Any:
        return parse_duration(value)


class Moment(Shape):
    """A point in time; Ansible's YAML reader may have made an object of it."""

    expected = "a time such as 2030-01-31T12:00:00Z"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if isinstance(value, datetime):
            return value.isoformat() + ("" if value.tzinfo else "Z")
        if isinstance(value, date) or not isinstance(value, str) or not _is_moment(value):
            return self.refuse(value, path, findings)
        return str.__str__(value)


def _is_moment(text: str) -> bool:
    if not _MOMENT.fullmatch(text):
        return False
    try:
        datetime.strptime(text[:19].upper(), "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return False
    return True


class ListOf(Shape):
    """A list whose items all have one shape."""

    def __init__(self, item: Shape, keep_empty: bool = False) -> None:
        self.item = item
        self.keep_empty = keep_empty
        self.secret = item.secret
        self.expected = f"a list, each item {item.expected}"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if not isinstance(value, (list, tuple)):
            return self.refuse(value, path, findings)
        items = [self.item.read(item, f"{path}[{index}]", findings) for index, item in enumerate(value)]
        # Without the bad ones the places of the others would be miscounted.
        return BAD if any(item is BAD for item in items) else items

    def build(self, value: Any) -> Any:
        return tuple(self.item.build(item) for item in value)


class MapOf(Shape):
    """A map from any name to values of one shape."""

    def __init__(self, item: Shape) -> None:
        self.item = item
        self.secret = item.secret
        self.expected = f"a map, each value {item.expected}"

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if not isinstance(value, Mapping):
            return self.refuse(value, path, findings)
        clean = {}
        for key, item in value.items():
            if not isinstance(key, str):
                findings.problem(path, f"the key {shown(key)}", "names that are texts", "Put the name in quotes.")
                continue
            read = self.item.read(item, f"{path}.{key}", findings)
            if read is not BAD:
                clean[str.__str__(key)] = read
        return clean


class Object(Shape):
    """A mapping with known fields; a field that is null counts as absent, as it does for kubeadm."""

    def __init__(self, make: Callable[..., Any] | None, fields: Mapping[str, Shape], moved: Mapping[str, str] | None = None) -> None:
        self.make = make
        self.fields = dict(fields)
        # Fields of another version of the API, each with the place it has in this one.
        self.moved = moved or {}
        self.secret = any(field.secret for field in self.fields.values())
        self.expected = "a mapping"
        self._names = {name: attribute(name) for name in self.fields}

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if not isinstance(value, Mapping):
            return self.refuse(value, path, findings)
        clean = {}
        for key, item in value.items():
            field = self.fields.get(key) if isinstance(key, str) else None
            if field is None:
                self._unknown(key, path, findings)
            elif item is not None:
                read = field.read(item, f"{path}.{key}", findings)
                if read is not BAD:
                    clean[str.__str__(key)] = read
        return clean

    def _unknown(self, key: Any, path: str, findings: Findings) -> None:
        name = key if isinstance(key, str) else shown(key)
        hint = self.moved.get(name) or did_you_mean(name, self.fields) or "Known fields: " + ", ".join(self.fields) + "."
        # The value stays out of the message: a misspelt field may hold a secret.
        findings.problem(f"{path}.{name[:80]}", "an unknown field", "a field of this object", hint)

    def build(self, value: Any) -> Any:
        present = {key: item for key, item in value.items() if item or self._counts(key, item)}
        if self.make is None:
            return present
        return self.make(**{self._names[key]: self.fields[key].build(item) for key, item in present.items()})

    def _counts(self, key: str, item: Any) -> bool:
        """Empty texts, lists and zero are absent for kubeadm; false, empty mappings and a kept empty list are not."""
        return isinstance(item, (bool, dict)) or self.fields[key].keep_empty


class Args(Shape):
    """Command line arguments: a map of texts, a list of name and value, or either of them."""

    def __init__(self, make: Callable[..., Any] | None, form: str) -> None:
        self.make = make
        self.form = form
        self.expected = {
            "map": "a map from argument names to texts, as in v1beta3",
            "list": "a list of {name, value}, as in v1beta4",
            "either": "a map from argument names to texts, or a list of {name, value}",
        }[form]
        self._list = ListOf(Object(None, {"name": Text(), "value": Text()}))
        self._map = MapOf(Text())

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if isinstance(value, Mapping) and self.form != "list":
            return ArgMap(self._map.read(value, path, findings))
        if isinstance(value, (list, tuple)) and self.form != "map":
            return self._list.read(value, path, findings)
        return self.refuse(value, path, findings)

    def build(self, value: Any) -> Any:
        make = self.make or dict
        return tuple(make(name=item.get("name", ""), value=item.get("value", "")) for item in value)


class Anything(Shape):
    """Plain data of any form, for documents that other tables describe."""

    expected = "plain data: mappings, lists, texts, numbers, booleans"

    def __init__(self, depth: int = _DEEPEST) -> None:
        self.depth = depth

    def read(self, value: Any, path: str, findings: Findings) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if self.depth == 0:
            findings.problem(path, "mappings and lists inside each other", f"at most {_DEEPEST} levels")
            return BAD
        inner = Anything(self.depth - 1)
        if isinstance(value, Mapping):
            return MapOf(inner).read(value, path, findings)
        if isinstance(value, (list, tuple)):
            return ListOf(inner).read(value, path, findings)
        return self.refuse(value, path, findings)


def attribute(name: str) -> str:
    """The Python name of a field: certSANs becomes cert_sans, localAPIEndpoint local_api_endpoint."""
    return _WORD.sub("_", name.replace("SANs", "Sans")).lower()


def arg_list(given: ArgMap) -> list[dict[str, str]]:
    """Arguments of a map as a list, sorted by name as kubeadm sorts them."""
    return [{"name": name, "value": given[name]} for name in sorted(given)]


def with_arg_lists(value: Any) -> Any:
    """The document with every map of arguments turned into a list."""
    if isinstance(value, ArgMap):
        return arg_list(value)
    if isinstance(value, dict):
        return {key: with_arg_lists(item) for key, item in value.items()}
    return value
