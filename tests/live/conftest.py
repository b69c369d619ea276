# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One node, initialised once, for most tests; and what each of its first runs reported."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[2]
for place in (ROOT / ".ansible" / "collections", ROOT, ROOT / "tests"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

from live.beginning import Beginning, begin, usual  # noqa: E402
from live.cluster import Cluster  # noqa: E402
from live.fleet import attach_all, virgin_fleet  # noqa: E402
from live.node import Node, attach, lab, remove, virgin_node  # noqa: E402
from live.playbook import Playbook  # noqa: E402

_OF_THE_FIRST_NODE = ("first_run", "selection", "deviations", "reconfigure", "secrets", "kills")
_FAILED = pytest.StashKey[bool]()
# Of this checkout and, since half the time is spent waiting, of one of those who test side by side.
_PLACE = hashlib.sha256(f"{ROOT}{os.environ.get('PYTEST_XDIST_WORKER', '')}".encode()).hexdigest()[:5]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that asks for every kill."""
    parser.addoption("--all-kills", action="store_true", help="also what takes long: a kill after each phase, each deviation alone")
    parser.addoption("--on", metavar="INSTANCE", help="take a lab instance that has a cluster already, and keep it")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "long: only with --all-kills")
    config.addinivalue_line("markers", "kill: the play is killed on its way")
    config.addinivalue_line("markers", "quick: a kill that every run of the suite tries")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Let each take the tests of whole files, and one take all that share the first node."""
    return _ByNodes(config, log)


class _ByNodes(LoadScopeScheduling):
    """Keeps together the tests that share nodes."""

    def _split_scope(self, nodeid: str) -> str:
        name = Path(nodeid.partition("::")[0]).stem.removeprefix("test_live_")
        return "node" if name in _OF_THE_FIRST_NODE else name


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the kills that take long, unless they are asked for."""
    if config.getoption("--all-kills"):
        return
    left_out = [
        item
        for item in items
        if item.get_closest_marker("long") or (item.get_closest_marker("kill") and not item.get_closest_marker("quick"))
    ]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def place() -> str:
    """Tell this checkout's instances from those of others."""
    return _PLACE


@pytest.fixture(scope="session")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beginning]:
    """Check mode on a virgin node, the run that makes a cluster of it, and the run after."""
    instance = f"live-{_PLACE}"
    try:
        yield begin(virgin_node(instance), tmp_path_factory.mktemp("controller"))
    finally:
        remove(instance)


@pytest.fixture
def node(request: pytest.FixtureRequest) -> Node:
    """The node with a cluster on it."""
    instance = request.config.getoption("--on")
    if instance:
        return attach(Path(lab("inventory", "--instance", instance)))
    beginning: Beginning = request.getfixturevalue("beginning")
    return beginning.node


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember on the test whether it failed, for the fixtures that tidy up after it."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or report.failed
    return report


@pytest.fixture
def init(request: pytest.FixtureRequest, node: Node) -> Iterator[Playbook]:
    """The playbook with the documents that the cluster was made with; the cluster is as they want it."""
    playbook = usual(node)
    yield playbook
    if request.node.stash.get(_FAILED, False):
        playbook.play()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three control planes and two workers, of which the first is initialised; the others are what each test makes of them."""
    instance = request.config.getoption("--on")
    if instance:
        yield Cluster(attach_all(Path(lab("inventory", "--instance", instance))))
        return
    instance = f"live-{_PLACE}-j"
    try:
        cluster = Cluster(virgin_fleet(instance, 3, 2))
        cluster.playbook("init").play().succeeded()
        yield cluster
    finally:
        remove(instance)


@pytest.fixture
def virgin() -> Iterator[Node]:
    """A node of its own on which nothing has been done yet."""
    instance = f"live-{_PLACE}-v"
    try:
        yield virgin_node(instance)
    finally:
        remove(instance)
