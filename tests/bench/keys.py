# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Generates the keys of a control plane and nothing else, to tell what of the time no program can save."""

from __future__ import annotations

import json
import sys
import time

from cryptography.hazmat.primitives.asymmetric import ec, rsa

CURVES = {"ECDSA-P256": ec.SECP256R1, "ECDSA-P384": ec.SECP384R1}


def generate(algorithm: str) -> None:
    """Make one key and throw it away."""
    if algorithm in CURVES:
        ec.generate_private_key(CURVES[algorithm]())
    else:
        rsa.generate_private_key(public_exponent=65537, key_size=int(algorithm.rpartition("-")[2]))


def main(log: str, algorithm: str, count: str) -> None:
    """Append one line to the log."""
    started = time.monotonic()
    for _each in range(int(count)):
        generate(algorithm)
    with open(log, "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"label": "keys", "seconds": time.monotonic() - started}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
