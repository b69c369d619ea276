# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a serving certificate is replaced: the deadline, changed names, and the pauses between tries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import Template

# A certificate is replaced after 70 % of its life at the earliest, and after 90 % at the latest.
_EARLIEST, _SPREAD = 0.7, 0.2

_FIRST_PAUSE, _FACTOR, _JITTER, _STEPS = 2.0, 2.0, 0.1, 5
_LATER_PAUSE = 32.0

# How long a request may stay unsigned before it counts as failed.
WAIT_LIMIT = timedelta(minutes=15)

MIN_RSA_BITS = 2048
MIN_ECDSA_BITS = 256


class Leaf(Protocol):
    """What is asked of a certificate here."""

    @property
    def common_name(self) -> str:
        """Its subject's common name."""

    @property
    def organizations(self) -> tuple[str, ...]:
        """Its subject's organisations."""

    @property
    def dns_names(self) -> tuple[str, ...]:
        """The host names in it."""

    @property
    def ip_addresses(self) -> tuple[str, ...]:
        """The addresses in it."""

    @property
    def not_before(self) -> datetime:
        """When it begins."""

    @property
    def not_after(self) -> datetime:
        """When it ends."""


@dataclass(frozen=True)
class Rotation:
    """When the next certificate is asked for, and why then."""

    due: datetime
    reason: str


def current(leaf: Leaf | None, now: datetime) -> Leaf | None:
    """The certificate that counts: one that has expired is none."""
    return None if leaf is None or now > leaf.not_after else leaf


def lacking(leaf: Leaf, template: Template | None) -> str:
    """Say what of a template a certificate lacks, or nothing; what it carries beyond it does no harm."""
    if template is None:
        return ""
    if leaf.common_name != template.common_name:
        return f"its common name is {leaf.common_name}, not {template.common_name}"
    wanted = (
        ("DNS name", template.dns_names, leaf.dns_names),
        ("IP address", template.ip_addresses, leaf.ip_addresses),
        ("organisation", template.organizations, leaf.organizations),
    )
    for kind, names, present in wanted:
        missing = [name for name in names if name not in present]
        if missing:
            return f"it lacks the {kind} {', '.join(missing)}"
    return ""


def next_rotation(leaf: Leaf | None, template: Template | None, now: datetime, drawn: float) -> Rotation:
    """Tell when to ask for the next certificate; ``drawn`` from [0, 1) keeps nodes from asking all at once."""
    if leaf is None:
        return Rotation(now, "there is no certificate")
    if current(leaf, now) is None:
        return Rotation(now, "it has expired")
    missing = lacking(leaf, template)
    if missing:
        return Rotation(now, missing)
    life = leaf.not_after - leaf.not_before
    return Rotation(leaf.not_before + life * (_EARLIEST + _SPREAD * drawn), "its life nears the end")


@dataclass(frozen=True)
class TemplateChange:
    """What a look at the template means for a request that waits and for the deadline that is slept to."""

    drop_request: bool
    rotate_now: bool


def on_template(leaf: Leaf | None, wanted: Template | None, requested: Template | None, waiting: bool) -> TemplateChange:
    """Judge a template; ``requested`` is that of the last request which the server took, ``waiting`` whether it is unanswered.

    A certificate that satisfies it needs nothing. A request that asks for just this is waited for; any other is dropped.
    """
    satisfied = leaf is not None and not lacking(leaf, wanted)
    if satisfied or requested == wanted:
        return TemplateChange(drop_request=False, rotate_now=False)
    return TemplateChange(drop_request=waiting and requested is not None, rotate_now=wanted is not None)


def pause(failures: int, drawn: float) -> float:
    """Tell how many seconds to wait after so many failures in a row: growing first, then always the same."""
    if failures >= _STEPS:
        return _LATER_PAUSE
    return _FIRST_PAUSE * _FACTOR ** (failures - 1) * (1 + _JITTER * drawn)


def weakness(kind: str, bits: int, rsa_bits: int = MIN_RSA_BITS, ecdsa_bits: int = MIN_ECDSA_BITS) -> str:
    """Say why a key is not strong enough, or nothing."""
    least = {"RSA": rsa_bits, "ECDSA": ecdsa_bits}.get(kind)
    if least is None:
        return f"its key is of the kind {kind}, which no kubelet makes"
    return f"its {kind} key has {bits} bits, where {least} is the least" if bits < least else ""
