# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a serving certificate, as the kubelet gives them to Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import Leaf, current

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
BUCKETS = (_MINUTE, _HOUR, 4 * _HOUR, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 180 * _DAY, 360 * _DAY, 4 * 360 * _DAY)

TTL = "kubelet_certificate_manager_server_ttl_seconds"
ROTATION = "kubelet_certificate_manager_server_rotation_seconds"
ERRORS = "kubelet_server_expiration_renew_errors"


@dataclass(frozen=True)
class Lifetimes:
    """How long certificates lived before they were replaced: how many at most as long as each bucket says, all, and the sum."""

    counts: tuple[int, ...] = (0,) * len(BUCKETS)
    total: int = 0
    seconds: float = 0.0

    def with_one(self, seconds: float) -> Lifetimes:
        """Count one more."""
        counts = tuple(count + (seconds <= bucket) for count, bucket in zip(self.counts, BUCKETS))
        return Lifetimes(counts, self.total + 1, self.seconds + seconds)


def seconds_left(leaf: Leaf | None, now: datetime) -> float:
    """Whole seconds to the end of the certificate; infinite without one, and once it has expired."""
    found = current(leaf, now)
    return math.inf if found is None else float(math.trunc((found.not_after - now).total_seconds()))


def lived(old: Leaf, now: datetime) -> float:
    """How long a certificate that is replaced now has lived."""
    return (now - old.not_before).total_seconds()


def number(value: float) -> str:
    """Write a figure as Prometheus reads it; JSON knows no infinity."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)


def text(ttl: float, lifetimes: Lifetimes, errors: int) -> str:
    """Write the figures as a Prometheus text file."""
    lines = [
        *_metric(TTL, "gauge", "Seconds until the serving certificate expires; +Inf without one.", [("", ttl)]),
        *_metric(
            ROTATION,
            "histogram",
            "Seconds that the previous certificate lived before it was replaced.",
            [
                *((f'_bucket{{le="{number(bucket)}"}}', count) for bucket, count in zip(BUCKETS, lifetimes.counts)),
                ('_bucket{le="+Inf"}', lifetimes.total),
                ("_sum", lifetimes.seconds),
                ("_count", lifetimes.total),
            ],
        ),
        *_metric(ERRORS, "counter", "Attempts to renew the certificate that failed.", [("", errors)]),
    ]
    return "".join(f"{line}\n" for line in lines)


def read_back(lines: Iterable[str]) -> tuple[Lifetimes, int]:
    """Take up the counts of an earlier text file; what cannot be read counts as nothing."""
    found: dict[str, float] = {}
    for line in lines:
        name, _space, value = line.strip().rpartition(" ")
        try:
            found[name] = float(value)
        except ValueError:
            continue
    counts = tuple(_whole(found, f'{ROTATION}_bucket{{le="{number(bucket)}"}}') for bucket in BUCKETS)
    return Lifetimes(counts, _whole(found, f"{ROTATION}_count"), found.get(f"{ROTATION}_sum", 0.0)), _whole(found, ERRORS)


def _whole(found: dict[str, float], name: str) -> int:
    value = found.get(name, 0.0)
    return int(value) if math.isfinite(value) and value >= 0 else 0


def _metric(name: str, kind: str, meaning: str, samples: Sequence[tuple[str, float]]) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *(f"{name}{suffix} {number(value)}" for suffix, value in samples)]
