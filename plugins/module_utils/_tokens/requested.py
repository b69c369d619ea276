# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tokens are asked for: those of the documents, those of the options, and a fresh one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import TOKEN_GROUPS, TOKEN_USAGES, BootstrapToken
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import shown
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._tokens.token import Token, expiry, is_identifier, split

_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_LIFETIME = timedelta(hours=24)


def requested(docs: Documents, options: Mapping[str, Any], now: datetime) -> tuple[Token, ...]:
    """List the tokens of documents and options; the values are options of their own, in the documents' order.

    One that was listed without its value has no id.
    """
    listed = docs.init.bootstrap_tokens
    values: Sequence[str] = options.get("tokens") or ()
    specs = [*listed, *[_of_options(options)] * (len(values) - len(listed))]
    found: list[Token] = []
    findings: list[Unusable] = []
    for index, spec in enumerate(specs):
        value = values[index] if index < len(values) else ""
        try:
            found.append(_token(spec, value, f"tokens[{index}]", now))
        except Unusable as finding:
            findings.append(finding)
    findings += _twice(found)
    if findings:
        raise ManyUnusable(tuple(findings))
    return tuple(found)


def fresh(options: Mapping[str, Any], now: datetime) -> Token:
    """Describe the token that the options ask to be made."""
    return _token(_of_options(options), "", "mint", now)


def check_options(options: Mapping[str, Any]) -> None:
    """Judge the options that describe a token as kubeadm judges the documents."""
    findings = []
    spec = _of_options(options)
    if spec.groups and "authentication" not in spec.usages:
        findings.append(Unusable("groups", "the usages leave out authentication, which groups need", "Add it, or give no groups"))
    for group in spec.groups:
        if not _GROUP.fullmatch(group):
            findings.append(
                Unusable("groups", f"{shown(group)} is not a group of tokens", "Give one that starts with system:bootstrappers:")
            )
    for text in options.get("token_ids") or ():
        if not is_identifier(text):
            findings.append(Unusable("token_ids", f"{shown(text)} is not the id of a token", "Give the 6 characters before the dot"))
    if findings:
        raise ManyUnusable(tuple(findings))


def _of_options(options: Mapping[str, Any]) -> BootstrapToken:
    usages = tuple(options.get("usages") or TOKEN_USAGES)
    groups = options.get("groups")
    if groups is None:
        groups = TOKEN_GROUPS if "authentication" in usages else ()
    lifetime = options.get("ttl")
    return BootstrapToken(
        description=options.get("description") or "",
        ttl=_LIFETIME if lifetime is None else lifetime,
        usages=usages,
        groups=tuple(groups),
    )


def _token(spec: BootstrapToken, value: str, where: str, now: datetime) -> Token:
    identifier, secret = split(value, where) if value else ("", "")
    expires = expiry(now, spec.ttl, spec.expires, where)
    return Token(identifier, secret, spec.description, expires, spec.usages, spec.groups)


def _twice(found: Sequence[Token]) -> list[Unusable]:
    identifiers = [token.identifier for token in found if token.identifier]
    return [
        Unusable("tokens", f"the id {identifier} is there more than once", "Give every token an id of its own")
        for identifier in dict.fromkeys(identifiers)
        if identifiers.count(identifier) > 1
    ]
