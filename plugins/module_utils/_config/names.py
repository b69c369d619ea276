# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names in the forms that Kubernetes asks for: DNS names, qualified names, label values, image references, paths."""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_QUALIFIED = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_HOST = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REGISTRY = rf"(?:{_HOST}(?:\.{_HOST})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_REPOSITORY = re.compile(rf"(?:{_REGISTRY}/)?{_COMPONENT}(?:/{_COMPONENT})*|{_REGISTRY}")
_IMAGE_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")

SUBDOMAIN_RULE = "a DNS name in lower case: letters, digits, '-' and '.', at most 253 characters"


def is_dns_subdomain(text: str) -> bool:
    """A DNS name as RFC 1123 and Kubernetes want it."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_wildcard_subdomain(text: str) -> bool:
    """A DNS name whose first label is an asterisk."""
    return len(text) <= 253 and text.startswith("*.") and _SUBDOMAIN.fullmatch(text[2:]) is not None


def is_qualified_name(text: str) -> bool:
    """A name with an optional DNS prefix, as keys of labels and taints are."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= 63 and _QUALIFIED.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """A value of a label or a taint; may be empty."""
    return not text or (len(text) <= 63 and _QUALIFIED.fullmatch(text) is not None)


def is_image_repository(text: str) -> bool:
    """A registry, or a registry with a path, before an image's name."""
    return len(text) <= 255 and _REPOSITORY.fullmatch(text) is not None


def is_image_tag(text: str) -> bool:
    """A tag of an image."""
    return _IMAGE_TAG.fullmatch(text) is not None


def is_absolute_path(text: str) -> bool:
    """A path on the node that does not depend on where a program was started."""
    return text.startswith("/") and "\0" not in text
