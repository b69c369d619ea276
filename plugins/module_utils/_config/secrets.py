# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets apart from the documents, so that documents may be logged and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments, Problem, shape

_PLACES = (
    ("InitConfiguration", "bootstrapTokens", "*", "token"),
    ("InitConfiguration", "certificateKey"),
    ("JoinConfiguration", "controlPlane", "certificateKey"),
    ("JoinConfiguration", "discovery", "bootstrapToken", "token"),
    ("JoinConfiguration", "discovery", "tlsBootstrapToken"),
)


def names_password(address: object) -> bool:
    """Tell whether an address, such as a proxy's, is given with a user and perhaps a password."""
    return "@" in str(address)


class Secrets:
    """Tokens and certificate keys by the place they were taken from; never printed."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def plain(self) -> dict[str, str]:
        """The values by place, for an option that is never logged."""
        return dict(self._values)

    def __repr__(self) -> str:
        return "Secrets(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secrets) and other._values == self._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __bool__(self) -> bool:
        return bool(self._values)

    @classmethod
    def of(cls, given: Any) -> Secrets:
        """Secrets from the plain form; InvalidDocuments when it is something else."""
        if not isinstance(given, Mapping):
            raise InvalidDocuments([Problem("secrets", shape(given), "a mapping from places to texts")])
        for value in given.values():
            if not isinstance(value, str):
                raise InvalidDocuments([Problem("secrets", shape(value), "a text for every place")])
        return cls({str(place): str.__str__(value) for place, value in given.items()})


def split_secrets(documents: Mapping[str, Any]) -> tuple[dict[str, Any], Secrets]:
    """The documents without their secrets, and the secrets."""
    left: dict[str, Any] = _copy(documents)
    taken = {}
    for path, holder, name in _holders(left):
        if isinstance(holder.get(name), str):
            taken[path] = holder.pop(name)
    return left, Secrets(taken)


def join_secrets(documents: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """The documents with the secrets put back where they were taken from."""
    whole: dict[str, Any] = _copy(documents)
    missing = secrets.plain()
    for path, holder, name in _holders(whole):
        if path in missing:
            holder[name] = missing.pop(path)
    if missing:
        expected = "a place in the documents that a secret can be put back to"
        raise InvalidDocuments([Problem(f"secrets: {path}", "a secret", expected) for path in missing])
    return whole


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(item) for item in value]
    return value


def _holders(documents: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each mapping that may hold a secret, with the secret's whole path and its name."""
    for place in _PLACES:
        for path, holder in _walk(documents, place[:-1], ""):
            yield f"{path}.{place[-1]}", holder, place[-1]


def _walk(value: Any, steps: tuple[str, ...], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not steps:
        if isinstance(value, dict):
            yield path, value
    elif steps[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else []):
            yield from _walk(item, steps[1:], f"{path}[{index}]")
    elif isinstance(value, dict) and steps[0] in value:
        yield from _walk(value[steps[0]], steps[1:], f"{path}.{steps[0]}" if path else steps[0])
