# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The machine's own package sources, and installing from them what is missing."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.command import run
from lab.errors import LabError


@dataclass(frozen=True)
class Source:
    """One archive and suite that apt knows."""

    uri: str
    suite: str
    components: tuple[str, ...]


def parse_one_line(text: str) -> list[Source]:
    """Read the classic format: deb [options] URI suite components."""
    found = []
    for line in text.splitlines():
        match = re.match(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$", line)
        if match:
            components = match[3].split("#", 1)[0].split()
            found.append(Source(match[1], match[2], tuple(components)))
    return found


def parse_deb822(text: str) -> list[Source]:
    """Read the stanza format: every URI of a stanza with every suite."""
    found: list[Source] = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = _fields(stanza)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        components = tuple(fields.get("components", "").split())
        found += [Source(uri, suite, components) for uri in fields.get("uris", "").split() for suite in fields.get("suites", "").split()]
    return found


def _fields(stanza: str) -> Mapping[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace() and name:
            fields[name] += " " + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def configured_sources(etc_apt: Path = Path("/etc/apt")) -> list[Source]:
    """Collect what the machine's apt is set up with."""
    parts = etc_apt / "sources.list.d"
    lists = [etc_apt / "sources.list", *sorted(parts.glob("*.list"))]
    found = [source for path in lists if path.is_file() for source in parse_one_line(path.read_text())]
    return found + [source for path in sorted(parts.glob("*.sources")) for source in parse_deb822(path.read_text())]


def main_archive(sources: Iterable[Source], codename: str) -> Source:
    """Pick the archive that serves the machine's own suite."""
    for source in sources:
        if source.suite == codename and "main" in source.components:
            return source
    raise LabError(f"apt on this machine has no archive for {codename} main; add one to /etc/apt, the nodes are made from it")


def codename(os_release: str) -> str:
    """Read the suite's name from /etc/os-release."""
    found = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', os_release, re.MULTILINE)
    if found is None:
        raise LabError("/etc/os-release names no VERSION_CODENAME, so the lab cannot tell which suite to make nodes from")
    return found[1]


def missing(commands: Mapping[str, str]) -> Mapping[str, str]:
    """Keep the commands (or files, by absolute path) that are not there, with the package that brings each."""
    return {command: package for command, package in commands.items() if not _there(command)}


def _there(command: str) -> bool:
    return Path(command).exists() if command.startswith("/") else shutil.which(command) is not None


def install(commands: Mapping[str, str]) -> None:
    """Install the packages of the commands that are missing, and nothing otherwise."""
    packages = sorted(set(missing(commands).values()))
    if not packages:
        return
    if os.geteuid() != 0:
        raise LabError(f"{', '.join(packages)} must be installed first, which needs root")
    # apt waits for others only when it installs, not when it updates its lists.
    with Path("/run/lock/kubephase-packages").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if missing(commands):
            patient = {"DEBIAN_FRONTEND": "noninteractive"}
            wait = ("-o", "DPkg::Lock::Timeout=600")
            run(["apt-get", *wait, "-q", "update"], env=patient)
            run(["apt-get", *wait, "-q", "install", "-y", "--no-install-recommends", *packages], env=patient)
    still = missing(commands)
    if still:
        raise LabError(f"apt-get installed {', '.join(packages)}, and yet there is no {', '.join(still)}")
