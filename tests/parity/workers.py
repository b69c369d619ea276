# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tests share a worker."""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# These render a case with a release and start nothing that outlives a test.
BY_PAIR = re.compile(r".*/test_parity(?:_kubelet|_manifests)?\.py::[^\[]+\[(.+)\]")


def unit_of(nodeid: str) -> str:
    """What a test is kept together with: its pair of case and release, or everything in its file."""
    match = BY_PAIR.fullmatch(nodeid)
    return match[1] if match else nodeid.partition("::")[0]


class ByPair(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Hands out units; the marks of --dist loadgroup do not reach the scheduler with every version of pytest."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
