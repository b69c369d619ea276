# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever was done to the cluster: the plan, the check and the run agree on what to do, and the run after has nothing left."""

from __future__ import annotations

import pytest
from live.deviations import ROUNDS, THEIRS, Deviation
from live.node import Node
from live.playbook import COMPANIONS, Playbook, Report

ALONE = [deviation for together in ROUNDS.values() for deviation in together]


@pytest.mark.parametrize("together", ROUNDS.values(), ids=ROUNDS)
def test_deviations_are_seen_shown_and_mended(node: Node, init: Playbook, together: tuple[Deviation, ...]) -> None:
    see_and_mend(node, init, together)


@pytest.mark.long
@pytest.mark.parametrize("deviation", ALONE, ids=lambda deviation: deviation.name)
def test_each_deviation_alone(node: Node, init: Playbook, deviation: Deviation) -> None:
    see_and_mend(node, init, (deviation,))


def see_and_mend(node: Node, init: Playbook, together: tuple[Deviation, ...]) -> None:
    for deviation in together:
        deviation.apply(node)
    checked = init.play("--check", "--diff")
    real = init.play("--diff").succeeded()
    again = init.play().succeeded()
    checked.succeeded()
    phases = {deviation.phase for deviation in together}
    targets = {target.format(node=node.name) for deviation in together for target in deviation.targets}
    assert real.changed == phases
    assert targets_of(real) == targets
    assert real.pending - (COMPANIONS - phases) == phases
    assert checked.pending == real.pending
    assert checked.changed == real.changed
    assert checked.diffs == real.diffs
    assert (again.pending, again.changed) == (set(), set())


def targets_of(report: Report) -> set[str]:
    return {change["before_header"] for diff in report.diffs.values() for change in diff}


def test_what_is_the_users_does_not_show_up(node: Node, init: Playbook) -> None:
    for deviation in THEIRS:
        deviation.apply(node)
    report = init.play("--diff").succeeded()
    assert (report.pending, report.changed) == (set(), set())
    # Nor when the phases are made to look: each by itself has nothing to do.
    phases = {"certs", "upload-config", "mark-control-plane", "addon"}
    asked = init.play("--diff", "--tags", ",".join(phases)).succeeded()
    assert asked.ran == phases
    assert asked.changed == set()
    assert "example.test/rack" in node.kubectl("get node -o yaml")
    assert node.kubectl("-n kube-system get deployment coredns -o jsonpath={.spec.replicas}") == "1"
