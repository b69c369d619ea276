# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real kubeadm and ours render the same documents; the trees are the same but for what we mean to differ."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.kubephase.cluster.tests.parity.cases import Case
from ansible_collections.kubephase.cluster.tests.parity.compare import Difference, compare
from ansible_collections.kubephase.cluster.tests.parity.meant import explanation
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering, check_expiration, kubeadm, render_phases
from ansible_collections.kubephase.cluster.tests.parity.ours import run_phases


def snapshot(root: Path) -> dict[str, tuple[str, int, int, int]]:
    """Content, mode, inode and time of change of every file, so that even a rewrite of the same bytes shows."""
    seen = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            status = path.stat()
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            seen[path.relative_to(root).as_posix()] = (content, status.st_mode, status.st_ino, status.st_mtime_ns)
    return seen


def test_same_tree(pair: tuple[Case, str], theirs: Rendering, ours: Rendering, record_property: Callable[[str, object], None]) -> None:
    case, release = pair
    comparison = compare(theirs, ours)
    reasons = {difference: explanation(difference, case.name, release) for difference in comparison.differences}
    unexplained = [difference for difference, reason in reasons.items() if reason is None]
    record_property(
        "parity",
        {
            "case": case.name,
            "release": release,
            "fields": comparison.fields,
            "unexplained": len(unexplained),
            "explained": len(reasons) - len(unexplained),
            "meant": [reason.name for reason in reasons.values() if reason],
        },
    )
    assert not unexplained, "\n" + "\n".join(str(difference) for difference in unexplained)


def test_kubeadm_takes_ours_for_its_own(pair: tuple[Case, str], ours: Rendering) -> None:
    case, release = pair
    document, binary = case.document(release), kubeadm(release)
    before = snapshot(ours.root)
    render_phases(binary, ours.root, document)
    table = check_expiration(binary, ours.root, document)
    assert snapshot(ours.root) == before
    assert "MISSING" not in table and "invalid" not in table, table


def test_ours_takes_kubeadms_for_its_own(pair: tuple[Case, str], theirs: Rendering, tmp_path: Path) -> None:
    case, release = pair
    root = tmp_path / "tree"
    shutil.copytree(theirs.root, root)
    before = snapshot(root)
    changed = {change.target for change in run_phases(root, case, release)}
    after = snapshot(root)
    added = after.keys() - before.keys()
    assert {path: after[path] for path in before} == before
    assert changed <= {f"/{path}" for path in added}
    assert [path for path in added if not explanation(Difference(path, "exists", "False", "True"), case.name, release)] == []


def test_ours_again_changes_nothing(pair: tuple[Case, str], ours: Rendering) -> None:
    case, release = pair
    before = snapshot(ours.root)
    assert run_phases(ours.root, case, release) == ()
    assert snapshot(ours.root) == before
