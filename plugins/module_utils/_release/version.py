# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Kubernetes version as kubeadm reads it, and the range of releases that the tables cover."""

from __future__ import annotations

import re
from typing import NamedTuple

# Adding a minor: raise NEWEST, then let the tests name the rows that its parity run shows to differ.
OLDEST = 22
NEWEST = 37

_NUMBER = r"(0|[1-9][0-9]*)"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_RELEASE = re.compile(rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}((?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?)", re.ASCII)
_NOT_IN_A_TAG = re.compile(r"[^-\w.]", re.ASCII)


class UnsupportedVersion(ValueError):
    """A version that is no release, or one that the tables do not cover."""


class Version(NamedTuple):
    """The three numbers of a release; a pre-release or build of it has the facts of the release itself."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Write it the way kubeadm stores it."""
        return f"v{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``v1.37.1``, with or without the v, a pre-release and build metadata."""
        numbers = _match(text).group(1, 2, 3)
        return cls(*(int(number) for number in numbers))


def canonical(text: str) -> str:
    """Give the version the leading v that kubeadm puts before it, keeping pre-release and build."""
    return "v" + _match(text).group(0).lstrip("v")


def image_tag(text: str) -> str:
    """Turn a version into an image tag: what a tag may not hold, such as the plus sign, becomes an underscore."""
    return _NOT_IN_A_TAG.sub("_", canonical(text))


def supported(text: str | Version) -> Version:
    """Return the version if the tables cover it, and say which they cover if not."""
    version = Version.parse(text) if isinstance(text, str) else text
    if version.major != 1 or not OLDEST <= version.minor <= NEWEST:
        raise UnsupportedVersion(f"Kubernetes {version} is not supported; supported are 1.{OLDEST} through 1.{NEWEST}")
    return version


def _match(text: str) -> re.Match[str]:
    match = _RELEASE.fullmatch(text)
    if match is None:
        raise UnsupportedVersion(
            f"{text!r} is not an exact Kubernetes version such as v1.{NEWEST}.1; supported are 1.{OLDEST} through 1.{NEWEST}"
        )
    return match
