# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What discovery asks of servers that it does not trust yet, and what it hears."""

from __future__ import annotations

from dataclasses import dataclass, field

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action

# Whose certificate a server must show: anybody's, one that the host's trust store knows, or one of a given authority.
ANYBODY = "anybody"
HOST = "host"
AUTHORITY = "authority"


@dataclass(frozen=True)
class Question:
    """One https address to ask, whom to believe, and the credentials to ask with."""

    url: str
    trust: str
    # PEM texts; the authority counts only with trust in AUTHORITY.
    authority: str = field(default="", repr=False)
    # The name in the server's certificate, where that is not the one in the address.
    server_name: str = ""
    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Answer:
    """What a server said; with a problem, why it said nothing of use, and whether that may pass."""

    status: int = 0
    body: bytes = field(default=b"", repr=False)
    problem: str = ""
    passing: bool = False


@dataclass(frozen=True)
class DiscoverWithToken(Action):
    """Stands for what can be done only once a token is known; applied without one it is refused."""
