# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever was done to the cluster: the plan, the check and the run agree on what to do, and the run after has nothing left."""

from __future__ import annotations

import pytest
from live.deviations import DEVIATIONS, THEIRS, Deviation
from live.node import Node
from live.playbook import COMPANIONS, Playbook


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda deviation: deviation.name)
def test_a_deviation_is_seen_shown_and_mended(node: Node, init: Playbook, deviation: Deviation) -> None:
    deviation.apply(node)
    checked = init.play("--check", "--diff").succeeded()
    real = init.play("--diff").succeeded()
    wanted = set(deviation.phases)
    ignored = COMPANIONS - wanted
    assert checked.pending - ignored == wanted
    assert real.pending == checked.pending
    assert real.changed == wanted
    assert checked.changed == wanted
    assert checked.diffs == real.diffs
    again = init.play().succeeded()
    assert (again.pending, again.changed) == (set(), set())


def test_what_is_the_users_does_not_show_up(node: Node, init: Playbook) -> None:
    for deviation in THEIRS:
        deviation.apply(node)
    before = {deviation.name: deviation for deviation in THEIRS}
    report = init.play("--diff").succeeded()
    assert before
    assert (report.pending, report.changed) == (set(), set())
    # Also when the phases are made to look: each by itself has nothing to do.
    asked = init.play("--diff", "--tags", "certs,upload-config,mark-control-plane,addon").succeeded()
    assert asked.ran == {"certs", "upload-config", "mark-control-plane", "addon"}
    assert asked.changed == set()
