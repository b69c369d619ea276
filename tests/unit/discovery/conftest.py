# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of the discovery tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from unit.discovery.clusters import Authority, Behaviour, Joining, Server

Start = Callable[..., Server]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The cluster's own authority."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Somebody else's authority."""
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


@pytest.fixture
def start(authority: Authority) -> Iterator[Start]:
    """Starts servers that end with the test, with the cluster's certificate unless told otherwise."""
    started: list[Server] = []

    def begin(behaviour: Behaviour, by: Authority | None = authority) -> Server:
        started.append(Server(by.context() if by else None, behaviour))
        return started[-1]

    yield begin
    for server in started:
        server.stop()


@pytest.fixture
def host(tmp_path: Path) -> Joining:
    """A host that knows nothing yet."""
    return Joining(tmp_path)
