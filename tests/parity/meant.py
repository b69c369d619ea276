# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Differences from kubeadm that we mean, each with its reason; one that no longer shows up fails the run."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from ansible_collections.kubephase.cluster.tests.parity.cases import minor_of
from ansible_collections.kubephase.cluster.tests.parity.compare import Difference


@dataclass(frozen=True)
class Meant:
    """A difference that we stand by: where, what kubeadm has, what ours has, and why."""

    name: str
    path: str
    field: str
    kubeadm: str
    ours: str
    reason: str
    case: str = "*"
    first_minor: int = 22
    last_minor: int = 99

    def applies_to(self, case: str, release: str) -> bool:
        """Whether the difference can show up in this case with this release."""
        return fnmatchcase(case, self.case) and self.first_minor <= minor_of(release) <= self.last_minor

    def explains(self, difference: Difference) -> bool:
        """Whether a difference is this one."""
        return (
            fnmatchcase(difference.path, self.path)
            and fnmatchcase(difference.field, self.field)
            and difference.kubeadm == self.kubeadm
            and difference.ours == self.ours
        )


MEANT = (
    Meant(
        name="CA serial",
        path="*.crt",
        field="serial",
        kubeadm="0",
        ours="1 to 63 bits",
        reason="RFC 5280 wants a positive serial; the library that we sign with makes no other, and kubeadm itself changed its mind",
        last_minor=27,
    ),
    Meant(
        name="encoding of subjects",
        path="*",
        field="*subject encoding",
        kubeadm="PrintableString",
        ours="UTF8String",
        reason="RFC 5280 asks for UTF8String; Go narrows what fits into ASCII, and both are read as the same text",
    ),
    Meant(
        name="encoding of issuers",
        path="*",
        field="*issuer encoding",
        kubeadm="PrintableString",
        ours="UTF8String",
        reason="it is the encoding of the subject of our authority, copied byte by byte as RFC 5280 asks",
    ),
    Meant(
        name="public half of a lone service account key",
        path="*/sa.pub",
        field="exists",
        kubeadm="False",
        ours="True",
        reason="the API server is started with sa.pub, which kubeadm leaves out when only sa.key was brought along",
        case="sa-key-only",
    ),
    Meant(
        name="period of an additional user",
        path="plain-user.conf",
        field="client certificate: not after",
        kubeadm="+525600 min from the rendering",
        ours="+129600 min from the rendering",
        reason="the documents' certificateValidityPeriod counts for every client certificate; kubeadm's flag has a default of its own",
        case="validity",
        first_minor=31,
    ),
    Meant(
        name="service account keys beside an external CA",
        path="*/sa.*",
        field="exists",
        kubeadm="False",
        ours="True",
        reason="no CA signs this pair, and the API server does not start without it; kubeadm skips it when ca.key is not there",
        case="external-ca",
    ),
)


def explanation(difference: Difference, case: str, release: str) -> Meant | None:
    """The entry of the table that explains a difference."""
    for meant in MEANT:
        if meant.applies_to(case, release) and meant.explains(difference):
            return meant
    return None


def stale(used: set[str], rendered: list[tuple[str, str]]) -> list[str]:
    """Entries that could have shown up in what was rendered, and did not."""
    return [meant.name for meant in MEANT if meant.name not in used and any(meant.applies_to(case, release) for case, release in rendered)]
