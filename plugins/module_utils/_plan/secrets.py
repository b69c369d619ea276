# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets that a run makes: they come into being when such an action is applied, never while planning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey

# Stands in manifests for the run that they will be made for, whose name is drawn when they are.
RUN = "@run@"


class Minted(str):
    """A secret that was made and is handed back as a fact; whoever prints the facts for another end must not print it along."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'(secret)'"


@dataclass(frozen=True)
class MintToken(Action):
    """Create a bootstrap token with a fresh id and secret; ``terms`` is all else that its Secret holds.

    The token is handed back as the fact that ``returned`` names, or to nobody.
    """

    terms: Mapping[str, str]
    returned: str = ""


@dataclass(frozen=True)
class UploadCertificates(Action):
    """Store files encrypted in a Secret that lives as long as the bootstrap token that is made to own it.

    Without a certificate key one is made, and handed back as the fact ``certificate_key``. ``replaces`` says that
    there is such a Secret already, and ``stale_owner`` is the token that owned it.
    """

    key: ObjectKey
    files: Mapping[str, bytes | None] = field(repr=False)
    owner: MintToken
    certificate_key: str = field(default="", repr=False)
    replaces: bool = False
    stale_owner: ObjectKey | None = None


@dataclass(frozen=True)
class MintJoin(Action):
    """Create what one run of joins needs: a bootstrap token and, with files, a Secret that carries them encrypted.

    The run goes by the token's id. ``carrier`` and ``companions``, the objects that let others read it, have the mark
    ``RUN`` in their names; all of them are owned by the token, so that they go when it does. Handed back are the facts
    ``run``, ``token`` and, with files, ``certificate_key`` and ``certificates_secret``.
    """

    terms: Mapping[str, str]
    files: Mapping[str, bytes | None] = field(default_factory=dict, repr=False)
    carrier: ObjectKey | None = None
    companions: tuple[Manifest, ...] = ()


@dataclass(frozen=True)
class DownloadLater(Action):
    """A file that will come out of a Secret which cannot be opened yet; whoever asks for it now is told what is lacking."""

    path: str
    lacking: str
    fix: str
