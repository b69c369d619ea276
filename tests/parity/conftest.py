# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which releases are run, and the line that sums a run up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.kubephase.cluster.tests.parity.cases import RELEASES, Case, pairs
from ansible_collections.kubephase.cluster.tests.parity.meant import stale
from ansible_collections.kubephase.cluster.tests.parity.oracle import Rendering, rendered
from ansible_collections.kubephase.cluster.tests.parity.ours import rendered_by_us

PROPERTY = "parity"


def pytest_configure(config: pytest.Config) -> None:
    """Keep modes independent of who runs the tests, and the library quiet about old serials."""
    # kubeadm's directories depend on the umask; both sides get the usual one.
    os.umask(0o022)
    # The authorities of kubeadm before 1.28 have serial 0, of which the library warns each time that it reads one.
    config.addinivalue_line("filterwarnings", "ignore:Parsed a serial number")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a pair every case with every release that it applies to."""
    if "pair" not in metafunc.fixturenames:
        return
    chosen = pairs(RELEASES)
    ids = [f"{case.name}-{release}" for case, release in chosen]
    metafunc.parametrize("pair", chosen, ids=ids, indirect=True, scope="session")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each worker whole pairs, which are then rendered once, and whole files of what starts servers of its own."""
    from ansible_collections.kubephase.cluster.tests.parity.workers import ByPair

    return ByPair(config, log)


@pytest.fixture(scope="session")
def pair(request: pytest.FixtureRequest) -> tuple[Case, str]:
    """A case and a release."""
    chosen: tuple[Case, str] = request.param
    return chosen


@pytest.fixture(scope="session")
def theirs(pair: tuple[Case, str]) -> Rendering:
    """kubeadm's rendering of the pair."""
    return rendered(*pair)


@pytest.fixture(scope="session")
def ours(pair: tuple[Case, str], theirs: Rendering, tmp_path_factory: pytest.TempPathFactory) -> Rendering:
    """Our rendering of the pair."""
    case, release = pair
    root: Path = tmp_path_factory.mktemp("ours")
    return rendered_by_us(case, release, theirs.given, root)


class Tally:
    """What the comparisons of a whole run reported, on however many workers."""

    def __init__(self) -> None:
        self.rendered: list[tuple[str, str]] = []
        self.fields = 0
        self.unexplained = 0
        self.explained = 0
        self.used: set[str] = set()

    def add(self, report: pytest.TestReport) -> None:
        """Take up what a comparison left in its report."""
        for name, value in report.user_properties:
            if report.when == "call" and name == PROPERTY and isinstance(value, dict):
                self.rendered.append((value["case"], value["release"]))
                self.fields += value["fields"]
                self.unexplained += value["unexplained"]
                self.explained += value["explained"]
                self.used.update(value["meant"])

    def stale(self, expected: int) -> list[str]:
        """Meant differences that no longer show up; only a whole run can tell."""
        return stale(self.used, self.rendered) if len(self.rendered) == expected else []

    def line(self) -> str:
        """The run in one line."""
        configurations = len({case for case, _release in self.rendered})
        used_releases = len({release for _case, release in self.rendered})
        return (
            f"parity: {configurations} configurations × {used_releases} releases, {self.fields} fields compared, "
            f"{self.unexplained} unexplained differences ({len(self.rendered)} renderings, {self.explained} meant differences)"
        )


TALLY = Tally()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect from every worker."""
    TALLY.add(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that carries a stale entry."""
    if not hasattr(session.config, "workerinput") and TALLY.stale(len(pairs(RELEASES))):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the line, and what is stale."""
    if not TALLY.rendered:
        return
    for name in TALLY.stale(len(pairs(RELEASES))):
        terminalreporter.write_line(f"parity: the meant difference {name!r} did not show up: remove it from meant.py", red=True)
    terminalreporter.write_line(TALLY.line(), bold=True)
