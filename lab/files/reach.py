# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs inside a node: reads addresses and ports from standard input, prints which of them took a TCP connection."""

from __future__ import annotations

import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

asked = json.load(sys.stdin)
targets = [(address, port) for address in asked["addresses"] for port in asked["ports"]]


def answers(target: tuple[str, int]) -> bool:
    """Try one connection; a refusal is an answer too, since only a reached machine refuses."""
    try:
        with socket.create_connection(target, timeout=3):
            return True
    except ConnectionRefusedError:
        return True
    except OSError:
        return False


with ThreadPoolExecutor(max_workers=16) as pool:
    results = list(pool.map(answers, targets))
print(json.dumps({f"{address}:{port}": result for (address, port), result in zip(targets, results)}))
