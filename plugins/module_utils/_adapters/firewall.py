# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Firewalls that a program manages: firewalld and ufw."""

from __future__ import annotations

import re

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import last_words_of, run_to_end
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.firewall import FIREWALLD, FirewallState, OpenPorts, Port

_FIREWALLD_PORT = re.compile(r"([0-9]+)(?:-([0-9]+))?/([a-z]+)")
_UFW_RULE = re.compile(r"([0-9]+)(?::([0-9]+))?/([a-z]+)\s+ALLOW\s+(?:IN\s+)?Anywhere\s*(?:#.*)?")


class Firewall:
    """The firewall of the machine that the module runs on."""

    applies = (OpenPorts,)

    def state(self, program: str) -> FirewallState:
        """Tell what it lets through; with firewalld a port counts that is open both now and after a boot."""
        if program == FIREWALLD:
            now, later = (self._firewalld(*words) for words in ((), ("--permanent",)))
            return FirewallState(program, tuple(port for port in now if port in later))
        return FirewallState(program, tuple(_port(found) for found in map(_UFW_RULE.fullmatch, _lines("ufw", "status")) if found))

    def apply(self, action: Action) -> None:
        """Let ports through."""
        if not isinstance(action, OpenPorts):
            raise TypeError(type(action).__name__)
        if action.program == FIREWALLD:
            words = [f"--add-port={port.text}" for port in action.ports]
            _lines("firewall-cmd", *words)
            _lines("firewall-cmd", "--permanent", *words)
            return
        for port in action.ports:
            # A dash would be part of a service's name there.
            _lines("ufw", "allow", port.text.replace("-", ":"))

    def _firewalld(self, *words: str) -> list[Port]:
        listed = " ".join(_lines("firewall-cmd", *words, "--list-ports")).split()
        return [_port(found) for found in map(_FIREWALLD_PORT.fullmatch, listed) if found]


def _port(found: re.Match[str]) -> Port:
    return Port(int(found[1]), found[3], "", int(found[2] or 0))


def _lines(program: str, *words: str) -> list[str]:
    done = run_to_end(program, *words)
    if done.returncode:
        fix = "Mend what it names, or open the ports yourself and set the option firewall to list"
        raise Unusable(f"{program} {' '.join(words)}", last_words_of(done), fix)
    return [line.strip() for line in done.stdout.splitlines()]
